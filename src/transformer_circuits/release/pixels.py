"""The values of a heat map, from the pixels of its picture: nothing else in a figure has them."""

import struct
import zlib

import numpy as np
from jaxtyping import UInt8

GRID = 16
"""A heat map is looked at in so many rows and columns of pixels."""
_RGBA = bytes([8, 6, 0, 0, 0])
"""Eight bits each of red, green, blue and opacity, as plots have them."""


def decoded(png: bytes) -> UInt8[np.ndarray, "y x rgba"]:
    """The pixels of a PNG picture.

    Raises:
        ValueError: if it is not one of eight bits, with red, green, blue and opacity, or damaged.
    """
    width, height, kind = struct.unpack(">II5s", png[16:29])
    if kind != _RGBA:
        raise ValueError(f"a picture of eight-bit RGBA is wanted, not one with header {kind!r}")
    at, parts = 8, []
    while at < len(png):
        size, name = struct.unpack(">I4s", png[at : at + 8])
        parts += [png[at + 8 : at + 8 + size]] if name == b"IDAT" else []
        at += size + 12
    rows = np.frombuffer(zlib.decompress(b"".join(parts)), np.uint8).reshape(height, -1)
    before, found = np.zeros((width, 4), int), []
    for row in rows:
        before = _unfiltered(int(row[0]), row[1:].reshape(width, 4).astype(int), before)
        found.append(before)
    return np.stack(found).astype(np.uint8)


def _unfiltered(kind: int, row: np.ndarray, above: np.ndarray) -> np.ndarray:
    """A row of pixels, which PNG keeps as differences from those to the left and above, [x, rgba]."""
    if kind in (0, 2):
        return (row + above * (kind == 2)) % 256
    if kind == 1:
        return row.cumsum(axis=0) % 256
    found, left, corner = [], np.zeros(4, int), np.zeros(4, int)
    for pixel, up in zip(row, above, strict=True):
        near = (left + up) // 2 if kind == 3 else _nearest(left, up, corner)
        left, corner = (pixel + near) % 256, up
        found.append(left)
    return np.stack(found)


def _nearest(left: np.ndarray, up: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Of the three, which is nearest to left + up - corner, channel by channel: Paeth's choice."""
    a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    return np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))


def heat(png: bytes) -> list[float]:
    """Shades of a heat map on a grid of at most `GRID` x `GRID` pixels, row by row, -255 to 255.

    Its colours differ in opacity, 0 where there is nothing. Red counts above zero, blue below.

    Raises:
        ValueError: as `decoded`.
    """
    picture = decoded(png).astype(float)
    places = [
        (np.arange(min(GRID, n)) + 0.5) * n / min(GRID, n) for n in picture.shape[:2]
    ]  # the middles of as many equal parts
    chosen = picture[np.ix_(*(each.astype(int) for each in places))]
    return (
        np.where(chosen[..., 0] >= chosen[..., 2], chosen[..., 3], -chosen[..., 3]).ravel().tolist()
    )
