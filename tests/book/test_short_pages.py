"""What the short book says in numbers is what the evidence found."""

import json
from pathlib import Path

import nbformat

from transformer_circuits.book.notebooks import SHORT

ROOT = Path(__file__).parents[2]


def text(name):
    cells = nbformat.read(ROOT / "chapters" / f"{name}.ipynb", 4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


HOLD = {
    "induction-head-exists", "induction-random", "induction-on-text", "induction-mechanism",
    "two-spectra", "one-layer-no-induction", "icl-algorithms",
}  # fmt: skip
WEAKER = {"induction-resting", "importance-second-layer", "importance-first-layer", "others-local"}


def test_what_one_is_told_to_believe_is_what_the_rules_came_to():
    found = json.loads((ROOT / "results" / "manifest.json").read_text(encoding="utf-8"))["claims"]
    assert {found[claim]["verdict"] for claim in HOLD} == {"reproduced"}
    assert {found[claim]["verdict"] for claim in WEAKER} == {"not reproduced"}
    assert found["score-is-not-use"]["verdict"] == "depends on the basis"
    means = {
        claim: [seed["mean"] for seed in found[claim]["seeds"].values()]
        for claim in ("induction-resting", "others-local")
    }
    assert all(abs(mean - 1 / 3) < 0.05 for mean in means["induction-resting"])
    assert all(abs(mean - 1 / 4) < 0.06 for mean in means["others-local"])


def test_the_short_book_is_short():
    pages = [text(name) for name in SHORT]
    pages.append((ROOT / "chapters" / "what-to-believe.md").read_text(encoding="utf-8"))
    assert sum(len(page.split()) for page in pages) < 9000


def test_how_much_the_plain_story_explains_is_what_scrubbing_recovers():
    said = text("the-induction-circuit")
    assert (
        "between a quarter and a third. If what the re-coder writes" in said
        and "it is about two thirds, in the one model" in said
    )
    found = json.loads((ROOT / "results" / "manifest.json").read_text(encoding="utf-8"))
    seeds = found["claims"]["causal-scrubbing"]["seeds"].values()
    assert all(0.24 < seed["mean"] < 0.34 for seed in seeds)
    figures = found["chapters"]["12-how-they-work"]["figures"]
    (scrubbed,) = (of for title, of in figures.items() if "scrubbed" in title)
    plain, with_recoder = (int(share.rstrip("%")) / 100 for share in scrubbed["words"]["recovered"])
    assert 0.24 < plain < 0.34 and abs(with_recoder - 2 / 3) < 0.05
