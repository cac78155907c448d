"""The book as plain text: prose and results, without markup, and a list of all pages."""

import re
from types import SimpleNamespace

from transformer_circuits import record
from transformer_circuits.record import Record
from transformer_circuits.website import plain_text

MARKDOWN = """(a-label)=
## A title

See [this page](page.ipynb#there), {cite:p}`elhage2021` and $W_U$.

:::{dropdown} Without a computer: what follows?
Nothing. <span class="x">Really</span>.
:::

```{chapter-figure} page.ipynb
:live:
A figure
```
"""


def output(kind, title, text, plain):
    return {"data": {"text/plain": plain}, "metadata": Record(kind, title, text).metadata}


def test_markup_goes_and_words_stay():
    assert plain_text.of_markdown(MARKDOWN) == (
        "## A title\n\nSee this page, elhage2021 and $W_U$.\n\n"
        "Without a computer: what follows?\nNothing. Really.\n\nA figure"
    )


def test_results_stand_where_their_cells_are_and_code_does_not():
    outputs = [
        output("figure", "Bars", "one bar, 0.9", "[figure]"),
        output("table", "A table", "", ["a  b\n", "1  2"]),
        output("check", "it holds", "", "✓ it holds"),
        {"name": "stdout", "text": ["said 3\n"]},
        {"name": "stderr", "text": ["a warning\n"]},
    ]
    assert record.of(outputs[0])["kind"] == "figure"
    cells = [
        {"cell_type": "markdown", "source": ["Before."]},
        {"cell_type": "code", "source": ["secret = 1"], "outputs": outputs},
        {"cell_type": "markdown", "source": ["After."]},
    ]
    assert plain_text.of_notebook({"cells": cells}) == (
        "Before.\n\n[Figure: Bars. one bar, 0.9]\n\na  b\n1  2\n\n✓ it holds\n\nsaid 3\n\nAfter."
    )


def test_all_pages_are_in_both_files_in_the_order_of_the_book(tmp_path):
    pages = {
        "chapters/one": "# One\n\n**What** is it? More.",
        "seminar/two": "# Two\n\nSecond. Rest.",
    }
    for name, text in pages.items():
        (tmp_path / f"{name}.md").parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    part = SimpleNamespace(caption="A part", files=lambda: ["seminar/two"])
    root = SimpleNamespace(docname="chapters/one", subtrees=[part])
    titles = {name: SimpleNamespace(astext=lambda name=name: name[-3:].title()) for name in pages}
    contents = SimpleNamespace(root=root)
    env = SimpleNamespace(
        config=SimpleNamespace(external_site_map=contents), titles=titles,
        doc2path=lambda page: str(tmp_path / f"{page}.md"),
    )  # fmt: skip
    app = SimpleNamespace(
        env=env, builder=SimpleNamespace(name="html"), outdir=tmp_path, executed_chapters={},
        config=SimpleNamespace(project="The book"),
    )  # fmt: skip
    plain_text._write(app, None)
    whole, listed = ((tmp_path / name).read_text("utf-8") for name in ("book.txt", "llms.txt"))
    assert re.findall(r"^(.*)\.html$", whole, re.M) == [*pages]
    assert listed.startswith("# The book\n\n> ") and "## A part" in listed
    assert "- [One](chapters/one.html): What is it?\n- [Two](seminar/two.html): Second." in listed
