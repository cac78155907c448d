"""What analyses refuse, with both sides in the message: slips that a changed cell can make."""

import dataclasses
import inspect

import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import (
    ablation,
    bigrams,
    causal_scrubbing,
    composition,
    copying_scores,
    edge_effects,
    heads,
    induction,
    path_patching,
    patterns,
    repeats,
)
from transformer_circuits.analysis.later_work import credit, edge_sets, features
from transformer_circuits.analysis.one_layer import skip_trigrams
from transformer_circuits.analysis.one_layer.skip_trigrams import Factors, SkipTrigram
from transformer_circuits.model.transformer import Transformer

TEXT = torch.arange(60) ** 2 % SHAPE.n_vocab
TOKENS = TEXT[:14].reshape(2, 7)
FACTORS = Factors(torch.full((13, 13), 0.5), torch.arange(13.0)[:, None].expand(13, 13) - 6)
ONE = TOKENS[:1], TOKENS[:1]


def edge(model, kind, later, earlier):
    trace = model.trace(TOKENS)
    return path_patching.without_edge(model, trace, kind, later, earlier)


SLIPS = {
    r"head 2\.0 asked for but the model has 2 layers of 5": lambda m: heads.W_OV(m, (2, 0)),
    'is "noise" with 2 windows': lambda m: ablation.loss_increase(m, TOKENS, TOKENS, "noise"),
    '"resample" with 1 windows': lambda m: ablation.loss_increase(m, *ONE, "resample"),
    "token 16 but n_vocab is 5": lambda m: bigrams.counts(TEXT, 5),
    r"layer 1 must stand behind \(1, 0\)": lambda m: causal_scrubbing.losses(
        m, TOKENS, TOKENS, [(1, 0)], (1, 0)
    ),
    '"stored" or a matrix': lambda m: composition.scores(m, "K", basis="white"),
    r"\(3, 3\) but .* 14 dimensions": lambda m: composition.scores(m, "K", basis=torch.eye(3)),
    "is singular": lambda m: composition.change_basis(m, torch.zeros(14, 14)),
    "3 places do not fill .* 14 dim": lambda m: composition.white_basis(m, TOKENS[:1, :3]),
    "all eigenvalues are 0": lambda m: copying_scores.positivity(torch.zeros(3) + 0j),
    'and is of kind "X"': lambda m: edge(m, "X", (1, 0), (0, 0)),
    r"layer 0 to layer 1 .* from 0\.1 to 0\.0 ": lambda m: edge(m, "K", (0, 0), (0, 1)),
    "both must be equally long": lambda m: induction.in_context_learning_score(
        m, TEXT, 3, early=(40, 50)
    ),
    "n is 4 but must be from 1 to 3": lambda m: patterns.by_distance(torch.ones(1, 5, 4, 4), 4),
    "n is 0 but must be from 1": lambda m: patterns.by_distance(torch.ones(1, 5, 4, 4), 0),
    "layer -1 asked for": lambda m: patterns.value_norms(m, m.trace(TOKENS), -1),
    "tokens are 0 to 12": lambda m: FACTORS.strength(SkipTrigram(-1, -1, -1)),
    "length 12 but n_ctx is 11": lambda m: repeats.predictions(m.float(), TEXT[:12].reshape(2, 6)),
    r"must be \[n, length\] but are \[3\]": lambda m: inspect.unwrap(repeats.copies)(TEXT[:3]),
    "not raised but lowered": lambda m: skip_trigrams.rank(FACTORS, SkipTrigram(2, 1, 0)),
    "the source never stands before": lambda m: skip_trigrams.neighbours(
        TEXT[:4], SkipTrigram(8, 2, 3), 3, 9, generator=torch.Generator()
    ),
    "patched in is one of": lambda m: edge_sets.replacement(m.trace(TOKENS), (0, 2), "noise"),
    r"of .*, not of 0\.3": lambda m: features.qk(m, (0, 1), "token", heads.Head(0, 3)),
    "values do not read positions": lambda m: features.ov(m, (1, 2), features.POSITION),
}


@pytest.mark.parametrize("name", [(True, False), (0, 2, 1), (0, 1.5), 2, "0", "0.x", None])
def test_a_head_is_a_pair_or_its_text(model, name):
    assert torch.equal(heads.W_OV(model, "1.3").left, heads.W_OV(model, (1, 3)).left)
    with pytest.raises(ValueError, match=r'a head is \(layer, head\), such as \(0, 2\) or "0\.2"'):
        heads.named(name)


@pytest.mark.parametrize("message", SLIPS)
def test_a_slip_is_told_with_both_sides(model, message):
    with pytest.raises(ValueError, match=message):
        SLIPS[message](model)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: edge_effects.effects(m, TOKENS, TOKENS, torch.arange(2)),
        lambda m: path_patching.loss_increase(m, TOKENS, TOKENS),
        lambda m: credit.of_edges(m, TOKENS, torch.arange(2)),
    ],
)
def test_edges_need_two_layers_and_no_mlps(call):
    for change, message in (({"n_layers": 3}, "the model has 3"), ({"d_mlp": 4}, "d_mlp is 4")):
        with pytest.raises(ValueError, match=message):
            call(Transformer(dataclasses.replace(SHAPE, **change)).requires_grad_(False))
