"""The stage (what a reader sees of a model that reads a line) as a drawing: the line, its notes, who looks
where, and how likely each piece is.

What Jupyter shows of a reading, and what stands in a page on paper and without scripts. It draws the
same as `website/stage/strip.js`, by the same rules (`website/stage/shown.js`).
"""

from collections.abc import Sequence
from dataclasses import replace

import torch

from transformer_circuits.figures import theme
from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import EYE, LOOK, Canvas
from transformer_circuits.figures.drawings.text_width import width
from transformer_circuits.figures.values import percent
from transformer_circuits.stage import names
from transformer_circuits.stage.names import bare
from transformer_circuits.stage.reading import Reading
from transformer_circuits.stage.reading import label as printed
from transformer_circuits.training import checkpoint

LOOKS = 0.3
"""Attention from which a look counts."""
FAINT = 0.12
"""Attention below which no arc is drawn."""
_LETTER, _MARGIN, _WIDE = 8.5, 14.0, 900.0
"""The width of a token's letter, what lies left of all lines, and the width of the wide layout. [pixels]"""
_BAR = 110.0
"""The width of a bar that says 100 %. [pixels]"""


def finders(reading: Reading) -> list[str]:
    """Induction heads on this line: last-layer heads whose attention, from some place of the repeated
    name, to the token after its first occurrence is above `LOOKS`."""
    if len(reading.patterns) < 2 or not reading.places:
        return []
    A, n = reading.patterns[-1], len(reading.places)
    ats = torch.tensor(reading.places)
    found = A[:, ats, torch.arange(n) + reading.first + 1].amax(dim=1) > LOOKS
    return [f"{len(reading.patterns) - 1}.{head}" for head in found.nonzero()[:, 0].tolist()]


def note_taker(reading: Reading) -> str | None:
    """Head of the first of two layers that looks one back with more than 0.5, on average over the name;
    None if none does."""
    if len(reading.patterns) < 2 or not reading.places:
        return None
    ats = torch.arange(len(reading.places)) + reading.first + 1
    back = reading.patterns[0][:, ats, ats - 1].mean(dim=1)
    best = int(back.argmax())
    return f"0.{best}" if back[best] > 0.5 else None


def drawn(reading: Reading, title: str = "") -> page.Drawing:
    """The drawing of a reading. `title`: what it shows; else it is said of what model and line."""
    title = title or _title(reading)
    p = {"probability": reading.likely} if reading.places else {}
    looks = {f"attention of {head}": look for head, look in looking(reading).items()}
    return page.drawing(
        _canvas(reading, _WIDE),
        _canvas(reading, theme.TALL),
        title,
        said(reading),
        numbers=p | looks,
        words={"tokens": reading.tokens, "code": [reading.code]},
    )


def moment(reading: Reading) -> str:
    """Moment of its training at which the model was as it is here, in words: by how much text it had read."""
    if reading.line.step is None:
        return "at the end of training"
    config, plan = checkpoint.settings(reading.line.folder)
    read = reading.line.step * plan.batch * config.n_ctx
    return f"after {read / 1e6:.1f} million tokens"


def _title(reading: Reading) -> str:
    """Title of a drawing that was given none."""
    model = reading.line.model.replace("_", " ").capitalize()
    if reading.line.of_seed:
        model += f", seed {reading.line.of_seed}"
    if reading.line.step is not None:
        model += f", {moment(reading)}"
    done = _done(reading)
    word = bare(reading.tokens[reading.at])
    return f"{model}{f', {done},' if done else ''} at “{word}”"


def _done(reading: Reading) -> str:
    """Heads off and edges cut, in words."""
    cuts: dict[tuple[str, str], list[str]] = {}
    for cut in reading.line.cuts:
        cuts.setdefault((cut.source, cut.into), []).append(cut.of)
    done = [f"without {_listed(reading.line.off)}"] if reading.line.off else []
    done += [f"{head} cut from the {into} of {_listed(of)}" for (head, into), of in cuts.items()]
    return "; ".join(done)


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _whole(reading: Reading) -> Reading:
    """The same line with nothing done to the model."""
    return replace(reading, line=replace(reading.line, off=(), cuts=()))


def looking(reading: Reading) -> dict[str, torch.Tensor]:
    """Attention from `at` of each head to draw: the finders, else up to three last-layer heads with
    attention above `LOOKS`; at a place with a note, the note taker."""
    whole = _whole(reading)
    found = finders(whole)
    if reading.at in _noted(reading)[0]:
        found = [note_taker(whole)]
    if not found and reading.patterns:
        last = [head for head in reading.line.heads if head[0] == str(len(reading.patterns) - 1)]
        most = {head: float(max(reading.look(head)[1:-1], default=0.0)) for head in last}
        found = sorted((h for h in last if most[h] > LOOKS), key=lambda h: -most[h])[:3]
    return {head: reading.look(head) for head in found if head not in reading.line.off}


def said(reading: Reading) -> str:
    """The reading in words: the drawing's text alternative."""
    told = []
    for head, look in looking(reading).items():
        to = int(look.argmax())
        place = "the beginning of the line" if not to else f"“{bare(reading.tokens[to])}”"
        told.append(f"{head} looks at {place} ({percent(look[to])})")
    done = _done(reading)
    parts = [f"Line: {_text(reading)}.", f"{done[0].upper()}{done[1:]}." if done else ""]
    if told:
        parts.append(f"From “{bare(reading.tokens[reading.at])}”, {_listed(told)}.")
    if reading.places:
        expected = zip(reading.pieces, reading.likely, strict=True)
        each = ", ".join(f"{piece} {percent(p)}" for piece, p in expected)
        parts.append(f"Expected, before they come: {each}.")
    else:
        parts.append(
            f"What is expected next: {', '.join(f'{word} {percent(p)}' for word, p in _next(reading))}."
        )
    return " ".join(filter(None, parts))


def _text(reading: Reading) -> str:
    return reading.text.replace("\n", "↵")


def _next(reading: Reading, n: int = 4) -> list[tuple[str, float]]:
    """The likeliest next tokens where no name comes again, and how likely they are."""
    p, tokens = reading.probabilities[reading.at].topk(n)
    return [(bare(printed(t)), float(of)) for t, of in zip(tokens.tolist(), p, strict=True)]


def _canvas(reading: Reading, room: theme.Px) -> Canvas:
    canvas = Canvas(room)
    tops, _ = _line(
        Canvas(room), reading, room, 0.0
    )  # where there is no arc no room is left for one
    tops, below = _line(canvas, reading, room, _arcs(Canvas(room), tops, reading) + 12)
    _arcs(canvas, tops, reading)
    words = 18.0 if room == _WIDE else theme.TEXT  # on paper it is smaller
    bars = [*zip(reading.pieces, map(float, reading.likely), strict=True)] or _next(reading)
    what = "each piece is, before it comes" if reading.pieces else "tokens are to come next"
    canvas.text(0, below, f"How likely {what}", size=words, role="muted")
    label = max((width(word, words, mono=True) for word, _ in bars), default=0.0) + 10
    each = label + _BAR + 8 + 3.6 * words
    columns = max(1, int(room / each))
    each = max(each, min(225.0, room / columns))
    for k, (word, p) in enumerate(bars):
        x, y = each * (k % columns), below + 26 * (1 + k // columns)
        canvas.text(x, y, word, size=words, mono=True)
        canvas.parts.append(_bar(x + label, y - 6, p))
        canvas.text(x + label + _BAR + 8, y, percent(p), size=words, mono=True)
    return canvas


def _bar(x: float, y: float, p: float) -> str:
    """A bar in the colour of probability, on its track."""
    parts = (_BAR, "var(--muted);fill-opacity:.16"), (_BAR * p, theme.LIKELY.light)
    return "".join(
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="12" rx="3" style="fill:{fill}"/>'
        for wide, fill in parts
    )


def _noted(reading: Reading) -> tuple[set[int], str]:
    """The places of the name, when it came first, that have a note; and what became of the notes."""
    whole = _whole(reading)
    taker = note_taker(whole)
    if taker is None or taker in reading.line.off:
        return set(), ""
    name = range(reading.first + 1, reading.first + len(reading.name))
    A = whole.patterns[0][int(taker[2:])]
    read = [cut.into for cut in reading.line.cuts if cut.source == taker]
    return {k for k in name if A[k, k - 1] > 0.5}, "cut" if "keys" in read else ""


def _line(
    canvas: Canvas, reading: Reading, room: theme.Px, top: float
) -> tuple[list[tuple[float, float]], float]:
    """The tokens with their notes, from `top` on. Of every token the middle of its upper edge; and where
    more fits."""
    tokens, n = reading.tokens, len(reading.name)
    first = range(reading.first, reading.first + n)
    noted, fate = _noted(reading)
    tops: list[tuple[float, float]] = []
    x, deep = _MARGIN, 0.0
    for word in names.words(tokens):
        wides = [
            max(_LETTER * len(bare(tokens[k])) + 12, 42.0 if k in noted else 0.0) for k in word
        ]
        if x + sum(wides) + 3 * len(wides) > room and x > _MARGIN:
            x, top, deep = _MARGIN, top + 66 + deep, 0.0
        for k, wide in zip(word, wides, strict=True):
            label, middle = bare(tokens[k]), x + wide / 2
            if k == reading.at:
                role = "second" if len(reading.patterns) > 1 else "first"
                canvas.token(x, top, wide, 28, label, role=role, here=True)
            elif n and (k in first or k in reading.name):
                canvas.token(x, top, wide, 28, label)
            else:
                canvas.text(middle, top + 14, label, anchor="middle", mono=True)
            if k in noted:
                deep = 40.0
                canvas.after(middle, top + 28, bare(tokens[k - 1]))
                if fate:
                    canvas.line([(x, top + 60), (x + wide, top + 40)], "ink", arrow=False)
            tops.append((middle, top))
            x += wide + 3
        x += 5
    return tops, top + deep + 56


def _arcs(canvas: Canvas, tops: Sequence[tuple[float, float]], reading: Reading) -> float:
    """Who looks where from `at`: a dotted arc to each place, the heads named that look there; and
    solid, back from there, what is moved, if that is the next token. How far it reaches up over the
    line."""
    (start, y), at = tops[reading.at], reading.at
    lookers: dict[int, dict[str, float]] = {}
    for head, look in looking(reading).items():
        for to, share in enumerate(look.tolist()):
            if share >= FAINT and to != at:
                lookers.setdefault(to, {})[head] = share
    level = y == tops[0][1]  # above the first line there is room for curves
    high = max((min(52.0, 14 + abs(start - tops[to][0]) / 9) for to in lookers), default=0.0)
    free: dict[float, float] = {}  # by height, from where on no label is yet
    for to, shares in sorted(lookers.items()):
        role = theme.LAYERS[int(next(iter(shares))[0])]
        end, y_to = tops[to]
        if level:
            over = y - min(52.0, 14 + abs(start - end) / 9)
            canvas.look([(start, y - 3), (start, over), (end, over), (end, y_to - 5)], role)
        else:  # along the margin, where no words are
            margin = [(4, y - 12), (4, y_to - 12)] if y != y_to else []
            way = [(start, y - 3), (start, y - 12), *margin, (end, y_to - 12), (end, y_to - 5)]
            canvas.line(way, role, dash=LOOK, arrow=False)
            canvas.dot(end, y_to - 5, role, EYE)
        if max(shares.values()) < LOOKS:
            continue
        words = ", ".join(f"{head} looks {percent(share)}" for head, share in shares.items())
        height = y_to - (high + 4 if level else 22)
        left = max(4.0, end - 20, free.get(height, 0.0))
        free[height] = left + width(words, theme.SMALL) + 12
        canvas.text(left, height, words, role=role, size=theme.SMALL)
        if level and to and at + 1 < len(tops) and reading.tokens[to] == reading.tokens[at + 1]:
            moved = [(end + 8, y - 5), (end + 8, y - 32), (start - 8, y - 32), (start - 8, y - 4)]
            canvas.curve(moved, role)
    return 0.0 if not lookers else high + 4 if level else 22.0
