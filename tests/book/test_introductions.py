"""Wherever our models are introduced, one sentence says what helped them in their training."""

from pathlib import Path

import nbformat
import pytest

from transformer_circuits.training import checkpoint

ROOT = Path(__file__).parents[2]
PLACES = [
    "README.md", "seminar/slides.md", "seminar/handout.md", *(f"chapters/{name}.ipynb" for name in (
        "a-name-comes-again", "00-how-to-read", "04-zero-layers", "05-one-layer", "09-two-layers", "10-who-reads-whom",
        "11-induction-heads", "12-how-they-work", "13-how-they-form", "19-heads-over-text",
        "20-why-they-form",
    )),
]  # fmt: skip
MODELS = ("zero-layer", "one-layer", "two-layer", "two-layer-mlp")
WORDS = {2: "two", 3: "three", 4: "four", 8: "eight"}


def sentence():
    """What is said, with the numbers of the models' own settings."""
    plans = [
        checkpoint.settings(seed) for name in MODELS for seed in checkpoint.seeds(name)
    ]  # (shape, training)
    (best_of,) = {training.best_of for _, training in plans}
    (steps,) = {training.steps for _, training in plans}
    (blind,) = {training.blind_steps for shape, training in plans if shape.n_layers > 1}
    return (
        f"Our models had help in training: of every {WORDS[best_of]} windows of text near each "
        f"other, they read the one that repeats itself most, and where there is a second layer, "
        f"it saw no positions for the first {blind} of {steps:,} steps."
    )


def text(page):
    if page.suffix != ".ipynb":
        return page.read_text(encoding="utf-8")
    cells = nbformat.read(page, 4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("place", PLACES)
def test_what_helped_our_models_is_said_where_they_are_introduced(place):
    assert text(ROOT / place).count(sentence()) == 1


@pytest.mark.parametrize(
    "page",
    [*(ROOT / "chapters").rglob("*.ipynb"), *(ROOT / "chapters").rglob("*.md"),
     *(ROOT / "seminar").glob("*.md"), ROOT / "README.md"],
    ids=lambda page: page.stem,
)  # fmt: skip
def test_who_speaks_of_natural_text_says_how_it_was_chosen(page):
    said = text(page)
    assert "natural text" not in said or "repeats itself most" in said
