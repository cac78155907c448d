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
GENERATOR = torch.Generator()


def edge(model, kind, later, earlier):
    trace = model.trace(TOKENS)
    return path_patching.without_edge(model, trace, kind, later, earlier)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: heads.of_layer(m, 2), "layer 2 asked for but the model has 2"),
        (lambda m: heads.W_OV(m, (2, 0)), r"head 2\.0 asked for but the model has 2 layers of 5"),
        (lambda m: ablation.without(m, [(0, 5)]), r"head 0\.5 asked for but .* of 5 heads"),
        (
            lambda m: ablation.loss_increase(m, TOKENS, TOKENS, "noise"),
            'replacement is "noise" with 2 windows but must be one of',
        ),
        (
            lambda m: ablation.loss_increase(m, TOKENS[:1], TOKENS[:1], "resample"),
            '"resample" with 1 windows',
        ),
        (
            lambda m: ablation.losses_at(m, TEXT, torch.tensor([50, 3])),
            "windows of 11 tokens start from -6 to 41, but the stream has 60",
        ),
        (lambda m: bigrams.counts(TEXT, 5), "token 16 but n_vocab is 5"),
        (
            lambda m: causal_scrubbing.losses(m, TOKENS, TOKENS, [(1, 0)], (1, 0)),
            r"layer 1 must stand behind \(1, 0\) .* more than 3 windows, not 2",
        ),
        (
            lambda m: composition.scores(m, "X", basis="stored"),
            'composition is one of .* but "X" was asked for',
        ),
        (
            lambda m: composition.scores(m, "K", basis="white"),
            '"stored" or a matrix, .* not "white"',
        ),
        (
            lambda m: composition.scores(m, "K", basis=torch.eye(3)),
            r"\(3, 3\) but .* 14 dimensions",
        ),
        (lambda m: composition.scores(m, "K", basis=torch.ones(14, 14)), "this one is singular"),
        (lambda m: composition.change_basis(m, torch.zeros(14, 14)), "this one is singular"),
        (lambda m: composition.white_basis(m, TOKENS[:1, :3]), "3 places do not fill .* 14 dim"),
        (lambda m: copying_scores.positivity(torch.zeros(3) + 0j), "all eigenvalues are 0"),
        (lambda m: edge(m, "X", (1, 0), (0, 0)), 'goes from .* and is of kind "X"'),
        (lambda m: edge(m, "K", (0, 0), (0, 1)), r"layer 0 to layer 1 .* from \(0, 1\) to \(0, 0"),
        (lambda m: edge(m, "K", (1, 5), (0, 0)), r"head 1\.5 asked for"),
        (lambda m: induction.uniform_matching(torch.arange(7)[None]), "no token occurs twice"),
        (
            lambda m: induction.in_context_learning_score(m, TEXT, 3, early=(40, 50)),
            r"late is \(480, 500\) and early \(40, 50\) but both",
        ),
        (
            lambda m: patterns.by_distance(torch.ones(1, 5, 4, 4), 4),
            "has 4 positions but must have more than 4",
        ),
        (lambda m: repeats.passages(TEXT[:4], 2, 5), "takes 5 tokens but the text has 4"),
        (
            lambda m: repeats.predictions(m.float(), TEXT[:12].reshape(2, 6)),
            "tokens has length 12 but n_ctx is 11",
        ),
        (lambda m: skip_trigram_bugs.split(m, TOKENS), "has 2 layers but must have 1"),
        (lambda m: skip_trigrams.top(FACTORS, 14), "n is 14 but must be between 1 and the 13"),
        (lambda m: skip_trigrams.rank(FACTORS, SkipTrigram(2, 1, 0)), "not raised but lowered"),
        (
            lambda m: skip_trigrams.neighbours(
                torch.tensor([0, 1, 2, 3]), SkipTrigram(8, 2, 3), 3, 9, generator=GENERATOR
            ),
            "the source never stands before",
        ),
        (lambda m: attributions.of_score(m, TOKENS[0], (1, 0), 2, 3), "no score from 2 to 3"),
        (
            lambda m: edge_sets.replacement(m.trace(TOKENS), (0, 2), "noise"),
            'patched in is one of .* but "noise" was asked for',
        ),
        (
            lambda m: edge_sets.replacement(m.trace(TOKENS[:1]), (0, 2), "resampled"),
            "at least two texts but the batch has one",
        ),
        (lambda m: features.makers(m, 2), "layer 2 asked for"),
        (
            lambda m: features.qk(m, (0, 1), "token", heads.Head(0, 3)),
            r"head 0\.1 reads features of .*, not of 0\.3",
        ),
        (lambda m: features.ov(m, (1, 2), features.POSITION), "values do not read positions"),
    ],
)
def test_a_slip_is_told_with_both_sides(model, call, message):
    with pytest.raises(ValueError, match=message):
        call(model)


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
