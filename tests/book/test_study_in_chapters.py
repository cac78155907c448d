"""Where a verdict may be about the size of our models, its chapter leads to the study of size."""

from pathlib import Path

import pytest
from test_findings_in_prose import sources

from tools import manifest
from transformer_circuits.claims import registry, rules
from transformer_circuits.experiments import study

ROOT = Path(__file__).parents[2]
SHOWN_IN = {
    "embedding-pca": "size-basis",
    "resting-place": "size-nearer",
    "below-random": "size-basis",
    "k-composition": "size-basis",
    "induction-resting": "size-nearer",
    "others-local": "size-away",
    "phase-bump": "size-away",
}
"""Of each claim whose verdict may be about size: the section that shows it over widths."""


def test_at_the_books_width_one_head_in_the_embedding_does_as_much_as_twice_the_width():
    """As the chapter says of the second layer's share, in the means over seeds."""
    said = "carries the three models as far over the line of the first panel as 768 dimensions do"
    assert said in "\n".join(sources("23-what-changes-with-size", "markdown"))
    claim = manifest.read(ROOT / manifest.COMMITTED)["claims"]["importance-second-layer"]
    *_, trained = study.in_width_alone().values()
    recorded = [
        one.interval("importance-second-layer, every head counted")[0]
        for one in study.by_width(trained)[768]
    ]
    ours = [seed["mean"] for seed in claim["seeds"].values()]
    assert min(ours) > max(recorded) - 0.01 and sum(ours) > sum(recorded)


@pytest.mark.parametrize("name", SHOWN_IN)
def test_where_a_verdict_may_be_about_size_its_chapter_leads_to_the_study(name):
    prose = "\n".join(sources(registry.read()[name].chapter, "markdown"))
    assert f"[What changes with size]({SHOWN_IN[name]}) has this over widths." in prose
    code = "\n".join(sources("23-what-changes-with-size", "code"))
    assert f'"{name}"' in code


def test_what_the_chapter_on_size_keeps_of_scores_is_so():
    text = " ".join(sources("23-what-changes-with-size", "markdown"))
    said = "comes nearer to the paper in the white basis and goes farther from it as stored"
    assert f"The share of pairs below random {said}" in text
    *_, trained = study.in_width_alone().values()
    side = registry.rules()["below-random"].side
    assert study.trend(trained, "below-random", side, study.WHITE) == "nearer"
    assert study.trend(trained, "below-random", side) == "farther"


def test_what_a_norm_makes_of_scores_is_what_the_records_have():
    """Models with a norm, early and late: whose keys lead, and how far scores and effects agree."""
    text = " ".join(sources("22-which-basis", "markdown"))
    early, late = study.in_width_alone(normed=True).values()
    own = {
        one.seed: one
        for one in [*study.in_width_alone().values()][-1]
        if one.width == study.OWN_WIDTH
    }

    def of(models, claim):
        return [one.interval(claim)[0] for one in models]

    assert [one.seed for one in early] == [one.seed for one in late] == [0, 1, 2]
    assert "With more text its lead shrinks in every seed, and in one another head takes" in text
    leads = of(early, "k-composition"), of(late, "k-composition")
    assert min(leads[0]) > 0 and sum(lead < 0 for lead in leads[1]) == 1
    assert all(after < before for before, after in zip(*leads, strict=True))
    assert "That Q and V are not significant, or most pairs below random, is not met." in text
    every = early + late
    assert min(of(every, "only-k-composition")) > 1 and max(of(every, "below-random")) < 0.5
    assert "Nor do scores order the other edges." in text
    assert max(map(abs, of(early, "score-is-not-use"))) < 0.2
    assert sum(of(late, "score-is-not-use")) < sum(of(own.values(), "score-is-not-use"))


def test_every_claim_of_the_paper_that_fails_here_is_drawn_over_width():
    committed = manifest.read(ROOT / manifest.COMMITTED)["claims"]
    *_, trained = study.in_width_alone().values()
    fail = {
        claim.id
        for claim in registry.read().values()
        if claim.source == "paper" and committed[claim.id]["verdict"] != rules.REPRODUCED
        if claim.id in trained[0].line["estimates"] and trained[0].interval(claim.id)
    }
    code = "\n".join(sources("23-what-changes-with-size", "code"))
    assert fail and [name for name in sorted(fail) if f'"{name}": ' not in code] == []
