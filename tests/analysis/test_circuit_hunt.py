"""Circuit hunts: the truth is accepted, and what is not the truth is refused, by cutting alone."""

import inspect
import itertools

import pytest

from transformer_circuits.analysis import (
    circuit_hunt,
    composition,
    copying_scores,
    heads,
    induction,
)
from transformer_circuits.analysis.circuit_hunt import circuit, hunt, mark


@pytest.mark.parametrize("level", circuit_hunt.LEVELS)
def test_what_was_planted_is_accepted_in_every_hunt(level):
    marks = [mark(hunted, hunted.planted) for hunted in (hunt(level, seed) for seed in range(20))]
    assert [str(said) for said in marks if not said.right] == []


@pytest.mark.parametrize("level, solved", [(1, 20), (2, 0), (3, 0)])
def test_scores_alone_solve_the_first_level_and_no_other(level, solved):
    marks = [
        mark(hunted, circuit_hunt.by_scores(hunted))
        for hunted in map(hunt, [level] * 20, range(20))
    ]
    assert sum(said.right for said in marks) == solved


@pytest.mark.parametrize("level", circuit_hunt.LEVELS)
def test_nearly_the_truth_is_refused_with_a_reason(level):
    hunted = hunt(level, 1)
    truth = hunted.planted
    for edge in truth.edges:
        said = mark(hunted, truth._replace(edges=truth.edges - {edge}))
        assert not said.right and "of the work" in said.because
    other = next(head for head in heads.every(hunted.model) if head not in truth.heads)
    said = mark(hunted, truth._replace(heads=truth.heads | {other}))
    assert str(said) == f"✗ not yet: all works as well without head {other}"
    edges = {(kind, to, by) for kind, (to, by) in itertools.product("QKV", pairs(truth))}
    for more in edges - truth.edges:
        assert "is cut" in mark(hunted, truth._replace(edges=truth.edges | {more})).because


@pytest.mark.parametrize(
    "heads_, edges, needed",
    [
        (["0.0", "1.0"], [("K", "0.0", "1.0")], "from 1.0 to 0.0"),
        (["0.0", "1.0"], [("k", "1.0", "0.0")], 'of kind "k"'),
        ([(2, 9)], [], "head 2.9 asked for"),
        (["1.0"], [("K", "1.0", "0.0")], "of a head that is not named"),
    ],
)
def test_an_answer_that_is_none_says_what_is_needed(heads_, edges, needed):
    hunted = hunt(1, 0)
    for tried in (mark, circuit_hunt.left):
        with pytest.raises(ValueError, match=needed):
            tried(hunted, circuit(heads_, edges))
    with pytest.raises(ValueError, match="made by circuit"):
        inspect.unwrap(circuit_hunt.left)(hunted, [])


def pairs(named):
    late, early = ([head for head in named.heads if head.layer == layer] for layer in (1, 0))
    return list(itertools.product(late, early))


def test_the_red_herring_scores_as_high_as_the_circuit_and_does_nothing():
    hunted = hunt(2, 0)
    scored = circuit_hunt.by_scores(hunted)
    ((kind, finds, notes),) = scored.edges - hunted.planted.edges
    assert kind == "K" and not {finds, notes} & hunted.planted.heads
    herring = circuit([finds, notes], [(kind, finds, notes)])
    nothing = circuit_hunt.left(hunted, circuit([], []))
    assert circuit_hunt.left(hunted, herring) > 0.9 * nothing
    A = hunted.model.trace(hunted.tokens).patterns[1]
    matching = induction.prefix_matching_score(A, hunted.tokens)
    assert float(matching[finds.head]) > 0.9
    values = heads.full_ov(hunted.model, finds).eigenvalues()
    assert copying_scores.positivity(values[values.abs() > 1e-3 * values.abs().max()]) > 0.9
    scores = composition.scores(hunted.model, "K", basis="stored")
    ((_, to, by),) = hunted.planted.edges
    assert scores[finds.head, notes.head] > scores[to.head, by.head]
