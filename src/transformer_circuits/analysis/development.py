"""Development: what is measured along a training run, and how its log is read.

A record is one line of a training log: `step`, `tokens` seen, `loss_nats`, and what `probe` found.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_circuits.analysis import composition, copying_scores, heads, induction, patterns
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows
from transformer_circuits.training import cross_entropy

Record = dict


def _rounded(values: Tensor) -> list:
    return [round(value, 4) for value in values.flatten().tolist()]


@torch.no_grad()
def probe(model: Transformer, text: Int[Tensor, " n_tokens"], n_windows: int = 16) -> Record:
    """Measure a model during its training: what `trainer.Trainer` writes into each record.

    In nats: the loss on held-out text and on two copies of random tokens, and the in-context
    learning score. Per layer and head: attention to the previous token, and prefix matching on a
    text and on two copies of 60 random tokens, each beside its null. Also all that `of_weights` returns.
    """
    device = model.W_E.device
    losses = cross_entropy.evaluate(model, text, n_windows)
    inputs, _ = windows.evenly(text, 8, model.config)
    generator = torch.Generator().manual_seed(0)
    copies = induction.repeated(model.config.n_vocab, 60, 2, 8, generator=generator)
    on_text = [A.cpu() for A in model.trace(inputs.to(device)).patterns]
    on_copies = [A.cpu() for A in model.trace(copies.to(device)).patterns]
    two_copies = induction.copy_losses(model, range(20, 101, 10), 2, generator=generator)
    return {
        "held_out": round(float(losses.mean()), 4),
        "in_context_learning_score": round(
            float(induction.in_context_learning_score(model, text).mean()), 4
        ),
        "copy_losses": _rounded(two_copies),
        "previous_token": [_rounded(patterns.by_distance(A, 2)[:, 1]) for A in on_text],
        "matching_text": [_rounded(induction.prefix_matching_score(A, inputs)) for A in on_text],
        "matching_text_uniform": round(induction.uniform_matching(inputs), 4),
        "matching_random": [
            _rounded(induction.prefix_matching_score(A, copies)) for A in on_copies
        ],
        "matching_random_uniform": round(induction.uniform_matching(copies), 4),
    } | of_weights(model)


@torch.no_grad()
def of_weights(model: Transformer) -> Record:
    """What the weights alone say: copying scores, and how the last layer's keys read the first.

    `ov_positivity` [layer][head]; with two layers or more also `k_scores` and
    `matching_positivity`, [head of the last layer][head of the first]. All 0 where a head is 0,
    as at initialisation.
    """
    layers = [heads.of_layer(model, layer) for layer in range(model.config.n_layers)]

    def positivity(circuit) -> float:
        return (
            round(copying_scores.positivity(circuit.eigenvalues()), 4)
            if circuit.norm() > 0
            else 0.0
        )

    found = {
        "ov_positivity": [
            [positivity(heads.full_ov(model, head)) for head in layer] for layer in layers
        ]
    }
    if len(layers) < 2:
        return found
    scores = composition.scores(model, "K", later_layer=len(layers) - 1).nan_to_num(0)
    matching = [
        [positivity(composition.matching(model, later, earlier)) for earlier in layers[0]]
        for later in layers[-1]
    ]
    return found | {"k_scores": [_rounded(row) for row in scores], "matching_positivity": matching}


def best(records: Sequence[Record], key: str, layer: int) -> list[float]:
    """The largest score of a layer's heads in each record, for a key that holds [layer][head].

    Raises:
        ValueError: if records lack the key: they were not probed, or by another version.
    """
    for record in records:
        if key not in record:
            raise ValueError(f'the record of step {record["step"]} has no "{key}"')
    return [max(record[key][layer]) for record in records]


def crossing(tokens: Sequence[int | float], values: Sequence[float], level: float) -> float | None:
    """Where a curve first reaches a level, in tokens; None if it never does.

    Between two records the curve is taken to be straight.

    Raises:
        ValueError: if there is not one value per number of tokens.
    """
    if len(tokens) != len(values):
        raise ValueError(f"{len(tokens)} numbers of tokens but {len(values)} values")
    before = None
    for at, value in zip(tokens, values, strict=True):
        if value >= level:
            if before is None:
                return float(at)
            at_before, value_before = before
            share = (level - value_before) / (value - value_before)
            return at_before + share * (at - at_before)
        before = at, value
    return None
