"""The book as plain text, for a reader's own assistant: a Sphinx extension.

`llms.txt` describes the book and lists its pages (https://llmstxt.org); `book.txt` is the prose of
all pages with the outputs of their cells: every figure's text alternative, table, check and
verdict, so that a quoted result has its number. Code is left out: it is in the notebooks.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from transformer_circuits import files, record
from transformer_circuits.book import notebooks
from website import insert_outputs

WHOLE, LIST = "book.txt", "llms.txt"
_ABOUT = """# {title}

> An executable edition of *A Mathematical Framework for Transformer Circuits* (Elhage, Nanda, Olsson et al., 2021). Every claim of the paper is computed on small attention-only models that were trained for this book; what came out is on the page that computed it, and on the scorecard.

To quote it rightly:

- A number belongs to our small models, not to the paper's and not to large ones. Say which model, and in how many of its three seeds.
- A line with ✓ was asserted for the weights at hand: if it had failed, the book would not exist. A verdict (*reproduced*, *not reproduced*) was decided by a rule that the scorecard shows.
- *Not reproduced* speaks of these models. It does not say that the paper is wrong.
- Name the page. Text: CC BY 4.0. Code: MIT.

The whole book as plain text, with its results: [{whole}]({whole})
"""


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}


def of_notebook(notebook: Mapping) -> str:
    """Prose of a notebook, and below each cell of code its outputs."""
    texts = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            texts.append(of_markdown("".join(cell["source"])))
        else:
            texts += filter(None, map(_shown, cell.get("outputs", ())))
    return "\n\n".join(filter(None, texts))


def _shown(output: Mapping) -> str:
    """Text that a cell printed, or that of the record of its output."""
    held = record.of(output)
    if output.get("name") == "stderr":
        return ""
    if held is None:
        return "".join(output.get("text", ())).strip()
    if held["kind"] == "figure":
        return f"[Figure: {held['title']}. {held['text']}]"
    return "".join(output["data"].get("text/plain", held["title"])).strip()


def of_markdown(text: str) -> str:
    """Markdown without labels, fences, options of directives and addresses of links."""
    text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.MULTILINE)
    titled = r"^ *:{3,}\{(?:dropdown|admonition|exercise)\} *"
    text = re.sub(titled, "", text, flags=re.MULTILINE)
    text = re.sub(r"^ *(:{3,}|`{3,})[^\n]*\n?", "", text, flags=re.MULTILINE)
    text = re.sub(r"^ *:[\w-]+:[^\n]*\n?", "", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)\s]*\)", r"\1", text)
    text = re.sub(r"\{[\w:]+\}`([^`]*)`", r"\1", text)
    text = re.sub(r"<[a-z/][^>]*>", "", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _write(app, exception) -> None:
    if exception or app.builder.name != "html":
        return
    parts, texts = dict(_parts(app.env)), {}
    for page in (page for pages in parts.values() for page in pages):
        path = Path(app.env.doc2path(page))
        if copy := app.executed_chapters.get(path.stem):
            texts[page] = of_notebook(insert_outputs.with_outputs(notebooks.read(path), copy))
        else:
            texts[page] = of_markdown(path.read_text(encoding="utf-8"))
    pages_of_text = [f"{'=' * 80}\n{page}.html\n\n{text}\n" for page, text in texts.items()]
    listed = [_ABOUT.format(title=app.config.project, whole=WHOLE)]
    for caption, pages in parts.items():
        listed += [f"## {caption}\n", *(_line(app.env, page, texts[page]) for page in pages), ""]
    for name, lines in ((WHOLE, pages_of_text), (LIST, listed)):
        with files.atomic(Path(app.outdir) / name) as temporary:
            temporary.write_text("\n".join(lines), encoding="utf-8")


def _parts(env) -> Iterator[tuple[str, list[str]]]:
    """Pages below each caption of the table of contents; the first page opens the first part."""
    contents = env.config.external_site_map
    first = [contents.root.docname]
    for part in contents.root.subtrees:
        yield part.caption, [*first, *map(str, part.files())]
        first = []


def _line(env, page: str, text: str) -> str:
    """Line of a page: its title, with its first sentence."""
    title = env.titles[page].astext()
    says = next((line for line in text.split("\n") if line and line[0] not in "#>|[-"), "")
    sentence = re.split(r"(?<=[.?!]) ", says.replace("*", ""))[0]
    return f"- [{title}]({page}.html): {sentence}"
