"""What analyses refuse, with both sides in the message: slips that a changed cell can make."""

import dataclasses

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
from transformer_circuits.analysis.later_work import attributions, credit, edge_sets, features
from transformer_circuits.analysis.one_layer import skip_trigram_bugs, skip_trigrams
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
    "start from -6 to 41": lambda m: ablation.losses_at(m, TEXT, torch.tensor([50, 3])),
    "token 16 but n_vocab is 5": lambda m: bigrams.counts(TEXT, 5),
    r"layer 1 must stand behind \(1, 0\)": lambda m: causal_scrubbing.losses(
        m, TOKENS, TOKENS, [(1, 0)], (1, 0)
    ),
    'one of .* but "X" was asked for': lambda m: composition.scores(m, "X", basis="stored"),
    '"stored" or a matrix': lambda m: composition.scores(m, "K", basis="white"),
    r"\(3, 3\) but .* 14 dimensions": lambda m: composition.scores(m, "K", basis=torch.eye(3)),
    "is singular": lambda m: composition.change_basis(m, torch.zeros(14, 14)),
    "3 places do not fill .* 14 dim": lambda m: composition.white_basis(m, TOKENS[:1, :3]),
    "all eigenvalues are 0": lambda m: copying_scores.positivity(torch.zeros(3) + 0j),
    'and is of kind "X"': lambda m: edge(m, "X", (1, 0), (0, 0)),
    r"layer 0 to layer 1 .* from \(0, 1\) to \(0, 0": lambda m: edge(m, "K", (0, 0), (0, 1)),
    "no token occurs twice": lambda m: induction.uniform_matching(torch.arange(7)[None]),
    "both must be equally long": lambda m: induction.in_context_learning_score(
        m, TEXT, 3, early=(40, 50)
    ),
    "must have more than 4": lambda m: patterns.by_distance(torch.ones(1, 5, 4, 4), 4),
    "takes 5 tokens but the text has 4": lambda m: repeats.passages(TEXT[:4], 2, 5),
    "length 12 but n_ctx is 11": lambda m: repeats.predictions(m.float(), TEXT[:12].reshape(2, 6)),
    "has 2 layers but must have 1": lambda m: skip_trigram_bugs.split(m, TOKENS),
    "between 1 and the 13": lambda m: skip_trigrams.top(FACTORS, 14),
    "not raised but lowered": lambda m: skip_trigrams.rank(FACTORS, SkipTrigram(2, 1, 0)),
    "the source never stands before": lambda m: skip_trigrams.neighbours(
        TEXT[:4], SkipTrigram(8, 2, 3), 3, 9, generator=torch.Generator()
    ),
    "no score from 2 to 3": lambda m: attributions.of_score(m, TOKENS[0], (1, 0), 2, 3),
    "patched in is one of": lambda m: edge_sets.replacement(m.trace(TOKENS), (0, 2), "noise"),
    "at least two texts": lambda m: edge_sets.replacement(m.trace(ONE[0]), (0, 2), "resampled"),
    "layer 2 asked for": lambda m: features.makers(m, 2),
    r"of .*, not of 0\.3": lambda m: features.qk(m, (0, 1), "token", heads.Head(0, 3)),
    "values do not read positions": lambda m: features.ov(m, (1, 2), features.POSITION),
}


@pytest.mark.parametrize("message", SLIPS)
def test_a_slip_is_told_with_both_sides(model, message):
    with pytest.raises(ValueError, match=message):
        SLIPS[message](model)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: edge_effects.effects(m, TOKENS, TOKENS, torch.arange(2)),
        lambda m: path_patching.loss_increase(m, TOKENS, TOKENS),
        lambda m: credit.gradients(m, TOKENS, torch.arange(2)),
    ],
)
def test_edges_need_two_layers_and_no_mlps(call):
    for change, message in (({"n_layers": 3}, "the model has 3"), ({"d_mlp": 4}, "d_mlp is 4")):
        with pytest.raises(ValueError, match=message):
            call(Transformer(dataclasses.replace(SHAPE, **change)).requires_grad_(False))
