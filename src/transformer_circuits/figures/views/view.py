"""Interactive view: its data, its words, its picture, and its script."""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from transformer_circuits.figures import html, matplotlib_figure, tables
from transformer_circuits.record import PNG, Record

MOST_BYTES = 1_000_000
"""Most bytes of HTML in a view; more would make its page slow."""


@dataclass(frozen=True)
class View:
    """Interactive figure. Jupyter shows it as HTML, as a PNG picture, or as its `label`.

    Raises:
        ValueError: if its HTML would be larger than `MOST_BYTES`.
    """

    kind: str
    """Name under which its script `KIND.js` registers: `attention`, `tokens` or another."""
    data: Mapping
    """Data for the script, besides the title."""
    record: Record
    """Record, whose title tells the content in words."""
    png: bytes
    """Picture for programs that show no HTML."""
    without_scripts: str
    """HTML before the script runs."""

    def __post_init__(self):
        size = len(self._body().encode())
        if size > MOST_BYTES:
            raise ValueError(
                f"the view takes {size} bytes but the most is {MOST_BYTES}: "
                "show fewer tokens or heads"
            )

    def _body(self) -> str:
        label = self.record.title
        data = html.data_script({"label": label, **self.data})
        place = f'<div class="circuit-view" data-kind="{self.kind}">'
        body = f"{place}{self.without_scripts}{data}</div>"
        return html.captioned(label, body)

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        shown = {
            "text/html": self._body() + html.scripts("views.js", f"{self.kind}.js"),
            PNG: base64.b64encode(self.png).decode(),
            "text/plain": f"[view: {self.record.title}]",
        }
        return shown, self.record.metadata


def with_table(kind: str, data: Mapping, record: Record, table: tables.Table) -> View:
    """View that is a table until its script runs, and for programs that show no HTML."""
    png = matplotlib_figure.text_picture(table.as_text.splitlines(), across=False)
    return View(kind, data, record, png, table.as_html)


def packed(values: np.ndarray) -> str:
    """Bytes of an array, compressed, as text that the scripts inflate."""
    return base64.b64encode(zlib.compress(values.tobytes(), 9)).decode()
