"""Small pictures of figures: each a file of its own beside the built pages, for the index of figures."""

import base64
import re
from pathlib import Path

from transformer_circuits import files

FOLDER = "_static/figures"
"""Where they lie in the built book."""
_DRAWN = re.compile(r"<svg.*?</svg>", re.DOTALL)
_PIXELS = re.compile(r'src="data:image/png;base64,([^"]+)"')


def small(body: str) -> tuple[bytes, str] | None:
    """The picture in a figure's HTML and the ending of its file's name; None if it has none.

    Charts and drawings keep the colours of a light page, for a file by itself has no page. Of a
    drawing it is the wide layout, and of a view what stands there before its script runs.

    >>> small("<p>none</p>")
    """
    if drawn := _DRAWN.search(body):
        return drawn[0].encode(), ".svg"
    if pixels := _PIXELS.search(body):
        return base64.b64decode(pixels[1]), ".png"
    return None


def write(site: Path, name: str, picture: tuple[bytes, str]) -> str:
    """Write a picture under a name into the built book at `site`; returns its address from there."""
    data, ending = picture
    address = f"{FOLDER}/{name}{ending}"
    with files.atomic(site / address) as temporary:
        temporary.write_bytes(data)
    return address
