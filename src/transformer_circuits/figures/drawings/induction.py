"""The two steps of an induction head on a line of text."""

from collections.abc import Sequence
from dataclasses import dataclass

from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import Anchor, Canvas
from transformer_circuits.figures.drawings.text_width import cut, plain, width, wrap
from transformer_circuits.figures.theme import SMALL, TALL, TEXT, THIN, Name, Px
from transformer_circuits.figures.values import Number, number, percent

_CELL = 28.0
"""Height of a token's box."""
_AROUND = 2
"""Tokens shown before a place; those between are left out."""
_LEGEND = "Dotted: looks. Solid: writes or moves."
_TITLE = "An induction head in two steps: note what came before, then look for it"


@dataclass(frozen=True)
class _Line:
    """Shown tokens, their three places, and the attention of the two heads."""

    tokens: list[str]
    before: int
    found: int
    now: int
    heads: Sequence[str]
    weights: list[float]
    predicted: str

    @property
    def steps(self) -> tuple[str, str]:
        back, matcher = self.heads
        return (
            f"First, head {back} looks one back ({percent(self.weights[0])}): "
            "the key now says what stood before",
            f"Then head {matcher} looks where the key matches ({percent(self.weights[1])}), "
            "and moves what is there",
        )


def induction_steps(
    tokens: Sequence[str],
    now: int,
    found: int,
    *,
    heads: Sequence[str],
    weights: Sequence[Number],
    predicted: str,
) -> page.Drawing:
    """Drawing of the two steps from the present token to the follower of its last occurrence.

    `now`: the place of the present token; `found`: the place after an earlier one like it. `heads`:
    the one that looks back and the one that matches, by name; `weights`: attention of the first
    from `found` to the place before it, and of the second from `now` to `found`. `predicted`: the
    token that the model ranks first at `now`.
    """
    line = _shown(tokens, now, found, heads, [number(w) for w in weights], predicted)
    alt = (
        f'A line of text in which "{tokens[now]}" comes twice. Step 1: at "{tokens[found]}", head '
        f"{heads[0]} looks one token back with {percent(line.weights[0])} of its attention. Step 2: at the second "
        f'"{tokens[now]}", head {heads[1]} looks at "{tokens[found]}" with '
        f"{percent(line.weights[1])} of its attention. Beside each dotted look back, a solid arrow goes on to where what is "
        f'found is moved. The model puts "{predicted}" first.'
    )
    numbers = {"attention": line.weights}
    return page.drawing(_across(line), _down(line), _TITLE, alt, numbers=numbers)


def _shown(tokens, now: int, found: int, heads, weights, predicted: str) -> _Line:
    first = max(0, found - 1 - _AROUND)
    kept = [*range(first, found + 1), *range(max(found + 1, now - _AROUND), now + 1)]
    words, places = (["…"] if first else []), {}
    for i, place in enumerate(kept):
        if i and place > kept[i - 1] + 1:
            words.append("…")
        places[place] = len(words)
        words.append(plain(tokens[place]))
    at = places[found - 1], places[found], places[now]
    return _Line(words, *at, heads, weights, plain(predicted))


def _role(line: _Line, i: int) -> Name:
    return "second" if i in (line.found, line.now) else "muted"


def _across(line: _Line) -> Canvas:
    """Wide layout: tokens in a row, with the steps above."""
    canvas, y = Canvas(720), 182.0
    gap, room = 8.0, 86.0
    sizes = [width(cut(t, room), mono=True) + 12 for t in (*line.tokens, line.predicted)]
    spare = canvas.width - sum(sizes) - gap * (len(sizes) - 1) - 40
    gap += max(0.0, min(14.0, spare / len(sizes)))
    x, xs = 1.0, []
    for i, token in enumerate(line.tokens):
        _token(canvas, x, y, sizes[i], cut(token, room), _role(line, i), here=i == line.now)
        xs.append(x + sizes[i] / 2)
        x += sizes[i] + gap
    before, found, now = (xs[i] for i in (line.before, line.found, line.now))
    arcs: tuple[tuple[float, float, float, Name], ...] = (
        (before, found - 12, 60, "first"),
        (found + 12, now, 106, "second"),
    )
    for step, (left, right, high, role) in enumerate(arcs):
        far, over = 7, 1.5 * high
        with canvas.click():
            if step:  # over its arcs, and to the left of them
                _block(canvas, (left + right) / 2, 12, line.steps[step], 350, role, "middle")
            else:
                _block(canvas, 0, 44, line.steps[step], max(right - 6, 110), role)
            ends = (right + far, y - 3), (left - far, y - 3)
            canvas.look([ends[0], (right + far, y - over), (left - far, y - over), ends[1]], role)
        with canvas.click():
            canvas.curve([(left, y - 3), (left, y - high), (right, y - high), (right, y - 3)], role)
            if step:
                _put_first(canvas, x + 32, y, gap, sizes[-1], cut(line.predicted, room))
            else:
                canvas.after(found, y + _CELL, line.tokens[line.before])
    under = y + _CELL + 52
    canvas.line([(before, y + _CELL + 3), (before, under), (now, under), (now, y + _CELL + 3)],
                "muted", thick=THIN, arrow=False)  # fmt: skip
    canvas.text(
        (before + now) / 2, under + 14, "the same token", role="muted", anchor="middle", size=SMALL
    )
    canvas.text(0, under + 40, _LEGEND, role="muted", size=SMALL)
    return canvas


def _put_first(canvas: Canvas, x: Px, y: Px, gap: Px, wide: Px, predicted: str) -> None:
    canvas.line([(x - 32 - gap + 4, y + _CELL / 2), (x - 4, y + _CELL / 2)], "second")
    canvas.token(x, y, wide, _CELL, predicted, role="second")
    below = {"size": SMALL, "role": "muted"}
    canvas.text(min(x + wide / 2, 668), y + _CELL + 16, "ranked first", anchor="middle", **below)


def _down(line: _Line) -> Canvas:
    """Layout for a phone: tokens in a column, with the steps to its right."""
    canvas, left, cell, step = Canvas(TALL), 26.0, 96.0, 40.0
    ys = [4 + step * i + 34 * (i > line.found) for i in range(len(line.tokens))]  # for the note
    for i, token in enumerate(line.tokens):
        _token(canvas, left, ys[i], cell, cut(token, cell - 4), _role(line, i), here=i == line.now)
    canvas.after(left + cell / 2, ys[line.found] + _CELL, line.tokens[line.before])
    before, found, now = (ys[i] + _CELL / 2 for i in (line.before, line.found, line.now))
    right, room = left + cell + 3, 130.0
    arcs: tuple[tuple[float, float, float, Name], ...] = (
        (before + 2, found - 10, 24, "first"),
        (found + 10, now - 2, 44, "second"),
    )
    for top, bottom, far, role in arcs:
        x = right + far
        canvas.curve([(right, top), (x, top), (x, bottom), (right, bottom)], role)
        x, top, bottom = right + 1.5 * far, top - 7, bottom + 7
        canvas.look([(right, bottom), (x, bottom), (x, top), (right, top)], role)
    same = [(left - 3, before), (10, before), (10, now), (left - 3, now)]
    canvas.line(same, "muted", thick=THIN, arrow=False)
    for words, y, role in zip(
        line.steps, (before - 20, (found + now) / 2), ("first", "second"), strict=True
    ):
        _block(canvas, right + 60, max(y, 10), words, room + 20, role)
    end = ys[-1] + _CELL
    canvas.line([(left + cell / 2, end + 2), (left + cell / 2, end + 26)], "second")
    canvas.token(left, end + 26, cell, _CELL, cut(line.predicted, cell - 4), role="second")
    canvas.text(
        right + 8, end + 26 + _CELL / 2, "ranked first by the model", size=SMALL, role="muted"
    )
    canvas.text(left, end + 80, "Line at the left: the same token.", size=SMALL, role="muted")
    canvas.text(left, end + 100, _LEGEND, size=SMALL, role="muted")
    return canvas


def _block(
    canvas: Canvas, x: Px, y: Px, words: str, room: Px, role: Name, anchor: Anchor = "start"
) -> None:
    for i, line in enumerate(wrap(words, room, bold=True)):
        y_of = y + i * 1.35 * SMALL
        canvas.text(x, y_of, line, role=role, size=SMALL, bold=True, anchor=anchor)


def _token(canvas: Canvas, x: Px, y: Px, wide: Px, token: str, role: Name, *, here: bool) -> None:
    if token == "…":
        canvas.text(x + wide / 2, y + _CELL / 2, token, anchor="middle", size=TEXT, role="muted")
    else:
        canvas.token(x, y, wide, _CELL, token, role=role, here=here)
