"""Drawing of the sum over paths: every way from a token to a logit, and its addition."""

from collections.abc import Mapping, Sequence

from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import Canvas
from transformer_circuits.figures.theme import LAYERS, SMALL, TALL, Name, Px
from transformer_circuits.figures.values import Number, number, written

Path = tuple[str, ...]
"""Heads on a path, earliest first, as "0.3"; `()` is the direct path."""
_MOST = 8
_ROW = 30.0
"""Distance from one path to the next, in pixels."""


def path_sum(
    values: Mapping[Path, Number],
    *,
    what: str,
    unit: str,
) -> page.Drawing:
    """Drawing of each path as a track through the layers, with a bar for its addition.

    `values`: by path; one layer has the paths () and ("0.3",), two layers also ("0.3", "1.5"). The
    direct path and the `_MOST` largest others, either sign, have tracks of their own; the rest
    share the last one, so that the bars add up to the total below. `what`: the name of the sum,
    `logit of " queen"`, say; `unit`: of the values.
    """
    named = {path: number(value) for path, value in values.items()}
    others = sorted((p for p in named if p), key=lambda path: -abs(named[path]))
    shown = [path for path in named if not path] + sorted(others[:_MOST], key=len)
    rows = [(path, named[path]) for path in shown]
    rest = [named[path] for path in others[_MOST:]]
    total = sum(named.values())
    alt = (
        f"{len(rows)} tracks with bars, one a path: "
        + "; ".join(f"{_name(path)} {written(value, '+.2f')}" for path, value in rows)
        + (f"; {len(rest)} others together {written(sum(rest), '+.2f')}" if rest else "")
        + f". Together {written(total, '+.2f')} {unit}: {what}."
    )

    def paint(room: Px) -> Canvas:
        return _tracks(room, rows, rest, total, what, unit)

    numbers = {_name(path): value for path, value in named.items()} | {"sum": total}
    return page.twice(
        paint,
        "The answer is a sum over paths",
        alt,
        numbers=numbers,
        units=dict.fromkeys(numbers, unit),
    )


def _layer(head: str) -> int:
    """Layer of a head by its name, "1.5" for instance."""
    return int(head.partition(".")[0])


def role_of_path(path: Path) -> Name:
    """Role of a path: its one head's layer, the stream without heads, "curve" with several."""
    return "curve" if len(path) > 1 else LAYERS[_layer(path[0])] if path else "direct"


def _name(path: Path) -> str:
    return " → ".join(path) or "direct"


def _tracks(room: Px, rows: Sequence, rest: Sequence, total: Px, what, unit) -> Canvas:
    canvas, wide = Canvas(room), room > TALL
    n_layers = max([1, *(_layer(head) + 1 for path, _ in rows for head in path)])
    start, end = (130.0, 400.0) if wide else (96.0, 186.0)
    stops = [start + (end - start) * (k + 1) / (n_layers + 1) for k in range(n_layers)]
    for layer, x in enumerate(stops):
        words = f"layer {layer}" if wide else f"L{layer}"
        canvas.text(x, 10, words, role=LAYERS[layer], anchor="middle", bold=True, size=SMALL)
    canvas.text(end + 8, 10, unit, role="muted", size=SMALL)
    tracks = [*rows, *([(None, sum(rest))] if rest else [])]
    lowest = min(0.0, *(value for _, value in tracks), total)
    highest = max(0.0, *(value for _, value in tracks), total)
    scale = (room - end - 66) / ((highest - lowest) or 1.0)
    zero = end + 8 - scale * lowest
    for i, (path, value) in enumerate(tracks):
        y = 38 + i * _ROW
        role: Name = "muted" if path is None else role_of_path(path)
        name = f"{len(rest)} more" if path is None else _name(path)
        canvas.text(0, y, name, size=SMALL)
        canvas.line([(start, y), (end, y)], role, dash="2 3" if path is None else "", arrow=True)
        for head in path or ():
            layer = _layer(head)
            canvas.dot(stops[layer], y, LAYERS[layer], 6)
        _value(canvas, zero, y, value, scale, role)
    y = 38 + len(tracks) * _ROW
    canvas.line([(0, y - 10), (room, y - 10)], "muted", thick=1.25, arrow=False)
    canvas.text(0, y + 8, "sum", bold=True)
    _value(canvas, zero, y + 8, total, scale, "ink")
    canvas.note(0, y + 34, f"Sum: {what}. Dots: the heads that a path goes through.", room)
    return canvas


def _value(canvas: Canvas, zero: Px, y: Px, value: Px, scale: Px, role: Name) -> None:
    canvas.bar(zero, y - 7, scale * value, 14, role)
    canvas.text(max(zero, zero + scale * value) + 6, y, written(value, "+.2f"), size=SMALL)
