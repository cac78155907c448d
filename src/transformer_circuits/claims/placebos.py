"""Controls for claims about how heads form: logs of a training in which one thing is exchanged.

A rule about what happens while heads form must fail on them, or it would hold of any time and any
curve.
"""

import dataclasses
import functools
from collections.abc import Callable

from transformer_circuits.claims.controls import Control, Graded, named
from transformer_circuits.claims.subjects import Log, Subject
from transformer_circuits.experiments import development

_MATCHING = ("matching_text", "matching_random")
_LOSSES = ("held_out", "in_context_learning_score")


def _of_log(name: str) -> Callable[[Callable[[Log], Log]], Control]:
    """Make a function from the records of a log to others a control of this name."""

    def made(change: Callable[[Log], Log]) -> Control:
        def changed(subject: Subject) -> Subject:
            return dataclasses.replace(subject, name=name, log=change(subject.log))

        return Control(name, functools.wraps(change)(changed))

    return made


def _heads_moved(log: Log, factor: float) -> Log:
    """Prefix matching at each number of tokens as it was at `factor` times that number."""
    tokens = [record["tokens"] for record in log]

    def moved(record: development.Record, key: str) -> list[list[float]]:
        place = factor * record["tokens"]
        return [
            [
                float(development.at(tokens, [each[key][layer][head] for each in log], place))
                for head in range(len(scores))
            ]
            for layer, scores in enumerate(record[key])
        ]

    return tuple(record | {key: moved(record, key) for key in _MATCHING} for record in log)


@_of_log("heads sooner")
def heads_sooner(log: Log) -> Log:
    """The heads form in half the tokens; all else comes when it came."""
    return _heads_moved(log, 2.0)


@_of_log("heads later")
def heads_later(log: Log) -> Log:
    """The heads form in twice the tokens; all else comes when it came."""
    return _heads_moved(log, 0.5)


@_of_log("heads swapped")
def heads_swapped(log: Log) -> Log:
    """Previous-token heads of the first layer and matching heads of the last exchanged."""
    return tuple(
        record
        | {
            "previous_token": [record["matching_random"][-1], *record["previous_token"][1:]],
            "matching_random": [*record["matching_random"][:-1], record["previous_token"][0]],
        }
        for record in log
    )


@_of_log("loss for heads")
def loss_for_heads(log: Log) -> Log:
    """In place of every matching head, the share of its way that the loss on text has fallen."""
    losses = [record["held_out"] for record in log]
    way = max(losses[0] - min(losses), 1e-9)
    return tuple(
        record
        | {
            key: [[(losses[0] - record["held_out"]) / way] * len(layer) for layer in record[key]]
            for key in _MATCHING
        }
        for record in log
    )


def _bump(subject: Subject, size: float) -> Subject:
    """The loss falls by `size` nats more than it did while the induction head forms, evenly."""
    tokens = [record["tokens"] for record in subject.log]
    found = development.span(tokens, development.of_head(subject.log, "matching_random", -1))
    start, end = found or (tokens[0], tokens[0] + 1)
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
