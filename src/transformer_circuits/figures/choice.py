"""Several figures in one place, of which the reader chooses one. Without a script."""

import dataclasses
import html
from collections.abc import Mapping
from dataclasses import dataclass

from transformer_circuits.figures import theme
from transformer_circuits.figures.drawings.page import Drawing
from transformer_circuits.figures.html import bundle
from transformer_circuits.figures.matplotlib_figure import Plot
from transformer_circuits.record import SVG, Record, slug

_STYLE = """\
.figure-choice{border:0;margin:0;padding:0;min-width:0}
.figure-choice>legend{float:left;margin:4px 10px 4px 0;padding:0;font-size:1rem;font-weight:600}
.figure-choice>label{position:relative;float:left;margin:2px 6px 2px 0;padding:.25rem .65rem;border:1px solid var(--muted);border-radius:5px;cursor:pointer}
.figure-choice>label:has(:checked){border-color:var(--ink);background:var(--ink);color:var(--on)}
.figure-choice>label:has(:focus-visible){outline:3px solid;outline-offset:2px}
.figure-choice [type=radio]{position:absolute;inset:0;margin:0;opacity:0;cursor:pointer}
.figure-choice>div{clear:both;display:none;padding-top:6px}
"""


@dataclass(frozen=True)
class Choice:
    """Figures by the names of their buttons; the first is shown before a choice, and on paper."""

    label: str
    """Question that the choice answers."""
    figures: Mapping[str, Plot | Drawing]
    """Figures whose titles must differ in words, of which links to figures are made."""

    def __post_init__(self):
        titles = [figure.record.title for figure in self.figures.values()]
        if len({*map(slug, titles)}) < len(titles):
            raise ValueError(
                f"figures to choose from must differ in words of their titles: {titles}"
            )

    @property
    def record(self) -> Record:
        """Record of the first figure, with the numbers and words of all, by the name of the choice."""
        first, *_ = (figure.record for figure in self.figures.values())
        numbers, units, words = {}, {}, {}
        for name, figure in self.figures.items():
            own_record = figure.record
            numbers |= {f"{name}: {key}": values for key, values in own_record.numbers.items()}
            units |= {f"{name}: {key}": unit for key, unit in own_record.units.items()}
            words |= {f"{name}: {key}": values for key, values in own_record.words.items()}
        return dataclasses.replace(first, numbers=numbers, units=units, words=words)

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        element_id = f"choice-{slug(self.record.title)}"
        parts, rules, svg = [f"<legend>{html.escape(self.label)}</legend>"], "", ""
        for k, name in enumerate(self.figures):
            checked = "" if k else " checked"
            button = f'<input type="radio" name="{element_id}" value="{k}"{checked}>'
            parts.append(f"<label>{button}{html.escape(name)}</label>")
            rules += f"#{element_id}:has([value='{k}']:checked)>div:nth-of-type({k + 1}){{display:block}}"
        for figure in self.figures.values():
            data, _ = figure._repr_mimebundle_()
            svg = svg or data[SVG]
            parts.append(f"<div>{data['text/html']}</div>")
        style = f"<style>{theme.style('figure-choice')}{_STYLE}{rules}</style>"
        shown = (
            f'{style}<fieldset class="figure-choice" id="{element_id}">{"".join(parts)}</fieldset>'
        )
        return bundle("figure", self.record, shown, svg)
