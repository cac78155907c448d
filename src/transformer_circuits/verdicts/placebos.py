"""Logs of a training in which one thing is exchanged: controls for claims about how heads form.

A rule about what happens while heads form must fail on them, or it would hold of any time and any
curve. Each takes the records of a log (see `development.probe`) and returns others.
"""

from transformer_circuits.experiments import development

Log = tuple[development.Record, ...]

_MATCHING = ("matching_text", "matching_random")
_LOSSES = ("held_out", "in_context_learning_score")


def heads_moved(log: Log, factor: float) -> Log:
    """Prefix matching at each number of tokens as it was at `factor` times that number.

    So with a factor of 2, the heads form in half the tokens; all else comes when it came.
    """
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


def losses_of(other: Log, log: Log) -> Log:
    """The losses that another training had at the same tokens, beside the heads of this one.

    Where the other is shorter, those of its last record.
    """
    tokens = [record["tokens"] for record in other]
    losses = {key: [record[key] for record in other] for key in _LOSSES}
    return tuple(
        record
        | {
            key: float(development.at(tokens, values, record["tokens"]))
            for key, values in losses.items()
        }
        for record in log
    )


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


def plateau_before_heads(log: Log) -> Log:
    """The loss stands still until the induction head begins to form, at what it is then."""
    tokens = [record["tokens"] for record in log]
    found = development.span(tokens, development.of_head(log, "matching_random", -1))
    start = found[0] if found else tokens[0]
    level = float(development.at(tokens, [record["held_out"] for record in log], start))
    return tuple(
        record | ({"held_out": level} if record["tokens"] < start else {}) for record in log
    )
