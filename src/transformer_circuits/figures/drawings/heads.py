"""Drawing of one head as two circuits."""

from collections.abc import Sequence

from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import Canvas
from transformer_circuits.figures.drawings.text_width import cut, plain, width
from transformer_circuits.figures.theme import LAYERS, SMALL, TALL, WIDE, Px
from transformer_circuits.figures.values import Numbers, array, percent

_ROW = 26.0
"""Distance from one token to the next, in pixels."""
_FAINT = 0.05
"""Attention below which a token is drawn pale, and without its number. [probability]"""
_THICKEST = 3.5
"""Width of the arrow to the token that is raised most. [pixels]"""


def two_circuits(
    tokens: Sequence[str],
    weights: Numbers,
    raised: Sequence[str],
    by: Numbers,
    *,
    head: str,
    line: str = "",
    title: str = "One circuit says where to look, the other what to move",
) -> page.Drawing:
    """Drawing of a head on a line of text: its last token's attention, and the token each source would raise.

    `weights`: [src], attention from the last token, probabilities. `raised`: for each source the
    token whose logit it would raise most, if looked at; the OV circuit alone decides it. `by`:
    [src], that rise above the mean of all tokens, in logits, as the width of its arrow. `line`: the
    text as one reads it, above its tokens.
    """
    where, much = array(weights), array(by)
    most = int(where.argmax())
    alt = (
        f'Head {head} at the token "{tokens[-1]}". Beside each token stands a bar for how much it is '
        f'looked at, longest at "{tokens[most]}", {percent(where[most])}, and to its right the token it '
        f'would raise most, "{raised[most]}" there.'
    )

    def paint(room: Px) -> Canvas:
        return _circuits(room, tokens, where, raised, much / much.max(), head, line)

    numbers = {"attention": where, "raised by": much}
    return page.drawing(paint(WIDE), paint(TALL), title, alt, numbers=numbers)


def _circuits(room: Px, tokens, where, raised, share, head: str, line: str) -> Canvas:
    canvas, wide, layer = Canvas(room), room > TALL, LAYERS[int(head[0])]
    longest, widest = (
        max(width(plain(token), mono=True) for token in column) for column in (tokens, raised)
    )
    words = min(max(widest, 76.0), 126.0)
    # On a phone, bars have what the tokens at their sides leave.
    cell = 110.0 if wide else max(min(longest + 8, 200 - words), 66.0)
    left = room / 2 - cell / 2 if wide else room - cell - words - 40
    top = 0.0
    if line:
        canvas.text(left + cell / 2, 12, line, anchor="middle", mono=True)
        top = 34.0
    canvas.text(left - 12, top + 10, "QK circuit:", role="query", anchor="end", bold=True)
    canvas.text(left - 12, top + 28, "where?", role="query", anchor="end", bold=True)
    canvas.text(left + cell + 12, top + 10, "OV circuit:", role="value", bold=True)
    canvas.text(left + cell + 12, top + 28, "what?", role="value", bold=True)
    canvas.text(left + cell / 2, top + 10, "head", anchor="middle", size=SMALL, role="muted")
    canvas.text(left + cell / 2, top + 28, head, anchor="middle", bold=True)
    scale = left - 54  # of all of the attention, so that lines of text can be compared
    for i, (token, weight, what, of_most) in enumerate(
        zip(tokens, where, raised, share, strict=True)
    ):
        y, role = top + 60 + i * _ROW, "ink" if weight >= _FAINT else "muted"
        here = i == len(tokens) - 1
        marked = layer if here or weight == where.max() else "muted"
        word = cut(plain(token), cell - 4)
        canvas.token(left, y - 11, cell, 22, word, role=marked, here=here)
        canvas.bar(left - 10, y - 7, -scale * weight, 14, layer)
        if weight >= _FAINT:
            left_of = left - 16 - scale * weight
            canvas.text(left_of, y, percent(weight), anchor="end", size=SMALL)
        start = left + cell + 6
        canvas.line([(start, y), (start + 24, y)], "value", thick=max(1.0, _THICKEST * of_most))
        canvas.text(start + 30, y, cut(plain(what), room - start - 32), role=role, mono=True)
    y = top + 60 + len(tokens) * _ROW
    canvas.text(
        left + cell / 2, y + 1, "▲ looks from here", anchor="middle", size=SMALL, role="muted"
    )
    legend = (
        "Left: how much the last token looks at each. Right: the token whose logit each would "
        "raise most, looked at or not; the thicker the arrow, the more. The head adds up the "
        "right, weighted by the left. Grey word: its place is looked at less than 5 %."
    )
    canvas.note(0, y + 22, legend, room)
    return canvas
