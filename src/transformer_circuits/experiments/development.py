"""Development: measurements along a training run, and readings of its log.

A record is one line of a training log: `step`, `tokens` seen, `loss_nats`, and the results of
`probe`.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float64, Int
from torch import Tensor

from transformer_circuits.analysis import (
    composition,
    copying_scores,
    heads,
    induction,
    patterns,
    repeats,
)
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows

Record = dict


def _rounded(values: Tensor) -> list:
    return [round(value, 4) for value in values.flatten().tolist()]


LENGTHS = (30, 60, 90)
"""Lengths of the passages that come twice: several, so that a head that always looks equally far
back gains little.
"""


@torch.no_grad()
def probe(model: Transformer, text: Int[Tensor, " n_tokens"], n_windows: int = 16) -> Record:
    """Measurements of a model during its training, which `trainer.Trainer` writes into each record.

    In nats: the loss on `n_windows` of held-out text, fewer than for the one number of a model (see
    `cross_entropy`), and the in-context learning score. Per layer and head: attention to the
    previous token, and prefix matching on a text and on random tokens that come twice (`LENGTHS`),
    each beside its null. Also all results of `twice` and `of_weights`. Random tokens that come
    twice have BEGIN before them if the model's contexts open with it.
    """
    device = model.W_E.device
    losses = cross_entropy.evaluate(model, text, n_windows)
    inputs, _ = windows.evenly(text, 8, model.config)
    on_text = [A.cpu() for A in model.trace(inputs.to(device)).patterns]
    generator, every_token = torch.Generator().manual_seed(0), torch.ones(model.config.n_vocab)
    matching, uniform = [], []
    for length in LENGTHS:
        copies = repeats.copies(repeats.drawn(every_token, 4, length, generator=generator))
        copies = copies if model.config.begin else copies[:, 1:]
        on_copies = [A.cpu() for A in model.trace(copies.to(device)).patterns]
        scores = [induction.prefix_matching_score(A, copies) for A in on_copies]
        matching.append(torch.stack(scores))
        uniform.append(induction.uniform_matching(copies))
    return (
        {
            "held_out": round(float(losses.mean()), 4),
            "in_context_learning_score": round(
                float(induction.in_context_learning_score(model, text, 64).mean()), 4
            ),
            "previous_token": [_rounded(patterns.by_distance(A, 2)[:, 1]) for A in on_text],
            "matching_text": [
                _rounded(induction.prefix_matching_score(A, inputs)) for A in on_text
            ],
            "matching_text_uniform": round(induction.uniform_matching(inputs), 4),
            "matching_random": [_rounded(layer) for layer in torch.stack(matching).mean(dim=0)],
            "matching_random_uniform": round(sum(uniform) / len(uniform), 4),
        }
        | twice(model, text)
        | of_weights(model)
    )


def twice(model: Transformer, text: Int[Tensor, " n_tokens"], n: int = 12) -> Record:
    """Quality of predictions of the first and second copy of passages, `n` of each length and kind.

    The kinds: uniformly random tokens, tokens drawn as often as the text has them, and its
    passages. `twice_loss`, in nats per token, and `twice_right_first`, the share of tokens that get
    the highest logit of all: for each kind of passage, one number per copy, the mean over
    `LENGTHS`.
    """
    generator = torch.Generator().manual_seed(0)
    counts = repeats.counts(text, model.config.n_vocab)
    predictions: dict[str, list[repeats.Predictions]] = {}
    for length in LENGTHS:
        passages = {
            "uniform": repeats.drawn(torch.ones_like(counts), n, length, generator=generator),
            "by_frequency": repeats.drawn(counts, n, length, generator=generator),
            "text": repeats.passages(text, n, length),
        }
        for kind, tokens in passages.items():
            predictions.setdefault(kind, []).append(repeats.predictions(model, tokens))

    def by_kind(measure: Callable[[repeats.Predictions], Tensor]) -> dict[str, list[float]]:
        return {
            kind: _rounded(torch.stack([measure(of_length) for of_length in of_kind]).mean(dim=0))
            for kind, of_kind in predictions.items()
        }

    return {
        "twice_loss": by_kind(repeats.Predictions.mean_loss),
        "twice_right_first": by_kind(repeats.Predictions.right_first),
    }


@torch.no_grad()
def of_weights(model: Transformer) -> Record:
    """Measurements of the weights alone: copying scores, and K-composition of the last layer with the first.

    `ov_positivity` [layer][head]; with two layers or more also `k_scores` and
    `matching_positivity`, [head of the last layer][head of the first]. All 0 where a head is 0, as
    at initialisation.
    """
    layers = [heads.of_layer(model, layer) for layer in range(model.config.n_layers)]

    def positivity(circuit) -> float:
        return (
            round(copying_scores.positivity(circuit.eigenvalues()), 4)
            if circuit.norm() > 0
            else 0.0
        )

    record = {
        "ov_positivity": [
            [positivity(heads.full_ov(model, head)) for head in layer] for layer in layers
        ]
    }
    if len(layers) < 2:
        return record
    scores = composition.scores(model, "K", later_layer=len(layers) - 1, basis="stored").nan_to_num(
        0
    )
    matching = [
        [positivity(composition.matching(model, later, earlier)) for earlier in layers[0]]
        for later in layers[-1]
    ]
    return record | {"k_scores": [_rounded(row) for row in scores], "matching_positivity": matching}


def best(records: Sequence[Record], key: str, layer: int) -> list[float]:
    """Largest score of a layer's heads in each record, for a key that holds [layer][head]."""
    return [max(record[key][layer]) for record in records]


def of_head(records: Sequence[Record], key: str, layer: int) -> list[float]:
    """Score, in each record, of the head of a layer whose score is highest in the last one.

    `layer`: counted from the end if negative, as in a list.
    """
    last = records[-1][key][layer]
    head = last.index(max(last))
    return [record[key][layer][head] for record in records]


def span(
    tokens: Sequence[int | float], values: Sequence[float], least: float = 0.4
) -> tuple[float, float] | None:
    """Tokens at which a curve first has a tenth and nine tenths of its highest value.

    None if it never reaches `least`, or if the first record has a tenth already: then nobody can
    say when that was.
    """
    high = max(values)
    if high < least or values[0] >= high / 10:
        return None
    ends = (crossing(tokens, values, share * high) for share in (0.1, 0.9))
    low, high = (end for end in ends if end is not None)
    return low, high


def at(
    tokens: Sequence[int | float],
    values: Sequence[float],
    place: int | float | Sequence[int | float],
) -> Float64[np.ndarray, "..."]:
    """Value of a curve at a number of tokens, or at several; straight between records, level beyond them."""
    return np.asarray(np.interp(place, tokens, values))


def crossing(tokens: Sequence[int | float], values: Sequence[float], level: float) -> float | None:
    """Tokens at which a curve first reaches a level; None if it never does.

    Between two records the curve is taken to be straight.

    Raises:
        ValueError: if there is not one value per number of tokens.
    """
    if len(tokens) != len(values):
        raise ValueError(f"{len(tokens)} numbers of tokens but {len(values)} values")
    first = next((k for k, value in enumerate(values) if value >= level), None)
    if not first:
        return None if first is None else float(tokens[0])
    around = slice(first - 1, first + 1)
    return float(np.interp(level, values[around], tokens[around]))
