"""Two heads, one after the other: three kinds of composition, and the virtual head."""

from collections.abc import Mapping, Sequence

from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import Canvas
from transformer_circuits.figures.drawings.words import cut
from transformer_circuits.figures.values import Number, number
from transformer_circuits.figures.voice import SMALL, STREAM, TALL, THIN, Name, Px

_ROLES: dict[str, Name] = {"Q": "query", "K": "key", "V": "value"}
_SAYS = {
    "Q": "The destination has gathered something first, and asks a different question.",
    "K": "The source has gathered something first, and answers to a different question.",
    "V": "What is moved had been moved before: the two make a virtual head.",
}
_WIDE = 224.0
_SOURCE, _TARGET = 48.0, 176.0
"""Where the streams of the two tokens run in a panel."""


def three_kinds(
    earlier: str,
    later: str,
    scores: Mapping[str, Number] | None = None,
    *,
    title: str = "A later head reads three times; each can carry an earlier head's work",
) -> page.Drawing:
    """Q-, K- and V-composition side by side: which of a head's three inputs an earlier one made.

    `earlier`, `later`: names of the heads, "0.3" and "1.5" for instance. `scores`: of the pair, by
    "Q", "K" and "V" (see `composition.scores`); written below each panel.

    Raises:
        ValueError: if scores are given, but not for exactly Q, K and V.
    """
    if scores is not None and {*scores} != {*_ROLES}:
        raise ValueError(f"scores are of {sorted(scores)} but must be of {sorted(_ROLES)}")
    values = {kind: number(scores[kind]) for kind in _ROLES} if scores else {}
    each = [_kind(kind, earlier, later, values.get(kind)) for kind in _ROLES]
    alt = (
        f"Three panels. In each, head {later} moves information from a source to a destination: it "
        f"takes a query from the destination, a key and a value from the source. Head {earlier} has "
        "written at the destination for Q-composition, and at the source for K- and V-composition; "
        "the input that carries its work is drawn thick."
    )
    if values:
        alt += (
            " Scores: " + ", ".join(f"{kind} {value:.3f}" for kind, value in values.items()) + "."
        )
    return page.panels(each, title, alt, numbers=values)


def _kind(kind: str, earlier: str, later: str, score: float | None) -> Canvas:
    canvas, role = Canvas(_WIDE), _ROLES[kind]
    canvas.text(_WIDE / 2, 10, f"{kind}-composition", role=role, anchor="middle", bold=True)
    at = _TARGET if kind == "Q" else _SOURCE
    for x, name in ((_SOURCE, "source"), (_TARGET, "destination")):
        canvas.text(x, 36, name, anchor="middle", size=SMALL, role="muted")
        if x == at:
            canvas.line([(x, 48), (x, 76)], "direct", thick=STREAM, arrow=False)
            canvas.line([(x, 108), (x, 232)], "first", thick=STREAM, arrow=False)
        else:
            canvas.line([(x, 48), (x, 232)], "direct", thick=STREAM, arrow=False)
    for y in (66, 84, 102):  # what the earlier head gathers
        canvas.line(
            [(at - 47, y), (at - 26, 92 + (y - 84) * 0.4)], "first", thick=THIN, arrow=False
        )
    canvas.box(at - 26, 77, 52, 30, [earlier], role="first")
    canvas.box(90, 136, 44, 84, [later], role="second")
    for port, y in (("K", 160), ("V", 200), ("Q", 160)):
        made = port == kind
        start, end = (_TARGET - 5, 136) if port == "Q" else (_SOURCE + 5, 89)
        canvas.line([(start, y), (end, y)], _ROLES[port], thick=4 if made else THIN, dash=None)
        canvas.text(
            (start + end) / 2, y - 13, port, anchor="middle", size=15 if made else SMALL,
            bold=made, role=_ROLES[port] if made else "muted",
        )  # fmt: skip
    canvas.line([(136, 200), (_TARGET - 5, 200)], "second")
    y = canvas.note(_WIDE / 2, 254, _SAYS[kind], _WIDE - 8, anchor="middle")
    if score is not None:
        canvas.text(_WIDE / 2, y + 4, f"score {score:.3f}", anchor="middle", bold=True)
    return canvas


def virtual_head(
    tokens: Sequence[str],
    heads: Sequence[str],
    weights: Sequence[Number],
    *,
    title: str = "Two heads in a row act as one more head",
) -> page.Drawing:
    """What one head moved, a later head moves on: together a head that has no weights of its own.

    `tokens`: three, where information is read, where it waits, and where it arrives. `heads`: the
    earlier and the later. `weights`: attention of the earlier head from the second token to the
    first, and of the later from the third to the second; their product is what the virtual head
    pays by this route, one of the terms of the product of both patterns.

    Raises:
        ValueError: if there are not three tokens, two heads and two weights.
    """
    paid = [number(weight) for weight in weights]
    if (len(tokens), len(heads), len(paid)) != (3, 2, 2):
        raise ValueError(
            f"{len(tokens)} tokens, {len(heads)} heads and {len(paid)} weights given, "
            "but a virtual head has 3, 2 and 2"
        )
    alt = (
        f'Head {heads[0]} moves information from "{tokens[0]}" to "{tokens[1]}" with weight '
        f'{paid[0]:.2f}, head {heads[1]} on to "{tokens[2]}" with weight {paid[1]:.2f}. A dashed '
        f"line joins the first token to the last directly, with weight {paid[0] * paid[1]:.2f}."
    )

    def paint(room: Px) -> Canvas:
        return _virtual(room, tokens, heads, paid)

    return page.twice(paint, title, alt, numbers={"attention": paid})


def _virtual(room: Px, tokens, heads, paid) -> Canvas:
    canvas = Canvas(room)
    cell = 92.0 if room == TALL else 130.0
    xs = [cell / 2 + 1, room / 2, room - cell / 2 - 1]
    for x, token in zip(xs, tokens, strict=True):
        canvas.box(x - cell / 2, 4, cell, 28, [cut(token, cell - 4)], role="ink", mono=True)
        ends = [(34, 208), (244, 262)] if x == xs[1] else [(34, 262)]
        for top, bottom in ends:
            canvas.line([(x, top), (x, bottom)], "direct", thick=STREAM, arrow=False)
    moves: Sequence[tuple[float, float, float, Name]] = (
        (xs[0], xs[1], 78, "first"),
        (xs[1], xs[2], 142, "second"),
    )
    for (a, b, y, role), name, weight in zip(moves, heads, paid, strict=True):
        middle = (a + b) / 2
        canvas.line([(a + 5, y), (middle - 26, y)], role, arrow=False)
        canvas.box(middle - 26, y - 15, 52, 30, [name], role=role)
        canvas.line([(middle + 26, y), (b - 5, y)], role)
        canvas.text(middle, y - 27, f"moves {weight:.2f}", anchor="middle", size=SMALL, role=role)
    y = 226.0
    half = 74.0
    middle = xs[1]
    canvas.line([(xs[0] + 5, y), (middle - half, y)], "value", dash="5 4", arrow=False)
    canvas.line([(middle + half, y), (xs[2] - 5, y)], "value", dash="5 4")
    canvas.box(middle - half, y - 16, 2 * half, 32, [f"{heads[0]}, then {heads[1]}"],
               role="value", dashed=True)  # fmt: skip
    words = (
        f"This route: {paid[0]:.2f} × {paid[1]:.2f} = {paid[0] * paid[1]:.2f}. The virtual head's "
        "pattern is the product of both patterns, and its OV matrix the product of both."
    )
    canvas.note(0, 286, words, room)
    return canvas
