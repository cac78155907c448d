"""What pages say of results and of our models, held against the records of them."""

import pytest

from tools import manifest
from transformer_circuits.book import notebooks

ROOT = notebooks.root()
FOUND = manifest.read(ROOT / manifest.COMMITTED)
CLAIMS = FOUND["claims"]


def text(page):
    if page.suffix != ".ipynb":
        return page.read_text(encoding="utf-8")
    cells = notebooks.read(page)["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def figure(chapter, part):
    """The figure or table whose title has these words."""
    figures = FOUND["chapters"][chapter]["figures"]
    (found,) = (of for title, of in figures.items() if part in title)
    return found


def means(claim):
    return [seed["mean"] for seed in CLAIMS[claim]["seeds"].values()]


HOLD = {
    "induction-head-exists", "induction-on-text", "induction-mechanism", "two-spectra",
    "one-layer-no-induction", "icl-algorithms", "importance-second-layer", "k-composition-use",
    "correction-further-back", "formation-order",
}  # fmt: skip
WEAKER = {"importance-first-layer", "others-local"}


def test_what_one_is_told_to_believe_is_what_the_rules_came_to():
    assert {CLAIMS[claim]["verdict"] for claim in HOLD} == {"reproduced"}
    assert {CLAIMS[claim]["verdict"] for claim in WEAKER} == {"not reproduced"}
    assert CLAIMS["induction-resting"]["verdict"] == "undecided"
    assert all(abs(mean - 1 / 2) < 0.1 for mean in means("induction-resting"))
    assert all(abs(mean - 1 / 3) < 0.06 for mean in means("others-local"))
    said = text(notebooks.path("what-to-believe"))
    resting = sorted(f"{100 * mean:.0f}" for mean in means("induction-resting"))
    assert "the best finder gives the first token {}, {} and {} %".format(*resting) in said
    assert (
        "adds a seventh to nearly a fifth of what single heads gain; in the paper, a hundredth."
        in said
    )
    shares = figure("15-term-importance", "the first more than in the paper")["numbers"]
    *_, beside = zip(*(shares[f"seed {seed}"] for seed in range(3)), strict=True)
    assert all(1 / 7 - 0.01 < share < 1 / 5 for share in beside)
    assert abs(shares["in the paper"][-1] - 1 / 100) < 0.001


def test_how_much_the_plain_story_explains_is_what_scrubbing_recovers():
    said = text(notebooks.path("the-induction-circuit"))
    assert "About a quarter is left of how much the finders lower the loss." in said
    assert "about three fifths are left, in the one model" in said
    assert all(abs(mean - 0.25) < 0.03 for mean in means("causal-scrubbing"))
    recovered = figure("12-how-they-work", "scrubbed")["words"]["recovered"]
    plain, with_recoder = (int(share.rstrip("%")) / 100 for share in recovered)
    assert abs(plain - 0.25) < 0.05 and abs(with_recoder - 3 / 5) < 0.05


def test_how_often_a_repeat_is_continued_is_what_the_table_says():
    said = text(notebooks.path("the-induction-circuit"))
    table = figure("the-induction-circuit", "How often the right token is ranked first")["numbers"]
    on_text, at_random = (
        [100 * share for share in table[column]]
        for column in ("passages of held-out text", "random tokens")
    )
    of_rule = [100 * mean for mean in means("induction-random")]
    assert at_random[:3] == pytest.approx(of_rule, rel=1e-3), "page and rule ask the same"
    first, second, third = (f"{share:.0f}" for share in at_random[:3])
    assert f"right one for {first}, {second} and {third} % of the random tokens" in said
    assert "Take the note-taker away, and none is right." in said and at_random[3] < 0.05
    assert "more than three in four are right" in said and min(on_text[:3]) > 75
    assert "it is about three in ten" in said and all(abs(s - 30) < 4 for s in on_text[3:5])
    assert "is right for a third of such text" in said and abs(on_text[5] - 100 / 3) < 3
