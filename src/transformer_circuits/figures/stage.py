"""The stage: one line of text, and what a model does with it step by step, shown as movement.

Tokens stand in a strip. A first-layer head leaves a note at each of some tokens: which token stood
before it. Then, at one place after another, heads of the second layer look back (a dotted arc,
from the place that looks to a dot at what it looks at), what they find moves to that place and
makes the next token likelier (a solid arrow), and a bar says how likely. A switch, or a choice of
several, shows another run: the same line without the head that leaves the notes, say, or another
line.

As in `plots`: numbers and labels, never a model. The strip is text of the page from the start, in
the state in which a play ends; `scripts/stage.js` moves it. On paper, without scripts, and for
programs that show no HTML, it is a drawing.
"""

import html as markup
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from transformer_circuits.figures import html, theme
from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import EYE, LOOK, Canvas
from transformer_circuits.figures.drawings.text_width import plain, width
from transformer_circuits.figures.values import Number, Numbers, array, number, percent
from transformer_circuits.record import Record

FOUND = 0.25
"""What was looked for counts as found where so much of the attention lies: heads that look at one
place each may share it so. And what comes next is told if it gets so much of the probability."""
LEAST = 0.1
"""Attention below this is not drawn."""
_LETTER = 8.5
"""Width of a letter of a token in the drawing. [pixels]"""
_WIDE = 900.0
"""The drawing's width where there is room, so that a line of text needs one line. [pixels]"""
_MARGIN = 14.0
"""What lies left of all lines of the drawing: there an arc goes from one to another. [pixels]"""
_OF_BARS = "How likely is each piece? Choose one to see its arcs."


@dataclass(frozen=True)
class Step:
    """What happens at one place of the line."""

    at: int
    """The place."""
    looks: Numbers
    """Attention from there to every place of the line, [src], from 0 to 1."""
    probability: Number
    """How likely the token after that place is held to be before it comes."""
    is_first: bool | None = None
    """Whether it is ranked first of all tokens; None if that is not known, and is judged by `FOUND`."""
    says: str = ""
    """What is said of it, if it is not made of its looks."""


@dataclass(frozen=True)
class Run:
    """The line as one model reads it."""

    name: str
    """"as it is", or what was done to the model."""
    steps: Sequence[Step]
    notes: Sequence[int]
    """Places that have a note of what stood before them; those that only the first run has are
    struck out in the others."""
    says: tuple[str, str, str]
    """What is said while the notes come, at the first look, and at the end."""
    tokens: Sequence[str] = ()
    """The labels of its line, if it is not that of the others."""
    two_back: Sequence[int] = ()
    """Places that also have a note of what stood two before them, left by another head."""
    unread: Sequence[int] = ()
    """Places whose note is there but not read; it is pale."""
    reading: theme.Name | None = None
    """In which of the three these are not read: "query", "key" or "value"; it stands at the notes."""


@dataclass(frozen=True)
class Stage:
    """What Jupyter shows of it."""

    record: Record
    body: str
    svg: str

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        shown = self.body + html.scripts("stage.css", "stage.js")
        return html.bundle("stage", self.record, shown, self.svg)


def stage(
    tokens: Sequence[str],
    runs: Sequence[Run],
    *,
    switch: str,
    title: str,
    in_time: bool = False,
    shown: int = 0,
    off: tuple[str, Sequence[Run]] | None = None,
    who: str = "the finders",
) -> Stage:
    """The line on its stage, with a switch between two runs of the same steps, or a choice of more.

    `tokens`: labels, of which the first is the begin token. `switch`: what the switch turns off; of
    more than two runs, what is chosen, before their names. `title`: the finding. The text
    alternative is made of the runs, which have equally many steps. `in_time`: the runs are moments of
    one training, the last first. They are chosen from the first to the last and shown as they end, and
    to play means to go through them. `shown`: the step whose looks are seen at the end, and on paper.
    `off`: what a switch beside the choice turns off, and every run without it, in their order. `who`:
    the heads that look, as the words below the line call them.

    Raises:
        ValueError: if a run has more or fewer steps than the first, and so no bar for each; if not
            every run has one without what is turned off; or if notes are not read, but it is not
            said in which reading.
    """
    turned_off, without = off or ("", ())
    if off and len(without) != len(runs):
        raise ValueError(f"there are {len(runs)} runs, but {len(without)} without {turned_off}")
    runs, chosen = [_whole(run, tokens) for run in (*runs, *without)], len(runs)
    for run in runs:
        if len(run.steps) != len(runs[0].steps):
            raise ValueError(
                f'"{run.name}" has {len(run.steps)} steps but the first run has {len(runs[0].steps)}'
            )
        if bool(run.unread) != bool(run.reading):
            raise ValueError(
                f'"{run.name}" has {len(run.unread)} notes that are not read, in the reading {run.reading}'
            )
    numbers: dict[str, object] = {}
    said = {_said(run, runs, switch): run for run in runs}
    for name, run in said.items():
        numbers[f"attention, {name}"] = np.stack([array(step.looks) for step in run.steps])
        numbers[f"probability, {name}"] = [step.probability for step in run.steps]
    alt = " ".join(_told(name, run) for name, run in said.items())
    still = page.drawing(
        _drawing(said, _WIDE, shown, in_time),
        _drawing(said, theme.TALL, shown, in_time),
        title,
        alt,
        numbers=numbers,
        words={"tokens": [token for line in _lines(runs) for token in line]},
    )
    if chosen == 2 and not in_time and not off:
        knobs = _switch(switch)
    else:
        knobs = _choice(runs[:chosen], switch, in_time, still.record.id)
        knobs += _switch(turned_off) if off else ""
    return Stage(still.record, _html(runs, knobs, in_time, shown, who, still), still.svgs[0])


def _whole(run: Run, tokens: Sequence[str]) -> Run:
    """A run that has its line, and plain numbers for how likely tokens are."""
    steps = [replace(step, probability=number(step.probability)) for step in run.steps]
    return replace(run, steps=steps, tokens=tuple(run.tokens or tokens))


def _lines(runs: Sequence[Run]) -> dict[Sequence[str], Run]:
    """The lines of the runs, each with its first run."""
    lines: dict[Sequence[str], Run] = {}
    for run in runs:
        lines.setdefault(run.tokens, run)
    return lines


def _said(run: Run, runs: Sequence[Run], switch: str) -> str:
    """A run's name where no switch stands beside it."""
    return run.name if len(runs) == 2 else f"{switch} {run.name}"


def _told(name: str, run: Run) -> str:
    """A run in words."""
    tokens = run.tokens
    noted = ", ".join(
        [f"{tokens[k]} after {tokens[k - 1]}" for k in run.notes]
        + [f"{tokens[k]} two after {tokens[k - 2]}" for k in run.two_back]
    )
    each = []
    for step in run.steps:
        found = _found(step, tokens)
        each.append(
            f"at {tokens[step.at]} heads look at {tokens[found]} "
            f"({percent(array(step.looks)[found])}), which stands after "
            f"{tokens[found - 1] if found else 'nothing'}; then {tokens[step.at + 1]} is "
            f"{percent(step.probability)} likely"
        )
    noted = noted and f"notes say {noted}; "
    if run.unread:
        unread = ", ".join(f"{tokens[k]} after {tokens[k - 1]}" for k in run.unread)
        noted += f"{_not_read(run)} are {unread}; "
    return f"{name}: {noted}{'; '.join(each)}."


def _not_read(run: Run) -> str:
    """What stands at notes that are not read."""
    plural = {"query": "queries", "key": "keys", "value": "values"}
    return f"not in {plural[run.reading]}" if run.reading else ""


def words_of(tokens: Sequence[str]) -> list[list[int]]:
    """The places of the line by word: the begin token, and what follows without a space."""
    found: list[list[int]] = []
    for place, label in enumerate(tokens):
        if place < 2 or label.startswith("␣"):
            found.append([])
        found[-1].append(place)
    return found


def _of_name(run: Run) -> set[int]:
    """The places of the name, both times: of words that have notes, or places of steps."""
    told = {*run.notes} | {step.at + more for step in run.steps for more in (0, 1)}
    return {place for word in words_of(run.tokens) if told & {*word} for place in word}


def _data(run: Run, runs: Sequence[Run], in_time: bool) -> dict:
    steps, lost = [], set()
    if not in_time:  # not yet there is not lost
        lost = {*_lines(runs)[run.tokens].notes} - {*run.notes}
    for step in run.steps:
        looks = array(step.looks)
        shown = np.flatnonzero(looks > min(LEAST, looks.max() / 2))  # the strongest, in any case
        drawn = [[int(src), round(float(looks[src]), 4)] for src in shown]
        found = _found(step, run.tokens)
        steps.append(
            {"at": step.at, "looks": drawn, "found": found, "finds": _finds(step, found)}
            | {"p": round(step.probability, 4), "tells": _tells(step, run.tokens)}
            | ({"says": step.says} if step.says else {})
            | ({"first": True} if step.is_first else {})
        )
    said = {"notes": [*run.notes], "struck": sorted(lost), "unread": [*run.unread]}
    said |= {"reading": run.reading or "", "notRead": _not_read(run)}
    said |= {"says": [*run.says], "steps": steps}
    return said | {"line": [*_lines(runs)].index(run.tokens)}


def _strip(run: Run, hidden: bool) -> str:
    """The line of a run as text of the page."""
    tokens, noted, strip = run.tokens, {*run.notes}, ""
    of_name = _of_name(run)
    for word in words_of(tokens):  # lines break between words, not inside them
        strip += '<span class="word">'
        for place in word:
            kind = "token" + " piece" * (place in of_name) + " noted" * (place in noted)
            kind += " wide-note" * (place in noted and len(plain(tokens[place - 1]).strip()) > 3)
            strip += f'<span class="{kind}">{markup.escape(plain(tokens[place]))}'
            if place in noted:
                strip += _note("note", "after", tokens[place - 1])
            if place in run.two_back:
                strip += _note("note further", "2 back", tokens[place - 2])
            strip += "</span>"
        strip += "</span>"
    line = markup.escape("".join(tokens[1:]).replace("␣", " ").strip())
    deep = " deep" * bool(run.two_back)
    return (
        f'<div class="strip{deep}" role="img" aria-label="{line}"{" hidden" * hidden}>{strip}</div>'
    )


def _note(kind: str, said: str, before: str) -> str:
    """A note below a token."""
    word = markup.escape(plain(before))
    return f'<span class="{kind}" aria-hidden="true"><span>{said}</span> <b>{word}</b></span>'


def _html(
    runs: Sequence[Run], knobs: str, in_time: bool, shown: int, who: str, still: page.Drawing
) -> str:
    """The strip and its bars, in the state in which a play of the first run ends."""
    run, *_ = runs
    strips = "".join(
        _strip(first, hidden=index > 0) for index, first in enumerate(_lines(runs).values())
    )
    ranks, bars = any(step.is_first is not None for step in run.steps), []
    for step in run.steps:
        rank = " 1st" if step.is_first else "\u00a0" * 4 * ranks  # numbers stay below each other
        word = markup.escape(plain(run.tokens[step.at + 1]))
        bars.append(
            f'<li><button type="button"><b>{word}</b><i style="--p:{100 * step.probability:.0f}%"></i>'
            f"<output>{percent(step.probability)}{rank}</output></button></li>"
        )
    # What the marks mean that the bars of other runs of a line have where those of its first one end.
    before = "at the end" if in_time else "as it was"
    compared = len(_lines(runs)) < len(runs)
    was = f'<li class="was" style="visibility:hidden">{before}</li>' * compared
    played = [_data(each, runs, in_time) for each in runs]
    data = html.data_script({"runs": played, "shown": shown, "who": who})
    ranked = " 1st: ranked before all other tokens." * ranks
    play = "▶ Watch it grow" if in_time else "Play again"
    step = "" if in_time else '<button type="button" class="next">Next step</button>'
    return (
        f'<figure id="{still.record.id}" class="circuit-stage"{" data-in-time" * in_time} data-stage>'
        f"<style>{theme.style('circuit-stage')}</style>"
        f'<div class="moving">{strips}<p class="arc-words" aria-hidden="true"></p>'
        f'<div class="below"><div class="spoken"><p class="says" aria-live="polite">{run.says[2]}</p>'
        f'<div class="knobs">{knobs}'
        f'<span class="plays"><button type="button" class="play">{play}</button>{step}</span></div></div>'
        f'<div class="likely"><p class="of-bars" aria-hidden="true">{_OF_BARS}{ranked}</p>'
        f'<ol class="bars{" ranked" * ranks}" aria-label="How likely each piece of the name is">{"".join(bars)}{was}</ol></div>'
        "</div></div>"
        "<noscript><style>figure.circuit-stage .moving{display:none}figure.circuit-stage .still{display:block}"
        f'</style></noscript><div class="still">{still.body}</div>'
        f"<figcaption>{markup.escape(still.record.title)}</figcaption>{data}</figure>"
    )


def _choice(runs: Sequence[Run], switch: str, in_time: bool, name: str) -> str:
    """Buttons for the runs, of which one is pressed."""
    choices = "".join(
        f'<label><input type="radio" name="{name}" value="{index}"{" checked" * (index == 0)}>'
        f"<span>{markup.escape(run.name)}</span></label>"
        for index, run in (reversed if in_time else list)([*enumerate(runs)])
    )
    return f'<fieldset class="choice"><legend>{markup.escape(switch)}</legend>{choices}</fieldset>'


def _switch(what: str) -> str:
    """Turns something off and on."""
    return (
        '<button type="button" role="switch" aria-checked="true">'
        f'<span class="knob" aria-hidden="true"></span>{markup.escape(what)}</button>'
    )


def _drawing(runs: Mapping[str, Run], room: theme.Px, shown: int, in_time: bool) -> Canvas:
    """The end of a play as one picture: a look of the first run, what it moves, and what each run brings.

    `runs`: by what is said of them.
    """
    canvas, run = Canvas(room), next(iter(runs.values()))
    tokens, noted, first = run.tokens, {*run.notes}, run.steps[shown]
    found = _found(first, tokens)
    marked = {first.at}
    if _finds(first, found):
        marked |= {found}
    if _tells(first, tokens):
        marked |= {first.at + 1}
    of_name = _of_name(run)
    deep = 40.0 if run.two_back else 0.0
    at: list[tuple[float, float, float]] = []  # left, top and width of every token
    x, top = _MARGIN, 54.0
    for word in words_of(tokens):
        widths = []
        for place in word:
            boxed = place in of_name
            least = 42.0 if place in noted else 0.0
            letters = _LETTER * len(plain(tokens[place]))
            widths.append(max(letters + (12 if boxed else 0), least))
        if x + sum(widths) + 4 * len(widths) > room:
            x, top = _MARGIN, top + 92 + deep
        for place, wide in zip(word, widths, strict=True):
            boxed, words = place in of_name, plain(tokens[place])
            if boxed:
                role = "second" if place in marked else "muted"
                canvas.token(x, top, wide, 28, words, role=role, here=place == first.at)
            else:
                canvas.text(x, top + 14, words, mono=True)
            if place in noted:
                canvas.after(x + wide / 2, top + 28, plain(tokens[place - 1]))
            if place in run.two_back:
                canvas.after(x + wide / 2, top + 28 + deep, plain(tokens[place - 2]), two=True)
            at.append((x, top, wide))
            x += wide + (4 if boxed else 1)
        x += 9
    _arcs(canvas, [(x + wide / 2, y) for x, y, wide in at], first, found, tokens)
    words, line = (18.0, 28.0) if room == _WIDE else (theme.TEXT, 24.0)  # on paper it is smaller
    below = at[-1][1] + 96 + deep - line
    key = [f"Drawn: {next(iter(runs))}.", "Dotted: looks. Solid: moves."]
    key = [" ".join(key)] if room == _WIDE else key
    for said in (*key, "How likely each piece is, before it comes"):
        below += line
        canvas.text(0, below, said, size=words, role="muted")
    first_column = 0.0 if room < _WIDE else 20 + max(width(name, words) for name in runs)
    for name, each in (reversed if in_time else list)(runs.items()):
        below += line
        canvas.text(0, below, name, size=words)
        if not first_column:  # a phone has no room beside the name
            below += 20
        for k, step in enumerate(each.steps):
            said = f"{plain(each.tokens[step.at + 1])} {percent(step.probability)}"
            canvas.text(first_column + 6 * words * k, below, said, size=words, mono=True)
    return canvas


def _found(step: Step, tokens: Sequence[str]) -> int:
    """Where what comes next was found, if a quarter of the look lies there, else where most of it lies."""
    looks = array(step.looks)
    right = [plain(token) == plain(tokens[step.at + 1]) for token in tokens]
    found = looks * (np.array(right) & (looks >= FOUND))
    return int((found if found.any() else looks).argmax())


def _finds(step: Step, found: int) -> bool:
    """Whether that much of the look lies there; to rest on the begin token is not to find it."""
    return found > 0 and bool(array(step.looks)[found] >= FOUND)


def _brings(step: Step, tokens: Sequence[str]) -> bool:
    """Whether what was found is what comes next: the begin token brings nothing."""
    return plain(tokens[_found(step, tokens)]) == plain(tokens[step.at + 1])


def _tells(step: Step, tokens: Sequence[str]) -> bool:
    """Whether it is brought, and ranked first or likely enough to count as told."""
    is_told = step.probability >= FOUND if step.is_first is None else step.is_first
    return _brings(step, tokens) and is_told


def _arcs(
    canvas: Canvas, tops: Sequence[tuple[float, float]], step: Step, found: int, tokens
) -> None:
    """A look, and back from there what it moves; below the first line both go between the lines and
    along the margin, where no words are. `tops`: of every token, the middle of its upper edge."""
    (start, y_from), (end, y_to), (onward, _) = tops[step.at], tops[found], tops[step.at + 1]
    level = y_from == y_to == tops[0][1]  # above the first line there is room
    role: theme.Name = "second" if found else "muted"
    y_from, y_to = y_from - 3, y_to - 3
    if level:
        over = y_from - 44
        canvas.look([(start, y_from), (start, over), (end, over), (end, y_to - 2)], role)
    else:
        over, above = y_from - 12, y_to - 12
        way = [(start, y_from), (start, over), (4, over), (4, above), (end, above), (end, y_to)]
        canvas.line(way, role, dash=LOOK, arrow=False)
        canvas.dot(end, y_to, role, EYE)
    if not _brings(step, tokens):
        return
    away, back, hop = end + 9, start - 8, min(y_from - 16, over + 4)
    if level:
        over = y_from - 28
        canvas.curve([(away, y_to), (away, over), (back, over), (back, y_from)], "second")
    else:
        over, above = y_from - 18, y_to - 18
        way = [(away, y_to), (away, above), (10, above), (10, over), (back, over), (back, y_from)]
        canvas.line(way, "second")
    if _tells(step, tokens):
        onwards = [(start + 8, y_from), (start + 8, hop), (onward, hop), (onward, y_from)]
        canvas.curve(onwards, "second")
