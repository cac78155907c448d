"""The stage: one line of text, and what a model does with it step by step, shown as movement.

Tokens stand in a strip. A first-layer head leaves a note at each of some tokens: which token stood
before it. Then, at one place after another, heads of the second layer look back (a dotted arc,
from the place that looks to what it looks at), what they find moves to the next place (along a
solid arc), and a bar says how likely the right token has become. A switch, or a choice of several,
shows the same line in another run, say without the head that leaves the notes.

As in `plots`: numbers and labels, never a model. The strip is text of the page from the start, in
the state in which a play ends; `scripts/stage.js` moves it. On paper, without scripts, and for
programs that show no HTML, it is a drawing.
"""

import html as markup
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transformer_circuits.figures import html, theme
from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import LOOK, Canvas
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.record import Record

LEAST = 0.1
"""Attention below this is not drawn."""
_LETTER = 8.5
"""Width of a letter of a token in the drawing. [pixels]"""
_MARGIN = 14.0
"""What lies left of all lines of the drawing: there an arc goes from one to another. [pixels]"""
BEGIN = "◦"
"""What the strip shows of a begin token."""


@dataclass(frozen=True)
class Step:
    """What happens at one place of the line."""

    at: int
    """The place."""
    looks: Numbers
    """Attention from there to every place of the line, [src], from 0 to 1."""
    probability: float
    """How likely the token after that place is held to be before it comes."""


@dataclass(frozen=True)
class Run:
    """The line as one model reads it."""

    name: str
    """"as it is", or what was done to the model."""
    steps: Sequence[Step]
    notes: Sequence[int]
    """Places that have a note of what stood before them."""
    says: tuple[str, str, str]
    """What is said while the notes come, at the first look, and at the end."""
    unread: Sequence[int] = ()
    """Places with a note that no search can find: they are struck out, as are those that only the
    first run has."""


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
) -> Stage:
    """The line on its stage, with a switch between two runs of the same steps, or a choice of more.

    `tokens`: labels, of which the first is the begin token. `switch`: what the switch turns off; of
    more than two runs, what is chosen, before their names. `title`: the finding. The text
    alternative is made of the runs, which have the same places. `in_time`: the runs are moments of one
    training, the last first. They are chosen from the first to the last and shown as they end, and
    to play means to go through them.
    """
    numbers: dict[str, object] = {}
    said = {_said(run, runs, switch): run for run in runs}
    for name, run in said.items():
        numbers[f"attention, {name}"] = np.stack([array(step.looks) for step in run.steps])
        numbers[f"probability, {name}"] = [step.probability for step in run.steps]
    alt = " ".join(_told(tokens, name, run) for name, run in said.items())
    still = page.twice(
        lambda width: _drawing(tokens, said, width),
        title,
        alt,
        numbers=numbers,
        words={"tokens": tokens},
    )
    return Stage(still.record, _html(tokens, runs, switch, in_time, still), still.svgs[0])


def _said(run: Run, runs: Sequence[Run], switch: str) -> str:
    """A run's name where no switch stands beside it."""
    return run.name if len(runs) == 2 else f"{switch} {run.name}"


def _told(tokens: Sequence[str], name: str, run: Run) -> str:
    """A run in words."""
    noted = ", ".join(f"{tokens[k]} after {tokens[k - 1]}" for k in run.notes)
    each = []
    for step in run.steps:
        found = int(array(step.looks).argmax())
        each.append(
            f"at {tokens[step.at]} heads look most at {tokens[found]}, which stands after "
            f"{tokens[found - 1] if found else 'nothing'}; then {tokens[step.at + 1]} is "
            f"{100 * step.probability:.0f} % likely"
        )
    noted = noted and f"notes {'that no search finds ' if run.unread else ''}say {noted}; "
    return f"{name}: {noted}{'; '.join(each)}."


def _shown(label: str) -> str:
    """A token as a person writes it."""
    return BEGIN if label == "<begin>" else label.replace("␣", " ")


def words_of(tokens: Sequence[str]) -> list[list[int]]:
    """The places of the line by word: the begin token, and what follows without a space."""
    found: list[list[int]] = []
    for place, label in enumerate(tokens):
        if place < 2 or label.startswith("␣"):
            found.append([])
        found[-1].append(place)
    return found


def _of_name(run: Run) -> set[int]:
    """The places of the name, both times: those with notes and the one before each, and the steps'."""
    noted = {place + more for place in run.notes for more in (-1, 0)}
    return noted | {step.at + more for step in run.steps for more in (0, 1)}


def _data(run: Run, first: Run, in_time: bool) -> dict:
    lost = set() if in_time else {*first.notes} - {*run.notes}  # not yet there is not lost
    steps, struck = [], lost | {*run.unread}
    for step in run.steps:
        looks = array(step.looks)
        shown = np.flatnonzero(looks > min(LEAST, looks.max() / 2))  # the strongest, in any case
        drawn = [[int(src), round(float(looks[src]), 3)] for src in shown]
        steps.append({"at": step.at, "looks": drawn, "p": round(float(step.probability), 4)})
    notes = [place for place in run.notes if place not in struck]
    return {"notes": notes, "struck": sorted(struck), "says": [*run.says], "steps": steps}


def _html(
    tokens: Sequence[str], runs: Sequence[Run], switch: str, in_time: bool, still: page.Drawing
) -> str:
    """The strip and its bars, in the state in which a play of the first run ends."""
    run, *_ = runs
    noted, strip = {*run.notes}, ""
    of_name = _of_name(run)
    for word in words_of(tokens):  # lines break between words, not inside them
        strip += '<span class="word">'
        for place in word:
            kind = "token" + " piece" * (place in of_name) + " noted" * (place in noted)
            strip += f'<span class="{kind}">{markup.escape(_shown(tokens[place]).strip())}'
            if place in noted:
                before = markup.escape(_shown(tokens[place - 1]).strip())
                strip += f'<span class="note" aria-hidden="true">after <b>{before}</b></span>'
            strip += "</span>"
        strip += "</span>"
    bars = []
    for step in run.steps:
        word = markup.escape(tokens[step.at + 1])
        share = round(100 * step.probability)
        bars.append(
            f'<li><button type="button"><b>{word}</b><i style="--p:{share}%"></i>'
            f"<output>{share} %</output></button></li>"
        )
    # What the marks mean that the bars of other runs have where those of the first one end.
    before = "at the end" if in_time else "before the cut"
    was = f'<li class="was" style="visibility:hidden">{before}</li>'
    data = html.data_script({"runs": [_data(each, run, in_time) for each in runs]})
    play = "▶ Watch it grow" if in_time else "Play again"
    line = markup.escape("".join(map(_shown, tokens[1:])).strip())
    strip_html = f'<div class="strip" role="img" aria-label="{line}">{strip}</div>'
    return (
        f'<figure id="{still.record.id}" class="circuit-stage"{" data-in-time" * in_time} data-stage>'
        f"<style>{theme.style('circuit-stage')}</style>"
        f'<div class="moving">{strip_html}'
        f'<div class="below"><p class="says" aria-live="polite">{run.says[2]}</p>'
        f'<ol class="bars" aria-label="How likely each piece of the name is">{"".join(bars)}{was}</ol>'
        f'</div><div class="knobs">{_knob(runs, switch, in_time, still.record.id)}'
        f'<button type="button" class="play">{play}</button></div></div>'
        "<noscript><style>figure.circuit-stage .moving{display:none}figure.circuit-stage .still{display:block}"
        f'</style></noscript><div class="still">{still.body}</div>'
        f"<figcaption>{markup.escape(still.record.title)}</figcaption>{data}</figure>"
    )


def _knob(runs: Sequence[Run], switch: str, in_time: bool, name: str) -> str:
    """What chooses the run: a switch between two, buttons of which one is pressed for more."""
    said = markup.escape(switch)
    if len(runs) == 2 and not in_time:
        return (
            '<button type="button" role="switch" aria-checked="true">'
            f'<span class="knob" aria-hidden="true"></span>{said}</button>'
        )
    choices = "".join(
        f'<label><input type="radio" name="{name}" value="{index}"{" checked" * (index == 0)}>'
        f"<span>{markup.escape(run.name)}</span></label>"
        for index, run in (reversed if in_time else list)([*enumerate(runs)])
    )
    return f'<fieldset class="choice"><legend>{said}</legend>{choices}</fieldset>'


def _drawing(tokens: Sequence[str], runs: Mapping[str, Run], room: theme.Px) -> Canvas:
    """The end of a play as one picture: the first look of the first run, and what each run brings.

    `runs`: by what is said of them.
    """
    canvas, run = Canvas(room), next(iter(runs.values()))
    noted, pieces = {*run.notes}, {step.at + 1 for step in run.steps}
    of_name = _of_name(run)
    at: list[tuple[float, float, float]] = []  # left, top and width of every token
    x, top = _MARGIN, 40.0
    for word in words_of(tokens):
        wide = []
        for place in word:
            boxed = place in of_name
            least = 42.0 if place in noted else 0.0
            letters = _LETTER * len(_shown(tokens[place]).strip())
            wide.append(max(letters + (12 if boxed else 0), least))
        if x + sum(wide) + 4 * len(wide) > room:
            x, top = _MARGIN, top + 92
        for place, width in zip(word, wide, strict=True):
            boxed, words = place in of_name, _shown(tokens[place]).strip()
            if boxed:
                role = "second" if place in pieces else "ink"
                canvas.box(x, top, width, 28, [words], mono=True, role=role)
            else:
                canvas.text(x, top + 14, words, mono=True)
            if place in noted:
                below = {"role": "first", "size": theme.SMALL, "anchor": "middle"}
                canvas.text(x + width / 2, top + 40, "after", **below)
                before = _shown(tokens[place - 1]).strip()
                canvas.text(x + width / 2, top + 55, before, mono=True, **below)
            at.append((x, top, width))
            x += width + (4 if boxed else 1)
        x += 9
    first = run.steps[0]
    (x_from, y_from, w_from), found = at[first.at], int(array(first.looks).argmax())
    x_to, y_to, w_to = at[found]
    start, end = x_from + w_from / 2, x_to + w_to / 2
    if y_from == y_to == at[0][1]:
        over = y_from - 34
        canvas.look([(start, y_from), (start, over), (end, over), (end, y_to)], "second")
    else:  # between the lines and along the margin, where no words are
        over, above = y_from - 14, y_to - 14
        way = [(start, y_from), (start, over), (4, over), (4, above), (end, above), (end, y_to)]
        canvas.line(way, "second", dash=LOOK)
    below = at[-1][1] + 86
    for name, each in runs.items():
        shares = ", ".join(
            f"{tokens[step.at + 1]} {100 * step.probability:.0f} %" for step in each.steps
        )
        below = canvas.note(0, below, f"{name}: {shares}", room) + 6
    return canvas
