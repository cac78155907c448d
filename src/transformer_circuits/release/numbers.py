"""The numbers in what an executed chapter shows: those printed, those in a figure's data, the words.

*Printed* numbers stand in a table, a caption or a text alternative, with as many digits as there is
room for. *Data* are what a chart or a view is drawn from, in full. Words are all the rest.
"""

import base64
import hashlib
import json
import re
import zlib
from binascii import Error as NotBase64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np

from transformer_circuits.release import pixels

MOST = 300
"""Series of data that are longer are kept as a summary."""
SOME = 50
"""How many of its numbers a summary keeps."""
MOST_WORDS = 600
"""Words that are more characters are kept as a digest."""
STEPS = " (whole steps)"
"""Behind the name of a series that was rounded to whole numbers before it was kept, so that any of
them may differ by one."""
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\d)")
_HEAD = re.compile(r"(?<!\()(?<!to )[01]\.[0-7](?! to)")
"""A head is called by its layer and its place there, 1.4, and that is no number. An end of an
interval, (0.5 to 0.7), is."""
MEASURED_HERE = "[s]"
"""At the end of a column's heading: how long something took here, which no other machine repeats."""
_COORDINATE = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass
class Shown:
    """What an output shows."""

    title: str = ""
    """Its caption."""
    words: list[str] = field(default_factory=list)
    printed: dict[str, list[str]] = field(default_factory=dict)
    """Numbers as they are printed, by their column or their place in data; those in sentences
    under ""."""
    data: dict[str, list[float]] = field(default_factory=dict)
    """Numbers that a figure is drawn from, by their place in its data."""

    def say(self, text: str, place: str = "") -> None:
        """Take a text apart into words and numbers; in the words, # stands for a number."""

        def take(found: re.Match) -> str:
            if _HEAD.match(found.string, found.start()) and len(found[0]) == 3:
                return found[0]
            self.printed.setdefault(place, []).append(found[0].replace("−", "-"))
            return "#"

        self.words.append(_NUMBER.sub(take, " ".join(text.split())))

    def put(self, value: object, place: str) -> None:
        """Take in what a script is given: numbers as data, and texts as words."""
        if isinstance(value, dict):
            for name in sorted(value):
                self.put(value[name], f"{place}.{name}".strip("."))
        elif isinstance(value, list):
            for each in value:
                self.put(each, place)
        elif isinstance(value, str):
            if (numbers := _unpacked(value, place)) is None:
                self.say(value, place)
            else:
                self.data.setdefault(place + STEPS, []).extend(numbers)
        elif type(value) in (int, float):
            self.data.setdefault(place, []).append(float(value))
        else:  # true, false, null
            self.words.append(str(value))

    def put_rows(self, rows: list[dict]) -> None:
        """Take in the rows of a chart, one for each mark, which have no order: column by column."""
        own = Shown()
        for row in rows:
            own.put(row, "")
        self.words += sorted(own.words)
        printed = {f"{name}, printed": map(float, of) for name, of in own.printed.items()}
        for column, numbers in {**own.data, **printed}.items():
            self.data.setdefault(column, []).extend(sorted(numbers))

    @property
    def kept(self) -> dict:
        """What the manifest keeps of it."""
        words = " ".join(filter(None, self.words))
        found = {
            "words": words if len(words) <= MOST_WORDS else f"sha256 {digest(words)}",
            "printed": {name: " ".join(numbers) for name, numbers in self.printed.items()},
            "data": {name: summary(numbers) for name, numbers in self.data.items()},
        }
        return {part: of for part, of in found.items() if of or part == "words"}


def _unpacked(text: str, place: str) -> list[float] | None:
    """The numbers of an array that `figures.views.view.packed` made a text of; None of any other."""
    if len(text) < 12 or not re.fullmatch(r"[A-Za-z0-9+/]+=*", text):
        return None
    try:
        content = zlib.decompress(base64.b64decode(text, validate=True))
    except (zlib.error, NotBase64):
        return None
    # `views.circuits` packs entries of two bytes; the patterns of the others have one.
    kind = "<i2" if place.endswith("entries") else "u1"
    return np.frombuffer(content, kind).astype(float).tolist()


def digest(text: str) -> str:
    """The first 16 hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def rounded(values: Iterable[float]) -> list[float]:
    """Numbers to six significant digits."""
    return [float(f"{value:.6g}") for value in values]


def summary(values: Sequence[float]) -> list[float] | dict:
    """A series of data, rounded; of more than `MOST` numbers, what tells it from another.

    That is how many there are, a digest of them all in full, the least, the most and the mean, and
    `SOME` of them, evenly spread from the first to the last.
    """
    if len(values) <= MOST:
        return rounded(values)
    places = np.linspace(0, len(values) - 1, SOME).round().astype(int)
    return {
        "n": len(values),
        "digest": digest(" ".join(map(repr, values))),
        "range and mean": rounded([min(values), max(values), float(np.mean(values))]),
        "some": rounded(values[place] for place in places),
    }


class _Reader(HTMLParser):
    """Reads the HTML that our figures and tables are shown as."""

    def __init__(self):
        super().__init__()
        self.shown = Shown()
        self._open: list[str] = []
        self._classes: list[str] = []
        self._columns: list[str] = []
        self._column = 0
        self._cell: list[str] | None = None

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag not in ("img", "br", "col", "input"):  # these are never closed
            self._open.append(tag)
            self._classes.append(given.get("type" if tag == "script" else "class") or "")
        if tag == "tr":
            self._column = 0
        if tag in ("td", "th", "figcaption", "caption"):
            self._cell = []
        if tag in ("div", "img", "svg"):
            self.shown.say(given.get("aria-label") or given.get("alt") or "")
        if self._within("circuit-plot") and not self._within("hover-chart"):
            self._draw(tag, given)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in ("img", "br", "col", "input"):
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if self._cell is not None and tag in ("td", "th", "figcaption", "caption"):
            self._put_cell(tag, "".join(self._cell))
            self._cell = None
        if tag in self._open:
            while self._open.pop() != tag:
                self._classes.pop()
            self._classes.pop()

    def handle_data(self, data):
        inside = self._open[-1] if self._open else ""
        if inside == "script":
            if self._classes[-1] == "application/json":  # else it is what moves the figure
                self._put_script(json.loads(data))
        elif self._cell is not None:
            self._cell.append(data)
        elif inside != "style" and not self._within("hover-chart"):
            self.shown.say(data)

    def _within(self, name: str) -> bool:
        return name in self._classes

    def _put_cell(self, tag: str, text: str) -> None:
        if tag in ("figcaption", "caption"):
            self.shown.title = self.shown.title or text
            return
        if "thead" in self._open:
            self._columns[self._column :] = [text]
        column = self._columns[self._column] if self._column < len(self._columns) else ""
        if tag == "td" and column.endswith(MEASURED_HERE):
            pass
        elif tag == "td" and self._classes[-1] == "number":
            self.shown.printed.setdefault(column, []).append(text.strip())
        else:
            self.shown.say(text)
        self._column += 1

    def _put_script(self, given: dict) -> None:
        if "vega" in given.get("$schema", ""):
            for table in given["data"]:
                self.shown.put_rows(table.get("values", []))
        else:
            self.shown.put(given, "")

    def _draw(self, tag: str, given: dict[str, str]) -> None:
        """The places of a plot's curves and marks in its picture, and the shades of a heat map."""
        for name in ("d", "x", "y") if tag in ("path", "use") else ():
            found = map(float, _COORDINATE.findall(given.get(name) or ""))
            self.shown.data.setdefault("places in the picture", []).extend(found)
        if tag == "image":
            png = base64.b64decode(given["xlink:href"].partition(",")[2])
            self.shown.data.setdefault(f"shades{STEPS}", []).extend(pixels.heat(png))


def shown(output: dict) -> Shown | None:
    """What an output of an executed chapter shows; None if it is neither a figure nor a table.

    What a cell prints is left out: it may say how long something took.
    """
    if not (text := "".join(output.get("data", {}).get("text/html", ""))):
        return None
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.shown
