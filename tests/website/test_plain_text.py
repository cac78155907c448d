"""The book as plain text: prose and results, without markup, and a list of all pages."""

from transformer_circuits.record import Record
from website import plain_text

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
    cells = [
        {"cell_type": "markdown", "source": ["Before."]},
        {"cell_type": "code", "source": ["secret = 1"], "outputs": outputs},
        {"cell_type": "markdown", "source": ["After."]},
    ]
    assert plain_text.of_notebook({"cells": cells}) == (
        "Before.\n\n[Figure: Bars. one bar, 0.9]\n\na  b\n1  2\n\n✓ it holds\n\nsaid 3\n\nAfter."
    )
