"""Cleaners from the raw bytes of one file of a package to clean text: one function per kind of file.

A cleaner takes (name, bytes) and yields (document name, text). Nothing depends on the platform.
"""

import contextlib
import html
import json
import re
import sqlite3
from collections.abc import Callable, Iterator

Documents = Iterator[tuple[str, str]]

SHORTEST = 200
"""Least characters of a document that is kept."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff\ufffd]")
_TYPOGRAPHY = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "—": "--", "…": "..."})
_DOCSTRING = re.compile(r"(?s)([rRuUbBfF]{0,2})(\"\"\"|''')(.*?)\2")
# What two themes of Sphinx have beside menus and tables of contents.
_MAIN = re.compile(
    r'(?is)<div[^>]*role="main".*?(?=<footer|\Z)|<article class="bd-article".*?(?=</article>|\Z)'
)
_BLOCK_END = re.compile(r"(</(?:p|ul|ol|li|dl|dt|dd|note|important|h\d)>|<(?:ul|ol|dl|note)>) ")
_TEX_COMMAND = re.compile(r"\\[a-zA-Z]{2,}")


def decode(raw: bytes) -> str:
    """Text of some bytes: UTF-8 or, failing that, Windows-1252 without its undefined bytes."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="ignore")


def tidy(text: str) -> str:
    """Text with normal white space: one kind of newline; no tabs, trailing blanks or runs of empty lines.

    Control characters go, too.
    """
    text = re.sub("\r+\n|\r", "\n", text).replace("\t", "    ")
    text = re.sub(r"[ \u00a0]+\n", "\n", _CONTROL.sub("", text))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def _join_lines(paragraph: str) -> str:
    """Paragraph without its hard line breaks, if it was wrapped at a fixed width; else unchanged.

    So verse, lists and code keep their lines.
    """
    lines = paragraph.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    lines = [line[indent:] for line in lines]
    lengths = sorted(map(len, lines[:-1]))
    wrapped = bool(lengths) and lengths[len(lengths) // 2] >= 55 and lengths[0] >= 40
    if wrapped and not any(line.startswith("    ") for line in lines[1:]):
        return " ".join(line.strip() for line in lines)
    return "\n".join(lines)


def prose(name: str, raw: bytes) -> Documents:
    """Running text, hard-wrapped or not."""
    text = tidy(html.unescape(decode(raw)).translate(_TYPOGRAPHY))
    yield name, tidy("\n\n".join(_join_lines(block) for block in text.split("\n\n")))


def play(name: str, raw: bytes) -> Documents:
    """A play in Markdown: headings and emphasis become plain text, stage directions [bracketed]."""
    text = re.sub(r"\*\*([^*\n]+)\*\*", r"\1", tidy(decode(raw)))
    text = re.sub(r"(?m)^_(.*)_$", r"[\1]", text)
    yield name, tidy(re.sub(r"(?m)^#+ ", "", text))


def bible(name: str, raw: bytes) -> Documents:
    """A Bible in SQLite, one document per book."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(raw)
        rows = database.execute(
            "select b.common_name, v.chapter_number, v.text from verses v "
            "join books b on b.id = v.book_id "
            "order by b.sort_order, v.chapter_number, v.verse_number"
        ).fetchall()
    books: dict[str, list[str]] = {}
    last = None
    for book, chapter, verse in rows:
        lines = books.setdefault(book, [book])
        if (book, chapter) != last:
            lines.append(f"\nChapter {chapter}\n")
            last = (book, chapter)
        lines.append(re.sub(r"[\[\]¶]|\s+(?=\s)", "", verse).strip())
    for book, lines in books.items():
        yield f"{name}#{book}", tidy("\n".join(lines))


def python(name: str, raw: bytes) -> Documents:
    """Python source, tidied, without its leading comments; nothing if it looks like data.

    Mathematical docstrings, which `mathematics` takes, are cut down to three dots. What is left
    must have 400 to 200,000 characters, at most 70 to a line in the mean and less than 600 in any,
    less than 10% of them digits and 2% outside ASCII.
    """
    text, at, pieces = tidy(decode(raw)), 0, []
    for match, _ in _mathematical_docstrings(text):
        pieces += [text[at : match.start()], '"""..."""']
        at = match.end()
    text = re.sub(r"\A(?:(?:#[^\n]*)?\n)*", "", "".join(pieces) + text[at:])
    lines = text.split("\n")
    digits = sum(character.isdigit() for character in text)
    foreign = sum(ord(character) > 127 for character in text)
    looks_like_code = (
        400 <= len(text) <= 200_000
        and len(text) <= 70 * len(lines)
        and digits < 0.10 * len(text)
        and foreign < 0.02 * len(text)
        and max(map(len, lines)) < 600
    )
    if looks_like_code:
        yield name, text


def _dedent(text: str) -> str:
    first, *rest = text.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[indent:] for line in rest)])


def _mathematical_docstrings(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Docstrings with at least three TeX commands, each as its match, and its text without doctests."""
    for match in _DOCSTRING.finditer(text):
        prefix, body = match.group(1).lower(), match.group(3)
        if "f" in prefix or "b" in prefix:
            continue
        if "r" not in prefix:
            body = body.replace("\\\\", "\\")
        marked = re.search(r":math:|math ?::|\$|\\[(\[]", body)
        if marked and len(_TEX_COMMAND.findall(body)) >= 3:
            body = re.sub(r"(?m)^ *>>> .*\n(?:(?! *$).*\n)*", "", _dedent(body))
            yield (
                match,
                tidy(re.sub(r"(?m)^ *(Examples?|References)\n *[-=~^]+\n+(?=\S|\Z)", "", body)),
            )


def mathematics(name: str, raw: bytes) -> Documents:
    """The mathematical docstrings of a Python module as one document."""
    bodies = [body for _, body in _mathematical_docstrings(tidy(decode(raw)))]
    few_digits = [b for b in bodies if sum(c.isdigit() for c in b) < 0.2 * len(b)]
    yield name + "#mathematics", tidy("\n\n".join(few_digits))


def markup(name: str, raw: bytes) -> Documents:
    """A web page or template without scripts, styles, SVG drawings and syntax colouring."""
    text = re.sub(r"(?is)<(script|style|svg)\b.*?</\1>", "", tidy(decode(raw)))
    if main := _MAIN.search(text):
        text = main.group(0)
    for _ in range(3):  # colouring spans nest
        text = re.sub(r'<span class="[a-z]{1,3}\d?">([^<]*)</span>', r"\1", text)
    text = re.sub(r'(?i)<span[^>]*></span>|<a class="headerlink".*?</a>', "", text)
    text = re.sub(r" (data|aria)-[a-z-]+=\"[^\"]*\"", "", text)
    yield name, tidy(re.sub(r'"data:[^"]{80,}"', '""', text))


def documentation(name: str, raw: bytes) -> Documents:
    """Documentation and other text that needs no more than tidying."""
    yield name, tidy(decode(raw))


def _leaves(table: dict, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key.strip()))
        elif isinstance(value, str):
            label = path if key == "text" else (*path, key.strip())
            yield ", ".join(label), value.replace("\u00a0", "&nbsp;")


def factbook_page(name: str, raw: bytes) -> Documents:
    """Geography of one country as an HTML page. The source has no markup: this table is ours."""
    rows = [
        f"<tr>\n  <td>{html.escape(label)}</td>\n  <td>{value or '&nbsp;'}</td>\n</tr>"
        for label, value in _leaves(json.loads(decode(raw)).get("Geography", {}))
    ]
    table = "\n".join(["<h2>Geography</h2>", "<table>", "<tbody>", *rows, "</tbody>", "</table>"])
    yield f"{name}#our-template", tidy(re.sub(r"\s*(<br\s*/?>\s*)+", "<br>\n", table))


def factbook_prose(name: str, raw: bytes) -> Documents:
    """The historical introduction to one country, as plain paragraphs."""
    leaves = _leaves(json.loads(decode(raw)).get("Introduction", {}))
    blocks = (re.sub(r"<[^>]+>", "\n\n", html.unescape(text)) for _, text in leaves)
    yield f"{name}#introduction", tidy("\n\n".join(blocks).translate(_TYPOGRAPHY))


def service_model(name: str, raw: bytes) -> Documents:
    """The documentation of one web service, which its JSON description holds as HTML.

    Ours are only the headings (operations and data types by name, not their members) and the line
    breaks between blocks. A text that the description repeats is written once.
    """
    model = json.loads(decode(raw))
    parts = [("h1", model["metadata"]["serviceFullName"], model)]
    parts += [("h2", *item) for item in (*model["operations"].items(), *model["shapes"].items())]
    blocks, written = [], {""}
    for heading, title, entry in parts:
        described = (entry, *entry.get("members", {}).values())
        texts = dict.fromkeys(part.get("documentation", "") for part in described)
        if new := [text for text in texts if text not in written]:
            blocks += [f"<{heading}>{title}</{heading}>", *new]
            written.update(new)
    text = "\n\n".join(blocks)
    yield f"{name}#documentation", tidy(_BLOCK_END.sub(r"\1\n", text))


CLEANERS: dict[str, Callable[[str, bytes], Documents]] = {
    cleaner.__name__: cleaner
    for cleaner in (
        prose, play, bible, python, mathematics, markup, documentation, factbook_page, factbook_prose,
        service_model,
    )
}  # fmt: skip
