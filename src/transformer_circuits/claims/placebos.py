"""Controls for claims about how heads form: logs of a training in which one thing is exchanged.

A rule about what happens while heads form must fail on them, or it would hold of any time and any
curve.
"""

import dataclasses

from transformer_circuits.claims.controls import Graded, named
from transformer_circuits.claims.subjects import Log, Subject
from transformer_circuits.experiments import development

_MATCHING = ("matching_text", "matching_random")
_LOSSES = ("held_out", "in_context_learning_score")


def _heads_moved(log: Log, factor: float) -> Log:
    """Prefix matching at each number of tokens as it was at `factor` times that number."""
    tokens = [record["tokens"] for record in log]

    def moved(record: development.Record, key: str) -> list[list[float]]:
        place = factor * record["tokens"]
        return [
            [
                float(
                    development.at(
                        tokens, [at_record[key][layer][head] for at_record in log], place
                    )
                )
                for head in range(len(scores))
            ]
            for layer, scores in enumerate(record[key])
        ]

    return tuple(record | {key: moved(record, key) for key in _MATCHING} for record in log)


@named("heads sooner")
def heads_sooner(subject: Subject) -> Subject:
    """The heads form in half the tokens; all else comes when it came."""
    return dataclasses.replace(subject, name="heads sooner", log=_heads_moved(subject.log, 2.0))


@named("heads later")
def heads_later(subject: Subject) -> Subject:
    """The heads form in twice the tokens; all else comes when it came."""
    return dataclasses.replace(subject, name="heads later", log=_heads_moved(subject.log, 0.5))


@named("heads swapped")
def heads_swapped(subject: Subject) -> Subject:
    """Previous-token heads of the first layer and matching heads of the last exchanged."""
    log = tuple(
        record
        | {
            "previous_token": [record["matching_random"][-1], *record["previous_token"][1:]],
            "matching_random": [*record["matching_random"][:-1], record["previous_token"][0]],
        }
        for record in subject.log
    )
    return dataclasses.replace(subject, name="heads swapped", log=log)


@named("loss for heads")
def loss_for_heads(subject: Subject) -> Subject:
    """In place of every matching head, the share of its way that the loss on text has fallen."""
    losses = [record["held_out"] for record in subject.log]
    way = max(losses[0] - min(losses), 1e-9)
    log = tuple(
        record
        | {
            key: [[(losses[0] - record["held_out"]) / way] * len(layer) for layer in record[key]]
            for key in _MATCHING
        }
        for record in subject.log
    )
    return dataclasses.replace(subject, name="loss for heads", log=log)


def _bump(subject: Subject, size: float) -> Subject:
    """The loss falls by `size` nats more than it did while the induction head forms, evenly."""
    tokens = [record["tokens"] for record in subject.log]
    forming = development.span(tokens, development.of_head(subject.log, "matching_random", -1))
    start, end = forming or (tokens[0], tokens[0] + 1)
    log = tuple(
        record
        | {
            "held_out": record["held_out"]
            + size * min(1.0, max(0.0, (end - record["tokens"]) / (end - start)))
        }
        for record in subject.log
    )
    return dataclasses.replace(subject, log=log)


bumps = Graded("a bump of {} nats", _bump, sizes=(0.25, 0.5, 1.0, 2.0, 4.0), counts=0.25)


@named("losses of one layer")
def losses_of_one_layer(subject: Subject) -> Subject:
    """The losses that the one-layer model had at the same tokens, beside the subject's own heads.

    Where its log is shorter, those of its last record.
    """
    other = subject.sibling("one-layer").log
    tokens = [record["tokens"] for record in other]
    losses = {key: [record[key] for record in other] for key in _LOSSES}
    log = tuple(
        record
        | {
            key: float(development.at(tokens, values, record["tokens"]))
            for key, values in losses.items()
        }
        for record in subject.log
    )
    return dataclasses.replace(subject, name="losses of one layer", log=log)
