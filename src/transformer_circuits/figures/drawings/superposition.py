"""Features as directions in a plane: as many as there are dimensions, and more."""

import math
from collections.abc import Mapping

import numpy as np

from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import Canvas
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.voice import LINE, SMALL, THIN, Px

_WIDE, _RADIUS = 224.0, 78.0
_SHORT = 0.05
"""Vectors shorter than this share of the longest are drawn as a dot: they are not represented."""


def superposition(
    panels: Mapping[str, Numbers],
    *,
    title: str = "More features than dimensions must share directions",
) -> page.Drawing:
    """Features as arrows from the middle of a circle; where arrows are not at right angles, they mix.

    `panels`: by name, [feature, 2], the direction of each feature in the plane. The longest arrow of
    each panel reaches the circle. Below each stands the largest overlap of two of its features, the
    absolute cosine of their angle, from 0 (apart) to 1 (the same line).

    Raises:
        ValueError: if there are not one to three panels, or one is not [feature, 2] or all zeros.
    """
    if not 1 <= len(panels) <= 3:
        raise ValueError(f"{len(panels)} panels given, but there is room for 1 to 3")
    each, said, numbers = [], [], {}
    for name, panel in panels.items():
        numbers[name] = vectors = array(panel)
        if vectors.ndim != 2 or vectors.shape[1] != 2 or not vectors.any():
            raise ValueError(
                f'panel "{name}" is {vectors.shape} but must be [feature, 2] and not all zeros'
            )
        overlap = largest_overlap(vectors)
        each.append(_plane(name, vectors, overlap))
        said.append(f"{name}: {len(vectors)} arrows, largest overlap {overlap:.2f}")
    alt = "Circles with arrows from the middle. " + "; ".join(said) + "."
    return page.panels(each, title, alt, numbers=numbers)


def largest_overlap(vectors: np.ndarray) -> float:
    """The largest absolute cosine of the angle of two vectors, from 0 to 1; [feature, 2].

    Vectors too short to be drawn as arrows are left out; fewer than two have an overlap of 0.
    """
    lengths = np.linalg.norm(vectors, axis=1)
    kept = vectors[lengths > _SHORT * lengths.max()]
    units = kept / np.linalg.norm(kept, axis=1, keepdims=True)
    cosines = np.abs(units @ units.T)
    np.fill_diagonal(cosines, 0.0)
    return float(cosines.max())


def _plane(name: str, vectors: np.ndarray, overlap: Px) -> Canvas:
    canvas, x, y = Canvas(_WIDE), _WIDE / 2, 130.0
    canvas.text(x, 10, name, anchor="middle", bold=True)
    canvas.ring(x, y, _RADIUS, "muted")
    for start, end in (((x - _RADIUS, y), (x + _RADIUS, y)), ((x, y - _RADIUS), (x, y + _RADIUS))):
        canvas.line([start, end], "muted", thick=0.75, arrow=False, dash="2 4")
    longest = np.linalg.norm(vectors, axis=1).max()
    named: list[float] = []
    for i, (across, up) in enumerate(vectors / longest):
        length, angle = math.hypot(across, up), math.atan2(up, across)
        if length <= _SHORT:
            continue
        canvas.line([(x, y), (x + _RADIUS * across, y - _RADIUS * up)], "first", thick=LINE)
        if all(abs(math.remainder(angle - other, math.tau)) > 0.2 for other in named):
            reach = _RADIUS + 14
            place = x + reach * math.cos(angle), y - reach * math.sin(angle)
            canvas.text(*place, str(i + 1), anchor="middle", size=SMALL)
            named.append(angle)
    canvas.dot(x, y, "ink", 2 + THIN)
    canvas.text(x, 242, f"largest overlap {overlap:.2f}", anchor="middle", size=SMALL, role="muted")
    return canvas
