"""A paragraph of the short book that sets the stage, with its marked sentences; and the stage itself.

A sentence and its condition are given once, in the cell. Here every mark is decided when the cell runs,
and a page decides it anew whenever its reader changes what is shown.
"""

import html as markup
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from transformer_circuits import book, files
from transformer_circuits.figures import html, theme
from transformer_circuits.record import SVG, Record
from transformer_circuits.stage import still
from transformer_circuits.stage.marks import (
    EVERY,
    NEXT,
    NONE,
    Condition,
    Likely,
    Verdict,
    not_there,
)
from transformer_circuits.stage.reading import FOLDERS, Reading
from transformer_circuits.training import checkpoint

OPENS = ("board", "column", "training", "unsure")
"""Panels that a paragraph unfolds: who adds what to the next piece; what a head says of the token that it
looks at ("column 1.0" says which head); moments of the training; the other two seeds."""
SIGNS = {True: "✓", False: "✗", None: "–"}
CLASSES = {True: "yes", False: "no", None: "none"}
_MARKED = re.compile(r"\[([^\]]+)\]\{(\w+)\}")
_STYLE = (
    f".step .holds{{border-bottom:1px solid currentColor}}.step .sign{{font-weight:700;margin-left:.2em;"
    f"color:{theme.ROLES['key'].light}}}.step .no .sign,.step .none .sign{{color:{theme.MORE.light}}}"
)
"""Style for Jupyter, where a page brings none of its own."""


@dataclass(frozen=True)
class Shown:
    """Output of a cell: a paragraph or the stage, as Jupyter shows it."""

    record: Record
    html: str
    svg: str = ""
    """The drawing, if that is all there is where no HTML is shown."""

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        if self.svg:
            return html.bundle("stage", self.record, self.html, self.svg)
        shown = {"text/html": self.html, "text/plain": self.record.text}
        return shown, self.record.metadata


def stage(reading: Reading, title: str = "", opens: str | None = None) -> Shown:
    """The stage in the state of a reading, which a page's script wakes up; see `step` for `opens`.

    `title`: what its drawing shows, for paper and where no script runs.
    """
    drawing = still.drawn(reading, title)
    figure = drawing.record
    record = Record(
        "stage",
        figure.title,
        figure.text,
        numbers=figure.numbers,
        words=figure.words,
        picture=SVG,
        details={"state": reading.state, "opens": opens, "code": reading.code},
    )
    _brought.setdefault(None, set())
    shown = (
        f'<figure class="the-stage" id="{record.id}" data-stage-strip{_data(reading, opens)}>'
        f'<div class="still">{drawing.body}</div>'
        f"<figcaption>{markup.escape(record.title)}</figcaption>{_known(reading, opens)}</figure>"
    )
    return Shown(record, shown, drawing.svgs[0])


_brought: dict[tuple | None, set[str]] = {}
"""Results that this page has brought of the states that it sets, each once: of a line of code, and of what is
unfolded, the tokens asked about; None stands for the stage. A page is one kernel."""


def new_page() -> None:
    """Forget what a page has brought: what comes next is on another, in the same Python."""
    _brought.clear()


def step(reading: Reading, text: str, opens: str | None = None, **marks: Condition) -> Shown:
    """A paragraph that sets the state of the stage, with its marked sentences decided.

    `text`: *em*, **bold**, `code`, [words](page.ipynb#place) and [a sentence]{name}, which is marked with
    the condition of that name. `opens`: one of `OPENS`. The first of a page has the stage before it;
    in Jupyter, where nothing stays in sight, each has the drawing of its state below it.

    Raises:
        AssertionError: in a build, if a sentence does not hold. Elsewhere it has a cross.
        ValueError: if a sentence has no condition, or a condition no sentence.
    """
    named = [name for _, name in _MARKED.findall(text)]
    if {*named} != {*marks} or len(named) != len(marks):
        raise ValueError(f"sentences are marked {named} but conditions are given for {[*marks]}")
    if opens is not None and opens.split(" ")[0] not in OPENS:
        raise ValueError(f"opens is {opens!r} but must be one of {OPENS}")
    in_book = bool(os.environ.get(files.IN_BOOK))
    there = in_book or _is_there(reading)
    nowhere = Verdict(None, says=not_there(reading.given_at))
    verdicts = {name: one.decide(reading) if there else nowhere for name, one in marks.items()}
    sentences = {name: _plain(sentence) for sentence, name in _MARKED.findall(text)}
    wrong = [name for name, verdict in verdicts.items() if not verdict.ok]
    if wrong and in_book:
        said = "; ".join(f"{sentences[n]} ({verdicts[n].says})" for n in wrong)
        book.fails(AssertionError(f"does not hold in {reading.code}: {said}"))
    record = Record(
        "step",
        _plain(_MARKED.sub(r"\1", text)),
        _plain(_MARKED.sub(lambda found: _told(found[1], verdicts[found[2]]), text)),
        numbers={sentences[n]: v.value for n, v in verdicts.items() if v.value is not None},
        details={
            "state": reading.state,
            "opens": opens,
            "code": reading.code,
            "marks": [
                {"sentence": sentences[n], "is": marks[n].json, "ok": verdicts[n].ok} for n in marks
            ],
        },
    )
    body = f"<p>{_html(text, marks, verdicts, in_book)}</p>"
    if not in_book:
        drawing = html.captioned(reading.code, still.drawn(reading).body) if there else ""
        return Shown(record, f'<style>{_STYLE}</style><div class="step">{body}</div>{drawing}')
    before = "" if None in _brought else stage(reading, opens=opens).html
    known = _known(reading, opens, asked(marks.values(), reading))
    return Shown(record, f'{before}<div class="step"{_data(reading, opens)}>{body}{known}</div>')


def _is_there(reading: Reading) -> bool:
    """True if the place looked from is on the line; of a reader's own it may not be."""
    try:
        return reading.at >= 0
    except ValueError:
        return False


def asked(conditions: Iterable[Condition], reading: Reading) -> list[str]:
    """The tokens that conditions ask about, beside pieces of the name, as `Reading.result` takes them."""
    words = [condition.of for condition in conditions if isinstance(condition, Likely)]
    return [word for word in words if word not in (EVERY, NONE, NEXT, *reading.pieces)]


def _data(reading: Reading, opens: str | None) -> str:
    """The attributes that say the state."""
    state = markup.escape(files.as_json(reading.state, ensure_ascii=False))
    return f' data-state="{state}"' + (f' data-opens="{opens}"' if opens else "")


def _known(reading: Reading, opens: str | None, tokens: Sequence[str] = ()) -> str:
    """A script element with the result of this state, and with those of what the paragraph unfolds;
    empty where the page has brought them."""
    others: list[Reading] = []
    if opens == "training":
        kept = [*checkpoint.steps(checkpoint.folder(reading.line.folder)), None]
        others = [replace(reading, line=replace(reading.line, step=step)) for step in kept]
    if opens == "unsure":
        n = len(checkpoint.seeds(FOLDERS[reading.line.model]))
        others = [replace(reading, line=replace(reading.line, of_seed=seed)) for seed in range(n)]
    data: dict[str, Any] = {}
    if any(_is_new(one, None, tokens) for one in others):
        data["known"] = [
            {"state": one.state, "moment": still.moment(one), "result": _bring(one, None, tokens)}
            for one in others
        ]
    what = opens if opens and opens.startswith(("board", "column")) else None
    if _is_new(reading, what, tokens):
        data["result"] = _bring(reading, what, tokens)
    return html.data_script(data) if data else ""


def _is_new(reading: Reading, opens: str | None, tokens: Sequence[str]) -> bool:
    """Whether the page has not brought this result, or not these tokens with it."""
    key = (reading.code, opens)
    return key not in _brought or not {*tokens} <= _brought[key]


def _bring(reading: Reading, opens: str | None, tokens: Sequence[str]) -> dict[str, Any]:
    """A result, with all tokens that were asked about in this state so far: the last one counts."""
    asked_for = _brought.setdefault((reading.code, opens), set())
    asked_for |= {*tokens}
    return reading.result(opens, sorted(asked_for))


def _told(sentence: str, verdict: Verdict) -> str:
    """A sentence with its sign, in words alone."""
    return f"{sentence} {SIGNS[verdict.ok]}" + (f" ({verdict.says})" if not verdict.ok else "")


def _plain(text: str) -> str:
    """A text without its signs of emphasis, code and links."""
    return markup.unescape(re.sub(r"<[^>]+>", "", _emphasised(text)))


def _html(
    text: str, marks: Mapping[str, Condition], verdicts: Mapping[str, Verdict], in_book: bool
) -> str:
    """The paragraph as HTML."""

    def marked(found: re.Match) -> str:
        sentence, name = found[1], found[2]
        verdict = verdicts[name]
        condition = markup.escape(files.as_json(marks[name].json, ensure_ascii=False))
        sign = SIGNS[verdict.ok]
        if not verdict.ok:
            sign += f"\u00a0{verdict.says}"
        return (
            f'<span class="holds {CLASSES[verdict.ok]}" data-is="{condition}">{sentence}'
            f'<span class="sign">{sign}</span></span>'
        )

    return _MARKED.sub(marked, _emphasised(text, in_book))


def _emphasised(text: str, in_book: bool = False) -> str:
    """A text as HTML, but for its marks."""

    def link(found: re.Match) -> str:
        words, address = found[1], found[2]
        if in_book and "://" not in address:  # there pages are HTML
            address = re.sub(r"\.(ipynb|md)(?=#|$)", ".html", address)
        return f'<a href="{address}">{words}</a>'

    # Within code nothing else is a sign.
    parts = re.split(r"`([^`]+)`", markup.escape(text, quote=False))
    said = "\0".join(parts[::2])
    said = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", said)
    said = re.sub(r"\*(.+?)\*", r"<em>\1</em>", said)
    said = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", link, said)
    code = iter(parts[1::2])
    return re.sub("\0", lambda _: f"<code>{next(code)}</code>", said)
