"""Charts that a reader asks: a slider, a list or a box of the page says what they show.

Each answers one question of one chapter. As in `charts`: arrays and labels, never a model. Without
scripts there is the picture of what it opens with, and the table below it.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import altair
import numpy as np

from transformer_circuits import files
from transformer_circuits.figures import charts, stage, theme, vega
from transformer_circuits.figures.drawing import COLOURS
from transformer_circuits.figures.values import Number, Numbers, array, number, written

INK, MUTED = (theme.ROLES[name].light for name in ("ink", "muted"))
SIGN = altair.Color(
    "below:N",
    scale=altair.Scale(domain=[True, False], range=[theme.LESS.light, theme.MORE.light]),
    legend=None,
)
"""The colour of what is below zero, and of the rest."""
SHADE = altair.Opacity("share:Q", scale=None)
PALEST = 0.6
"""The opacity of the strongest cell with words in it: ink must still be read there."""
PLANE = 225
"""The side of the plane of eigenvalues. [pixels]"""
UPRIGHT = altair.Axis(labelAngle=-90)


def _every(names: Sequence) -> altair.Scale:
    """A scale on which every name has its place, whether or not there is a mark."""
    return altair.Scale(domain=list(names))


def _short(value: float) -> float | None:
    """To four digits, as JSON has it."""
    return None if np.isnan(value) else float(f"{value:.4g}")


def _heading(text: str | list[str]) -> altair.Title:
    return altair.Title(text, anchor="start", frame="group", fontSize=12)


def _sentences(rows: Sequence[Mapping], lines: int) -> altair.Chart:
    """The lines of text of the row that is left."""
    mark = {"align": "left", "baseline": "top", "lineBreak": "\n", "lineHeight": 15, "fontSize": 12}
    chart = vega.chart(rows, 200, 15 * lines).mark_text(**mark)
    return chart.encode(x=altair.value(0), y=altair.value(0), text="text:N")


def spectrum(
    copying: Numbers,
    rest: Numbers,
    *,
    tokens: Sequence[str],
    title: str,
    alt: str,
    opens: float = 1,
    named: Mapping[str, Sequence[int | complex]] | None = None,
) -> vega.HoverChart:
    """The matrix s · copying + rest for s from -1 to 1, and its eigenvalues; a slider sets s.

    `copying`, `rest`: [out, in], logits that each token gives each output; `tokens`: their names.
    `opens`: the s that is shown first. `named`: mixtures of tokens, [in]; the eigenvalue whose
    mixture is nearest to one has its name. Of the real ones, those that lie outermost have it above and
    outwards, and those between them below.
    """
    base, added, n = array(rest), array(copying), len(tokens)
    shares = np.linspace(-1, 1, 41)
    matrices = shares[:, None, None] * added + base
    spectra, mixtures = np.linalg.eig(matrices)  # [s, eigenvalue], [s, in, eigenvalue]
    spectra = spectra.astype(complex)
    scores = spectra.sum(axis=1).real / np.abs(spectra).sum(axis=1)
    end, most = 1.35 * np.abs(spectra).max(), np.abs(spectra.imag).max()
    height = np.clip(2.2 * most, end / 2, end)  # room for names between the axis and a pair
    said, dots, names = [], [], []
    for s, score, values, each, matrix in zip(
        shares, scores, spectra, mixtures, matrices, strict=True
    ):
        first = (matrix.argmax(axis=0) == np.arange(n)).sum()
        text = f"Copying score {written(score, '.2f')}; {first} of {n} tokens raise themselves most"
        said.append({"s": s, "text": text})
        own = [{"s": s, "real": _short(z.real), "imaginary": _short(z.imag)} for z in values]
        dots += own
        at = {
            name: own[abs(np.conj(mixture) @ each).argmax()]
            for name, mixture in (named or {}).items()
        }
        names += _beside(at, 2 * end / PLANE)
    now = "abs(datum.s - s) < 0.01"
    cells = [
        {"out": tokens[i], "in": tokens[j], "added": added[i, j], "base": base[i, j]}
        for i, j in np.ndindex(n, n)
    ]
    grid = (
        vega.chart(cells, 250, 225)
        .properties(view=vega.FRAME)
        .transform_calculate(
            value="datum.base + s * datum.added",
            share=f"{PALEST} * abs(datum.value) / {np.abs(matrices).max()}",
            below="datum.value < 0",
        )
    )
    grid = grid.transform_joinaggregate(most="max(value)", groupby=["in"]).encode(
        altair.X("in:N", sort=None, title="token looked at", axis=altair.Axis(labelAngle=0)),
        altair.Y("out:N", sort=None, title="token raised (frame: most)"),
    )
    first = grid.transform_filter("datum.value == datum.most")
    heat = altair.layer(
        grid.mark_rect().encode(SIGN, SHADE),
        first.mark_rect(fillOpacity=0, stroke=INK, strokeWidth=2),
        grid.mark_text(fontSize=12).encode(text=altair.Text("value:Q", format=".2f")),
    )
    plane = (
        vega.chart(dots, PLANE, PLANE)
        .properties(view=vega.FRAME)
        .transform_calculate(below="datum.real < 0")
    )
    plane = plane.encode(
        vega.x_axis("real:Q", "real part", (-end, end)),
        vega.y_axis("imaginary:Q", "imaginary part", (-height, height)),
    )
    here = plane.transform_filter(now).encode(SIGN, tooltip=["real:Q", "imaginary:Q"])
    full, turning = (here.transform_filter(f"datum.imaginary {sign} 0") for sign in ("==", "!="))
    layers = [
        plane.mark_point(filled=True, size=4, color=MUTED, aria=False),
        full.mark_point(filled=True, size=50, opacity=1),
        turning.mark_point(size=50, strokeWidth=2),
    ]
    if names:
        beside = (
            vega.chart(names, PLANE, PLANE)
            .transform_filter(now)
            .encode(altair.Y("imaginary:Q"), altair.X("middle:Q"), text="name:N")
        )
        away = altair.expr("datum.below ? 16 : -14")
        layers.append(beside.mark_text(dy=away, fontSize=12))
    points = altair.layer(*layers).properties(
        title=altair.Title(
            [
                "Eigenvalues: ● real   ○ in a complex pair",
                "teal: real part below 0, else red; ··· their paths",
            ],
            fontSize=12,
            fontWeight="normal",
        )
    )
    slider = altair.binding_range(
        min=-1, max=1, step=0.05, name="Anti-copying (left) to copying (right) "
    )
    drawn = _sentences(said, 1).transform_filter(now) & (heat | points)
    told = {"copying part": shares, "copying score": scores}
    told["smallest real part"] = spectra.real.min(axis=1)
    kept = {"copying": added, "rest": base, **told}
    kept |= {"real parts": np.sort(spectra.real), "imaginary parts": np.sort(spectra.imag)}
    return vega.finish(
        drawn.add_params(altair.param("s", value=opens, bind=slider)),
        title,
        alt,
        numbers=kept,
        words={"tokens": tokens},
        rows=[{name: float(of[k]) for name, of in told.items()} for k in range(0, 41, 5)],
        wraps=1,
    )


def _beside(at: Mapping[str, dict[str, float]], pixel: float) -> Iterator[dict]:
    """Where the name of each eigenvalue stands: its middle, and whether it is below the dot.

    `at`: the dots by their names; `pixel`: how much of the real part one is.
    """
    real = sorted((name for name in at if not at[name]["imaginary"]), key=lambda n: at[n]["real"])
    for name, dot in at.items():
        half = 3.6 * len(name) * pixel
        out = (name in real[-1:]) - (name in real[:1])
        edge = PLANE / 2 * pixel - half
        middle = np.clip(dot["real"] + out * (half - 7 * pixel), -edge, edge)
        yield dot | {"name": name, "middle": _short(middle), "below": name in real[1:-1]}


def edges(
    scores: Numbers,
    effects: Numbers,
    *,
    kinds: Sequence[str],
    later: Sequence[str],
    earlier: Sequence[str],
    chance: tuple[Number, Number],
    unit: str,
    tokens: Sequence[str],
    whole: Numbers,
    without: Numbers,
    together: Numbers,
    title: str,
    alt: str,
) -> vega.HoverChart:
    """Choose an edge: its score beside chance, its effect, and a text with and without it.

    `scores`, `effects`: [kind, later head, earlier head], the effects in `unit`; `kinds`, `later`,
    `earlier`: their names. `chance`: mean and standard deviation of the score of random heads.
    `tokens`: a short text; `whole`: [pos], the probability of each of its tokens before it came, NaN
    where nothing predicts it; `without`: [kind, later head, earlier head, pos], with that edge cut.
    `together`: [kind, earlier head, pos], with all edges of that head cut at once, whichever later head
    they lead to; it is a last row of the grid, hatched, as it has no score and no effect of its own.
    """
    score, effect, given, n = array(scores), array(effects), array(whole), len(tokens)
    cut = np.concatenate([array(without), array(together)[:, None]], axis=1)
    mean, spread = map(number, chance)
    by_score, by_effect = (
        1 + (-of).ravel().argsort().argsort().reshape(of.shape) for of in (score, effect)
    )
    names, rows = [*later, "all"], []
    for at in np.ndindex(cut.shape[:3]):
        kind, j, i = at
        worst = int(np.nanargmax(given - cut[at]))
        row = {"kind": kinds[kind], "later": names[j], "earlier": earlier[i]}
        facts = "several edges at once, which have no score of their own\n"
        if j < len(later):
            row |= {"score": _short(score[at]), "effect": _short(effect[at])}
            row |= {"above": _short(score[at] - mean)}
            facts = (
                f"score {score[at]:.3f}, place {by_score[at]} of {score.size}\n"
                f"(by chance {mean:.3f} ± {spread:.3f})\n"
                f"cut: {effect[at]:.2g} {unit}, place {by_effect[at]} of {effect.size}"
            )
        row["text"] = (
            f"{earlier[i]} → {names[j]}, into {kinds[kind]}\n{facts}\nWithout it, “{tokens[worst]}” "
            f"({worst}) loses most:\n{given[worst]:.2f} becomes {cut[at][worst]:.2f}."
        )
        rows.append(row | {"cut": [*map(_short, cut[at])]})
    ranked = sorted((row for row in rows if "effect" in row), key=lambda row: -row["effect"])
    kind_radio = altair.binding_radio(options=list(kinds), name="Into ")
    colour_radio = altair.binding_radio(options=["effect", "score"], name="Colour ")
    lists = {
        "later": altair.binding_select(options=names, name="Later head, which reads "),
        "earlier": altair.binding_select(options=list(earlier), name="Earlier head, which wrote "),
    }
    opens = [{name: ranked[0][name] for name in lists}]
    edge = altair.selection_point(
        "edge", fields=[*lists], bind=lists, on="click", clear=False, empty=False, value=opens
    )
    most = f"(colour == 'score' ? {np.abs(score - mean).max()} : {np.abs(effect).max()})"
    of_kind = vega.chart(rows, 28 * len(earlier), 28 * len(names))
    of_kind = of_kind.transform_filter("datum.kind == into")
    squares = of_kind.transform_calculate(
        off="colour == 'score' ? datum.above : datum.effect",
        below="datum.off < 0",
        share=f"isValid(datum.off) ? abs(datum.off) / {most} : 0",
    ).encode(
        altair.X("earlier:N", sort=None, title="earlier head", axis=altair.Axis(labelAngle=0)),
        altair.Y("later:N", sort=None, title="later head", scale=_every(names)),
    )
    tips = [vega.tip(of) for of in ("earlier:N", "later:N", "score:Q", "effect:Q")]
    fill = altair.FillOpacity("share:Q", scale=None)
    framed = squares.transform_filter(edge).mark_rect(fillOpacity=0, stroke=INK, strokeWidth=3)
    hatched = squares.transform_filter("!isValid(datum.off)").mark_text(color=MUTED, aria=False)
    hatched = hatched.encode(text=altair.value("╱╱╱"))
    squares = squares.mark_rect(stroke=MUTED, strokeWidth=0.4, cursor="pointer").encode(
        SIGN, fill, tooltip=tips
    )
    chosen = "datum.kind == into"
    named = [f"{token} ({k})" for k, token in enumerate(tokens)]
    each = (
        vega.chart(rows, 14 * n, 90)
        .transform_filter(chosen)
        .transform_filter(edge)
        .transform_calculate(pos=f"sequence({n})")
        .transform_flatten(["cut", "pos"])
        .transform_filter("isValid(datum.cut)")
        .transform_calculate(
            token=f"{files.as_json(named)}[datum.pos]",
            whole=f"{files.as_json([*map(_short, given)])}[datum.pos]",
        )
        .encode(
            altair.X("token:N", sort=None, title=None, axis=UPRIGHT),
            tooltip=[
                vega.tip("token:N"),
                vega.tip("cut:Q", "with the edge cut"),
                vega.tip("whole:Q", "as it is"),
            ],
        )
    )
    likely = vega.y_axis("cut:Q", "probability", (0.0, 1.0))
    bars = altair.layer(
        each.mark_bar(color=theme.LIKELY.light).encode(likely),
        each.mark_tick(color=INK, thickness=2.5, size=12).encode(altair.Y("whole:Q")),
    ).properties(title=_heading("How likely each token was held: ▬ as it is, amber with the cut"))
    said = _sentences(rows, 6).transform_filter(chosen).transform_filter(edge)
    drawn = altair.layer(squares.add_params(edge), hatched, framed) | (said & bars)
    params = (
        altair.param("into", value=ranked[0]["kind"], bind=kind_radio),
        altair.param("colour", value="effect", bind=colour_radio),
    )
    table = [
        {"edge": f"{row['earlier']} → {row['later']}", "into": row["kind"], "score": row["score"]}
        | {f"effect [{unit}]": row["effect"]}
        for row in ranked[:8]
    ]
    numbers = {"scores": score, "effects": effect, "chance": mean, "spread": spread}
    return vega.finish(
        drawn.resolve_scale(color="independent").add_params(*params),
        title,
        alt,
        numbers=numbers | {"whole": given, "without": cut},
        units={"effects": unit},
        words={"kinds": kinds, "later": later, "earlier": earlier, "tokens": tokens},
        rows=table,
        wraps=1,
    )


def rulers(
    measures: Mapping[str, Numbers],
    effects: Numbers,
    agreement: Mapping[str, Number],
    *,
    kinds: Sequence[str],
    labels: Sequence[str],
    y: str,
    title: str,
    alt: str,
) -> vega.HoverChart:
    """Every edge, measure across and effect upwards, a panel beside the other for each measure.

    `measures`: by its name, what each is said to be worth, [kind, edge]; `effects`: what it does,
    [kind, edge], `y` in words with its unit. All are above zero and shown against their (geometric)
    mean within a kind, on one scale, so that clouds can be compared. `agreement`: of each measure
    with the effects, printed above its panel. `kinds`: "Q", "K", "V"; `labels`: names of edges.
    """
    across, change = {name: array(of) for name, of in measures.items()}, array(effects)
    ratio = {name: of / np.exp(np.log(of).mean(axis=1))[:, None] for name, of in across.items()}
    roles = [theme.EDGES[kind] for kind in kinds]
    rows = [
        {"kind": charts.KINDS[roles[k]][0], "edge": labels[e], "y": _short(change[k, e])}
        | {"across": [_short(of[k, e]) for of in ratio.values()]}
        for k, e in np.ndindex(change.shape)
    ]
    ends = [(of.min() / 1.3, of.max() * 1.3) for of in (np.stack([*ratio.values()]), change)]
    look = charts.look({charts.KINDS[role]: theme.ROLES[role].light for role in roles})

    def panel(k: int, measure: str) -> altair.Chart:
        points = vega.chart(rows, 155, 170).transform_calculate(x=f"datum.across[{k}]")
        log = [altair.Scale(type="log", domain=list(end), nice=False) for end in ends]
        ticks = altair.Axis(tickCount=4, format="~g")
        x = altair.X("x:Q", scale=log[0], title="value ÷ mean of its kind", axis=ticks)
        up = altair.Y("y:Q", scale=log[1], title=None if k else y.split(", "), axis=ticks)
        tips = [vega.tip(of) for of in ("edge:N", "kind:N")]
        tips += [vega.tip("x:Q", "measure, over the mean"), vega.tip("y:Q", "effect")]
        dots = points.mark_point(filled=True, size=28, opacity=0.8)
        return dots.encode(x, up, *look, tooltip=tips).properties(
            title=_heading([measure, f"rank correlation {number(agreement[measure]):.2f}"])
        )

    return vega.finish(
        altair.concat(*(panel(k, name) for k, name in enumerate(across)), columns=3, spacing=10),
        title,
        alt,
        numbers={
            **across,
            "effects": change,
            "agreement": [number(agreement[name]) for name in across],
        },
        units={"effects": y},
        words={"kinds": kinds, "edges": labels, "measures": [*across]},
        wraps=1,
    )


def training(
    times: Numbers,
    panels: Mapping[str, Mapping[str, Numbers]],
    tokens: Sequence[str],
    patterns: Numbers,
    chances: Numbers,
    *,
    heads: Sequence[str],
    x: str,
    title: str,
    alt: str,
    opens: int = 0,
) -> vega.HoverChart:
    """Curves of a training, beside them the attention of some heads, all moved by one slider.

    `times`: [checkpoint], positive and rising; `x`: what they count, "million tokens" for instance.
    `panels`: under a title with its unit, the curves of one scale: their names and values,
    [checkpoint]. `tokens`: a text that the model read at every checkpoint, and `patterns`:
    [checkpoint, head, dst, src], the attention that it paid there; `heads`: names of these heads.
    `chances`: [checkpoint, pos], the probability that each token of the text was given before it
    came; NaN where nothing predicts it. `opens`: the checkpoint that is shown first.
    """
    when, seen, given = array(times), array(patterns), array(chances)
    curves = {name: {k: array(v) for k, v in lines.items()} for name, lines in panels.items()}
    named = {f"{panel}: {name}": v for panel, of in curves.items() for name, v in of.items()}
    slider = altair.binding_range(min=0, max=len(when) - 1, step=1, name="Read so far ")
    said = {"steps": [f"{time:.3g} {x}" for time in when]}
    at = altair.selection_point(
        "at", fields=["k"], bind={"k": slider}, on="click", nearest=True, clear=False, empty=False,
        value=[{"k": opens}],
    )  # fmt: skip
    named_at = [None] * (len(curves) - 1) + [x]  # of all of them, below the last
    drawn = [
        _curves(name, when, lines, below, at)
        for (name, lines), below in zip(curves.items(), named_at, strict=True)
    ]
    drawn[0].layer[0] = drawn[0].layer[0].add_params(at)
    names = _coming_again(tokens)
    pictures = (
        _pattern(head, seen[:, h], tokens, at, names, {} if h else names)
        for h, head in enumerate(heads)
    )
    read = altair.vconcat(altair.hconcat(*pictures), _text(tokens, given, at))
    table = [
        {x: f"{time:.3g}"} | {name.rpartition(": ")[2]: float(v[k]) for name, v in named.items()}
        for k, time in enumerate(when)
    ]
    apart = {"color": "independent", "strokeDash": "independent"}
    stacked = altair.vconcat(*drawn).resolve_scale(**apart)
    return vega.finish(
        altair.hconcat(stacked, read, usermeta=said).resolve_scale(**apart),
        title,
        alt,
        numbers=named | {x: when, "probability of each token": given, "attention": seen},
        words={"tokens": tokens, "heads": heads},
        rows=table,
        wraps=1,
    )


def _curves(name: str, times: np.ndarray, lines: Mapping, x: str | None, at: altair.Parameter):
    """The curves of one scale, with a line and their values at the checkpoint that is chosen."""
    rows = [
        {"line": of, "k": k, "time": _short(times[k]), "value": _short(value)}
        for of, values in lines.items()
        for k, value in enumerate(values)
    ]
    up = altair.Scale(zero=False)
    steady = altair.Axis(tickCount=3, minExtent=32)  # else wider labels would move the time below
    base = vega.chart(rows, 240, 110).encode(
        altair.X("time:Q", scale=altair.Scale(type="log", base=2, nice=False), title=x),
        altair.Y("value:Q", title=name, axis=steady, scale=up),
    )
    legend = altair.Legend(title=None, orient="top", symbolType="stroke", symbolSize=300)
    heads = map(theme.of_head, lines)
    colours = [own.light if own else COLOURS[i] for i, own in enumerate(heads)]
    again = [colours[:i].count(own) for i, own in enumerate(colours)]
    dashes = [([1, 0], [6, 3], [2, 3])[nth] for nth in again]  # where a colour comes again
    looks = (altair.Color, colours), (altair.StrokeDash, dashes)
    colour, dash = (
        channel(
            "line:N", legend=legend, scale=altair.Scale(domain=[*lines], range=of[: len(lines)])
        )
        for channel, of in looks
    )
    here = base.transform_filter(at)
    values = (
        here.transform_filter(altair.datum.line == of)
        .mark_text(align="left", fontSize=12, color=colours[i])
        .encode(
            x=altair.value(246),
            y=altair.value(12 + 18 * i),
            text=altair.Text("value:Q", format=".2f"),
        )
        for i, of in enumerate(lines)
    )
    return altair.layer(
        base.mark_point(size=90, opacity=0).encode(tooltip=["line:N", "time:Q", "value:Q"]),
        base.mark_line(strokeWidth=2).encode(colour, dash),
        here.mark_rule(strokeDash=[4, 3], color=INK, strokeWidth=0.7).encode(altair.Y()),
        here.mark_point(size=60, filled=True, opacity=1).encode(colour),
        *values,
    )


_SIDE = 114
"""How wide a pattern is. [pixels]"""


def _coming_again(tokens: Sequence[str]) -> dict[int, str]:
    """The longest word that comes again, at its places; none if they would lie on each other."""
    words = [(of[len(of) // 2], "".join(tokens[k] for k in of)) for of in stage.words_of(tokens)]
    often = Counter(word for _, word in words)
    name = max((word for word in often if often[word] > 1), key=len, default="")
    places = [place for place, word in words if word == name]
    apart = min((b - a for a, b in itertools.pairwise(places)), default=0) * _SIDE / len(tokens)
    shown = name.strip("␣")
    return dict.fromkeys(places, shown) if apart > 7.2 * len(shown) else {}


def _pattern(
    head: str,
    patterns: np.ndarray,
    tokens: Sequence[str],
    at: altair.Parameter,
    below: Mapping[int, str],
    beside: Mapping[int, str],
) -> altair.Chart:
    """The attention of a head at the checkpoint that is chosen; [checkpoint, dst, src].

    `below`, `beside`: what stands at places of the two axes.
    """
    n = patterns.shape[-1]
    label = {"ticks": False, "labelAngle": 0, "labelOverlap": False}
    under, side = (
        altair.Axis(**label, values=[*of], labelExpr=f"({files.as_json(dict(of))})[datum.value]")
        for of in (below, beside)
    )
    shares = np.round(patterns, 2).reshape(-1, n * n)
    rows = [{"k": k, "share": of.tolist()} for k, of in enumerate(shares)]
    told = files.as_json([f"{token} ({k})" for k, token in enumerate(tokens)])
    scale = _every(range(n))
    return (
        vega.chart(rows, _SIDE, _SIDE)
        .properties(view=vega.FRAME, title=_heading(f"Attention of {head}"))
        .transform_filter(at)
        .transform_calculate(place=f"sequence({n * n})")
        .transform_flatten(["share", "place"])
        .transform_filter("datum.share > 0")
        .transform_calculate(source=f"datum.place % {n}", destination=f"floor(datum.place / {n})")
        .transform_calculate(
            **{end: f"{told}[datum.{end[:-6]}]" for end in ("source token", "destination token")}
        )
        .mark_rect(color=(theme.of_head(head) or theme.ROLES["ink"]).light)
        .encode(
            altair.X("source:O", scale=scale, axis=under, title=None),
            altair.Y("destination:O", scale=scale, axis=side, title=None),
            SHADE,
            tooltip=[
                vega.tip("destination token:N", "at"),
                vega.tip("source token:N", "looks at"),
                vega.tip("share:Q", "attention"),
            ],
        )
    )


def _text(tokens: Sequence[str], chances: np.ndarray, at: altair.Parameter) -> altair.LayerChart:
    """Tokens in lines, below each an amber bar for how likely it was; chances: [checkpoint, pos].

    All bars are equally long when full.
    """
    places, x, y, line, high, full = [], 0, 0, 306, 30, 30
    for pos, token in enumerate(tokens):
        wide = max(8 * len(token), full) + 8
        x, y = (x, y) if x + wide <= line else (0, y + high)
        ends = {"left": x + 4, "right": x + 4 + full, "top": y + 20, "bottom": y + 25}
        places.append({"pos": pos, "token": token, "y": y + 4, **ends})
        x += wide
    known = altair.LookupData(altair.Data(values=places), "pos", [*places[0]][1:])
    rows = [{"k": k, "probability": [*map(_short, of)]} for k, of in enumerate(chances)]
    across, down = (altair.Scale(domain=ends, nice=False) for ends in ([0, line], [y + high, 0]))
    heading = _heading("The longer the amber, the likelier the token")
    text = (
        vega.chart(rows, line, y + high)
        .properties(title=heading)
        .transform_filter(at)
        .transform_calculate(pos=f"sequence({len(tokens)})")
        .transform_flatten(["probability", "pos"])
        .transform_lookup("pos", known)
        .transform_calculate(filled="datum.left + datum.probability * (datum.right - datum.left)")
        .encode(
            altair.X("left:Q", scale=across, axis=None),
            altair.Y("y:Q", scale=down, axis=None),
            tooltip=["token:N", "probability:Q"],
        )
    )
    bar = text.transform_filter("isValid(datum.probability)").encode(
        altair.Y("top:Q", scale=down, axis=None), altair.Y2("bottom")
    )
    whole = bar.mark_rect(color=MUTED, opacity=0.25).encode(altair.X2("right"))
    filled = bar.mark_rect(color=theme.LIKELY.light, opacity=1).encode(altair.X2("filled"))
    words = text.mark_text(align="left", baseline="top", fontSize=12)
    return altair.layer(whole, filled, words.encode(text="token:N"))
