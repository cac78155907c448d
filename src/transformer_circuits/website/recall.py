"""The chapters' recall questions as a text file that flash-card programs import."""

import re
from collections.abc import Iterator
from pathlib import Path

from transformer_circuits import files
from transformer_circuits.book import notebooks

FILE = "recall.tsv"
"""In the built book. One card a line: question, answer and chapter, with tabs between them."""
_BOX = re.compile(
    r"^::::\{dropdown\} Before you start[^\n]*\n(.*?)^::::$", re.MULTILINE | re.DOTALL
)
_CARD = re.compile(r"^:::\{dropdown\} ([^\n]*)\n(.*?)^:::$", re.MULTILINE | re.DOTALL)


def cards(notebook: dict) -> Iterator[tuple[str, str]]:
    """Question and answer of every recall box of a chapter, in its order."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            for box in _BOX.findall("".join(cell["source"])):
                for question, answer in _CARD.findall(box):
                    yield _plain(question), _plain(answer)


def _plain(text: str) -> str:
    """Markdown as flash-card programs take it: one line, links as their words, formulas in \\( \\)."""
    text = re.sub(r"\[([^\]]*)\]\([^)\s]*\)", r"\1", text)
    text = re.sub(r"\$([^$]+)\$", r"\\(\1\\)", text)
    return " ".join(re.sub(r"\*+([^*]+)\*+", r"\1", text).split())


def write(html: Path) -> Path:
    """Write the cards of every chapter into the folder of a built book."""
    target = html / FILE
    lines = [
        "\t".join((question, answer, chapter)) + "\n"
        for chapter in notebooks.names()
        for question, answer in cards(notebooks.read(notebooks.path(chapter)))
    ]
    with files.atomic(target) as temporary:
        temporary.write_text("".join(lines), encoding="utf-8")
    return target
