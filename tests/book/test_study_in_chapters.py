"""Where a verdict may be about the size of our models, its chapter says what the study of size has."""

import re
from pathlib import Path

import pytest
from test_findings_in_prose import sources

from tools import manifest
from transformer_circuits.claims import registry, rules
from transformer_circuits.experiments import study

ROOT = Path(__file__).parents[2]
SAID_OF = {
    "embedding-pca": ("size-basis", "the spread of W_E and W_U"),
    "resting-place": ("size-nearer", "the rest on the begin token"),
    "below-random": ("size-basis", "the share of pairs below random"),
    "k-composition": ("size-basis", "the lead of the previous-token head's keys"),
    "induction-resting": ("size-nearer", "the rest of this head on the begin token"),
    "others-local": ("size-away", "those heads' attention to near tokens"),
    "phase-bump": ("size-away", "the size of the bump"),
}
"""Of each claim with such a sentence: the section that shows its figure, and what is measured."""
GOES = {
    "nearer": "comes nearer to the claim",
    "farther": "moves away from the claim",
    "neither": "shows no clear change",
}
MEET = (
    "no seed meets",
    "one seed of three meets",
    "two seeds of three meet",
    "all three seeds meet",
)
"""Of the widest models, with the whole interval on the claim's side, if a seed has one."""


def sentence(name):
    (section, what), rule = SAID_OF[name], registry.rules()[name]
    *_, trained = study.in_width_alone().values()
    narrow, *_, widest = study.by_width([s for s in trained if s.n_heads >= study.ENOUGH_HEADS])
    assert (narrow, widest) == (256, 768), "the sentences say from which width to which"
    said = {}
    for basis in (study.STORED, study.WHITE):
        found = [one.interval(name, basis) for one in study.by_width(trained)[widest]]
        if None not in found:
            estimates = [rules.Interval(*of) for of in found]
            n = sum(rules.beyond(rule, estimate) for estimate in estimates)
            how = " with the whole interval" if max(one.n for one in estimates) > 1 else ""
            said[basis] = GOES[study.trend(trained, name, rule.side, basis)], MEET[n], how
    goes, meet, how = said[study.STORED]
    stored = ", as stored," if study.WHITE in said else ""
    said_of_it = "it" if "claim" in goes else "the claim"
    first = (
        f"As models get wider, from 256 dimensions to [the paper's 768]({section}), {what}{stored} "
        f"{goes}; at 768, {meet} {said_of_it}{how}."
    )
    if study.WHITE not in said:
        return first
    white, there, _ = said[study.WHITE]
    said_of_it = "it" if "claim" in white else "the claim"
    return f"{first} In the white basis it {white}, and {there} {said_of_it}."


def test_at_the_books_width_one_head_in_the_embedding_does_more_than_twice_the_width():
    """As the chapter says of the second layer's share, seed by seed."""
    (said,) = re.findall(
        r"carries each of the three models farther over the line of the first panel than 768",
        "\n".join(sources("23-what-changes-with-size", "markdown")),
    )
    claim = manifest.read(ROOT / manifest.COMMITTED)["claims"]["importance-second-layer"]
    *_, trained = study.in_width_alone().values()
    wide = [one.interval("importance-second-layer")[0] for one in study.by_width(trained)[768]]
    ours = [seed["mean"] for seed in claim["seeds"].values()]
    assert said and all(a > b for a, b in zip(ours, wide, strict=True))


@pytest.mark.parametrize("name", SAID_OF)
def test_the_chapter_says_what_the_records_have(name):
    prose = "\n".join(sources(registry.read()[name].chapter, "markdown"))
    assert prose.count(sentence(name)) == 1, sentence(name)


def test_the_chapter_on_size_draws_every_claim_that_a_chapter_sends_to_it():
    code = "\n".join(sources("23-what-changes-with-size", "code"))
    assert all(f'"{name}"' in code for name in SAID_OF)


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
