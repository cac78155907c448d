"""Canvas for drawings: words, boxes, lines with arrows, bars.

Places are in pixels, from the upper left corner; y grows downwards.
"""

import html
import itertools
import math
from collections.abc import Sequence
from typing import Literal

from transformer_circuits.figures.drawings.text_width import wrap
from transformer_circuits.figures.theme import LINE, ROLES, SMALL, TEXT, TINT, Name, Px

Point = tuple[Px, Px]
Anchor = Literal["start", "middle", "end"]
LOOK = "2 4"
"""Value of stroke-dasharray for an arrow that looks."""
HEAD = 9.0
"""Length of an arrow's head."""
EYE = 3.5
"""Radius of the dot at the place looked at."""
FAINT = 0.45
"""Opacity of the frame of a token."""


class Canvas:
    """Drawing in the making; `height` grows with its contents."""

    def __init__(self, width: Px):
        self.width, self.height = width, 0.0
        self.parts: list[str] = []

    def text(
        self,
        x: Px,
        y: Px,
        words: str,
        *,
        role: Name = "ink",
        anchor: Anchor = "start",
        size: Px = TEXT,
        bold: bool = False,
        mono: bool = False,
    ) -> None:
        """Draw one line of words; y is its middle."""
        extra = ' class="mono"' * mono + ' font-weight="700"' * bold
        self.parts.append(
            f'<text x="{x:.1f}" y="{y + 0.35 * size:.1f}" font-size="{size:g}" xml:space="preserve" '
            f'text-anchor="{anchor}" style="fill:var(--{role})"{extra}>{html.escape(words)}</text>'
        )
        self._reach(y + 0.8 * size)

    def note(self, x: Px, y: Px, words: str, room: Px) -> float:
        """Draw words in lines of at most `room` pixels; returns the y of a next line.

        y is the middle of the first.
        """
        for line in wrap(words, room):
            self.text(x, y, line, role="muted", size=SMALL)
            y += 1.35 * SMALL
        return y

    def token(
        self,
        x: Px,
        y: Px,
        wide: Px,
        high: Px,
        word: str,
        *,
        role: Name = "muted",
        here: bool = False,
    ) -> None:
        """Draw a token in a thin frame, or in the strong one of a role, if a head looks at it.

        `here`: also filled, as the place that looks.
        """
        marked = role != "muted"
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" rx="5" '
            f'style="fill:var(--{role});fill-opacity:{TINT * here:g};stroke:var(--{role});'
            f'stroke-opacity:{1 if marked else FAINT:g}" stroke-width="{LINE if marked else 1}"/>'
        )
        self.text(x + wide / 2, y + high / 2, word, anchor="middle", mono=True)
        self._reach(y + high + 2)

    def after(self, x: Px, y: Px, before: str) -> None:
        """Draw the first layer's note below a token with its middle at x, whose box ends at y."""
        below = {"role": "first", "size": SMALL, "anchor": "middle"}
        self.line([(x - 20, y + 6), (x + 20, y + 6)], "first", arrow=False)
        self.text(x, y + 17, "after", **below)
        self.text(x, y + 32, before, mono=True, **below)

    def bar(self, x: Px, y: Px, wide: Px, high: Px, role: Name) -> None:
        """Draw a filled bar; a negative width goes to the left of x."""
        left, wide = min(x, x + wide), max(abs(wide), 1.0)
        self.parts.append(
            f'<rect x="{left:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" '
            f'style="fill:var(--{role})"/>'
        )
        self._reach(y + high)

    def dot(self, x: Px, y: Px, role: Name, radius: Px = 5.0) -> None:
        """Draw a filled dot."""
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" style="fill:var(--{role})"/>'
        )
        self._reach(y + radius)

    def line(
        self,
        points: Sequence[Point],
        role: Name,
        *,
        thick: Px = LINE,
        arrow: bool = True,
        dash: str | None = None,
    ) -> None:
        """Draw a straight line from point to point, with an arrow at its end if `arrow` is set."""
        self._stroke("M" + " L".join("{:.1f} {:.1f}".format(*p) for p in _short(points, arrow)),
                     points, role, thick, arrow, dash)  # fmt: skip

    def curve(self, points: Sequence[Point], role: Name, *, dash: str | None = None) -> None:
        """Draw a cubic curve from the first to the last of four points, with an arrow at its end."""
        self._stroke(_cubic(_short(points, True)), points, role, LINE, True, dash)

    def look(self, points: Sequence[Point], role: Name) -> None:
        """Draw a dotted line, curved through four points, from the looking place to a dot at its target.

        Moved vectors go the other way, on a solid arrow.
        """
        self._stroke(_cubic(points), points, role, LINE, False, LOOK)
        self.dot(*points[-1], role, EYE)

    def _stroke(self, path, points, role: Name, thick, arrow, dash) -> None:
        dash = ROLES[role].dash if dash is None else dash
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<path d="{path}" style="fill:none;stroke:var(--{role})" stroke-width="{thick:g}" '
            f'stroke-linejoin="round"{dashes}/>'
        )
        if arrow:
            self.parts.append(_head(points[-2], points[-1], role))
        self._reach(max(y for _, y in points) + thick / 2)

    def _reach(self, y: Px) -> None:
        self.height = max(self.height, y)


def _cubic(points: Sequence[Point]) -> str:
    """Path of a curve through four points."""
    places = itertools.chain(*points)
    return "M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}".format(*places)


def _short(points: Sequence[Point], arrow: bool) -> list[Point]:
    """Points with the last one moved back to the foot of the arrow's head."""
    (x, y), (to_x, to_y) = points[-2:]
    length = math.hypot(to_x - x, to_y - y)
    share = max(0.0, 1 - 0.8 * HEAD / length) if arrow and length else 1.0
    return [*points[:-1], (x + share * (to_x - x), y + share * (to_y - y))]


def _head(start: Point, end: Point, role: Name) -> str:
    """Head of an arrow as a triangle; no marker, whose id would have to be unique on a page."""
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    ends = (
        (end[0] - HEAD * math.cos(angle + turn), end[1] - HEAD * math.sin(angle + turn))
        for turn in (-0.45, 0.45)
    )
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in (end, *ends))
    return f'<polygon points="{places}" style="fill:var(--{role})"/>'
