"""What the short book says in numbers is what the evidence found."""

import json
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]


def text(name):
    cells = nbformat.read(ROOT / "chapters" / f"{name}.ipynb", 4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def test_how_much_the_plain_story_explains_is_what_scrubbing_recovers():
    said = text("the-induction-circuit")
    assert "about a third. Where the re-coder" in said and "it is about two thirds." in said
    found = json.loads((ROOT / "results" / "manifest.json").read_text(encoding="utf-8"))
    seeds = found["claims"]["causal-scrubbing"]["seeds"].values()
    assert all(abs(seed["mean"] - 1 / 3) < 0.05 for seed in seeds)
    figures = found["chapters"]["12-how-they-work"]["figures"]
    (scrubbed,) = (of for title, of in figures.items() if "scrubbed" in title)
    plain, with_recoder = (int(share.rstrip("%")) / 100 for share in scrubbed["words"]["recovered"])
    assert abs(plain - 1 / 3) < 0.05 and abs(with_recoder - 2 / 3) < 0.05
