"""One head as two circuits: where it looks, and what it moves from there."""

from collections.abc import Sequence

from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import Canvas
from transformer_circuits.figures.drawings.words import cut
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.voice import SMALL, TALL, Name, Px

_ROW = 32.0
"""From one token to the next, in pixels."""
MOST = 18
"""The most tokens in a drawing; more would be a list, not a picture."""


def two_circuits(
    tokens: Sequence[str],
    weights: Numbers,
    raised: Sequence[str],
    *,
    head: str,
    title: str = "One circuit says where to look, the other what to move",
) -> page.Drawing:
    """A head on a line of text: bars for where its last token looks, and what each token would give.

    `weights`: [src], attention from the last token, probabilities. `raised`: for each source the
    token whose logit it would raise most, were it looked at; the OV circuit alone decides it.

    Raises:
        ValueError: if there is not one weight and one raised token for each of at most `MOST`
            tokens, or the weights are no probabilities.
    """
    where = array(weights)
    if not 1 <= len(tokens) <= MOST or not where.shape == (len(tokens),) == (len(raised),):
        raise ValueError(
            f"{len(tokens)} tokens, {where.shape} weights and {len(raised)} raised tokens given, "
            f"but there must be one of each for 1 to {MOST} tokens"
        )
    if where.min() < 0 or abs(where.sum() - 1) > 1e-3:
        raise ValueError(f"weights must be probabilities but sum to {where.sum():.3g}")
    most = int(where.argmax())
    alt = (
        f'Head {head} at the token "{tokens[-1]}". Beside each token stands a bar for how much it is '
        f'looked at, longest at "{tokens[most]}", {where[most]:.2f}, and to its right the token it '
        f'would raise most, "{raised[most]}" there.'
    )

    def paint(room: Px) -> Canvas:
        return _circuits(room, tokens, where, raised, head)

    return page.twice(paint, title, alt, numbers={"attention": where})


def _circuits(room: Px, tokens, where, raised, head: str) -> Canvas:
    canvas, wide = Canvas(room), room > TALL
    cell = 110.0 if wide else 94.0
    left = room / 2 - cell / 2 - (0 if wide else 6)
    canvas.text(left - 12, 10, "QK circuit:", role="query", anchor="end", bold=True)
    canvas.text(left - 12, 28, "where?", role="query", anchor="end", bold=True)
    canvas.text(left + cell + 12, 10, "OV circuit:", role="value", bold=True)
    canvas.text(left + cell + 12, 28, "what?", role="value", bold=True)
    canvas.text(left + cell / 2, 10, "head", anchor="middle", size=SMALL, role="muted")
    canvas.text(left + cell / 2, 28, head, anchor="middle", bold=True)
    scale = (left - 62) / max(where.max(), 1e-9)
    for i, (token, weight, what) in enumerate(zip(tokens, where, raised, strict=True)):
        y = 60 + i * _ROW
        canvas.box(left, y - 13, cell, 26, [cut(token, cell - 4)], role="ink", mono=True)
        canvas.bar(left - 10, y - 7, -scale * weight, 14, "query")
        canvas.text(left - 16 - scale * weight, y, f"{weight:.2f}", anchor="end", size=SMALL)
        start = left + cell + 6
        canvas.line([(start, y), (start + 24, y)], "value")
        canvas.text(start + 30, y, cut(what, room - start - 32), mono=True)
    y = 60 + len(tokens) * _ROW
    canvas.text(
        left + cell / 2, y - 6, "▲ looks from here", anchor="middle", size=SMALL, role="muted"
    )
    words = (
        "Left: how much the last token looks at each. Right: the token whose logit each would "
        "raise most, looked at or not. The head adds up the right, weighted by the left."
    )
    canvas.note(0, y + 22, words, room)
    return canvas


def circuit_paths(
    n_vocab: int,
    d_model: int,
    d_head: int,
    *,
    title: str = "A head's two circuits are paths from tokens to numbers",
) -> page.Drawing:
    """W_U W_OV W_E and W_Eᵀ W_QK W_E as the paths they are: from tokens to logits, and to a score.

    Raises:
        ValueError: if a size is not positive.
    """
    if min(n_vocab, d_model, d_head) < 1:
        raise ValueError(f"sizes are {n_vocab}, {d_model}, {d_head} but must be positive")
    alt = (
        "Left: a source token goes through W_E, W_OV and W_U to the logits, top to bottom; the "
        "formula lists the same steps from right to left. Right: a destination token and a source "
        "token each go through W_E and meet in W_QK, which gives one score for the pair."
    )
    each = [_what(n_vocab, d_model, d_head), _where(n_vocab, d_model, d_head)]
    sizes = {"n_vocab": n_vocab, "d_model": d_model, "d_head": d_head}
    return page.panels(each, title, alt, numbers=sizes)


def _what(n_vocab: int, d_model: int, d_head: int) -> Canvas:
    canvas, x = Canvas(TALL), 66.0
    canvas.text(0, 10, "What: W_U W_OV W_E", role="value", bold=True)
    steps: Sequence[tuple[str, Name, str]] = (
        ("source token", "ink", f"one of {n_vocab:,}"),
        ("W_E", "direct", f"{d_model:,} numbers"),
        ("W_OV", "value", f"{d_model:,} numbers, of rank {d_head:,}"),
        ("W_U", "direct", f"{n_vocab:,} numbers"),
        ("logits", "ink", "one for each next token"),
    )
    for i, (name, role, size) in enumerate(steps):
        y = 30 + 56 * i
        wide = 116 if role == "ink" else 76
        canvas.box(x - wide / 2, y, wide, 32, [name], role=role)
        canvas.text(x + 68, y + 16, size, size=SMALL, role="muted")
        if i + 1 < len(steps):
            canvas.line([(x, y + 34), (x, y + 56)], "value")
    canvas.note(0, 334, "The formula is read from right to left: the token enters at W_E.", TALL)
    return canvas


def _where(n_vocab: int, d_model: int, d_head: int) -> Canvas:
    canvas = Canvas(TALL)
    canvas.text(0, 10, "Where: W_Eᵀ W_QK W_E", role="query", bold=True)
    sides: Sequence[tuple[float, str, Name]] = (
        (70, "destination", "query"),
        (270, "source", "key"),
    )
    for x, name, role in sides:
        canvas.box(x - 64, 30, 128, 32, [f"{name}"], role="ink")
        canvas.line([(x, 64), (x, 86)], role, dash="")
        canvas.box(x - 38, 86, 76, 32, ["W_E"], role="direct")
        canvas.line([(x, 120), (x, 158), (170 + (x - 170) * 0.44, 158)], role)
    canvas.text(76, 138, "asks", role="query", size=SMALL)
    canvas.text(264, 138, "answers", role="key", size=SMALL, anchor="end")
    canvas.box(128, 142, 84, 32, ["W_QK"], role="ink")
    canvas.text(170, 186, f"rank {d_head:,}", size=SMALL, role="muted", anchor="middle")
    canvas.line([(170, 198), (170, 222)], "ink")
    canvas.box(112, 222, 116, 32, ["one score"], role="ink")
    words = (
        f"One number for each pair of tokens, {n_vocab:,} × {n_vocab:,} in all. Softmax over the "
        "sources makes attention of the scores."
    )
    canvas.note(0, 278, words, TALL)
    return canvas
