"""Evaluates the rules of `data/claims.toml`: what a chapter shows, and all of them on one model."""

import dataclasses
import html
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.book import claims
from transformer_circuits.book.claims import Claim, Rule
from transformer_circuits.figures import strips
from transformer_circuits.record import Record
from transformer_circuits.verdicts import controls, rules, subjects
from transformer_circuits.verdicts.rules import Interval
from transformer_circuits.verdicts.subjects import Subject

Metric = Callable[[Subject], Float[Tensor, "*unit"]]
_MARKS = {rules.REPRODUCED: "✓", rules.NOT_REPRODUCED: "✗"}


@dataclass(frozen=True)
class Decision:
    """A verdict with all that it rests on. Jupyter shows it; its output's metadata has its record."""

    claim: Claim
    rule: Rule
    verdict: str
    """One of `rules.VERDICTS`."""
    why: str
    seeds: dict[str, Interval]
    controls: dict[str, Interval | None]
    """None, if it cannot be had: for a reader's own model without siblings."""
    planted: Interval | None

    @property
    def row(self) -> dict[str, str]:
        """What the scorecard shows of it, by column."""
        null = {name: _or_not(found) for name, found in self.controls.items()}
        if self.planted is not None:
            null[f"planted, {self.rule.planted}"] = str(self.planted)
        n_units = [found.n for found in self.seeds.values()]
        measured = "; ".join(map(str, self.seeds.values()))
        over = "" if n_units[0] == 1 else f", over {min(n_units)} or more units"
        return {
            "estimate (95 % interval), by seed": measured + over,
            "must be": f"{self.rule.side} {self.rule.threshold:g}: {self.rule.threshold_from}",
            "controls": "; ".join(f"{name} {found}" for name, found in null.items()),
            "verdict": f"{self.verdict}: {self.why}",
        }

    def __str__(self) -> str:
        ours = ", ".join(map(str, self.seeds.values()))
        must = f"must be {self.rule.side} {self.rule.threshold:g}"
        others = "".join(f"; {name} {_or_not(found)}" for name, found in self.controls.items())
        return f"{self._said} {ours}; {must}{others}"

    @property
    def _strips(self) -> str:
        """Seeds, controls and what was planted, on one scale with the threshold."""
        ours = "every seed" if len(self.seeds) > 1 else "one seed"
        rows = {ours: list(self.seeds.values())}
        rows |= {name: [found] for name, found in self.controls.items() if found is not None}
        if self.planted is not None:
            rows[f"planted, {self.rule.planted}"] = [self.planted]
        spans = {name: [(f.mean, f.low, f.high) for f in found] for name, found in rows.items()}
        return strips.strips(spans, self.rule.threshold, self.rule.side, ours=ours)

    @property
    def _source(self) -> str:
        """The function that measures, folded: what was done to which tokens."""
        code = html.escape(inspect.getsource(metric(self.rule.metric)))
        summary = "<summary>How it is measured</summary>"
        return f"<details>{summary}<pre><code>{code}</code></pre></details>"

    @property
    def _said(self) -> str:
        mark = _MARKS.get(self.verdict, "~")
        return f"{mark} {self.claim.statement}: {self.verdict} ({self.why})."

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        kind = self.verdict.replace(" ", "-")
        said = f'<p class="claim {kind}">{html.escape(self._said)}</p>'
        shown = {"text/html": f'<div class="verdict">{said}{self._strips}{self._source}</div>'}
        shown["text/plain"] = str(self)
        return shown, self.record.metadata

    @property
    def record(self) -> Record:
        """What it leaves for the scorecard and the manifest; of each estimate mean, ends and n."""
        measured = {**self.seeds, **self.controls, "planted": self.planted}
        details = {
            "verdict": self.verdict,
            "why": self.why,
            "seeds": {name: asdict(found) for name, found in self.seeds.items()},
            "controls": {name: found and asdict(found) for name, found in self.controls.items()},
            "row": self.row,
            "strips": self._strips,
        }
        return Record(
            "verdict",
            self.claim.statement,
            ", ".join(map(str, self.seeds.values())),
            {name: astuple(found) for name, found in measured.items() if found is not None},
            claim=self.claim.id,
            details=details,
        )


def _or_not(found: Interval | None) -> str:
    return "unavailable" if found is None else str(found)


def metric(name: str) -> Metric:
    """The metric that a rule calls `module.function`.

    Raises:
        ValueError: if there is none.
    """
    module, _, function = name.rpartition(".")
    place = f"transformer_circuits.verdicts.metrics.{module}"
    try:
        found = vars(importlib.import_module(place)).get(function)
    except ModuleNotFoundError as error:
        if error.name != place:  # there is one, and what it needs is not
            raise
        found = None
    if found is None:
        raise ValueError(f'no metric is called "{name}"')
    return found


@cache
def measure(name: str, subject: Subject) -> Interval:
    """A metric on a subject, with its interval.

    Raises:
        NotToBeHad: if it is a reader's own model, and has not what the metric needs.
    """
    with torch.no_grad():
        values = metric(name)(subject)
    subject.require(not subject.own or not values.isnan().all(), "a place where it can be measured")
    return rules.interval(values)


def decision(name: str, of: list[Subject] | None = None) -> Decision:
    """Try the rule of a claim on models that differ in their seed: by default, those of the book.

    Controls are made of the first of them.

    Raises:
        ValueError: if there is no such claim, or it has no rule.
        UserError: if a model of the book is not trained.
    """
    claim, rule = claims.testable(name), claims.rules().get(name)
    if rule is None:
        raise ValueError(f'claim "{name}" has no rule in data/claims.toml')
    of = of or subjects.of_seeds(rule.of)
    seeds = {one.name: measure(rule.metric, one) for one in of}
    nulls = {each: _of_control(rule.metric, each, of[0]) for each in rule.control_names}
    planted = measure(rule.metric, controls.control(rule.planted, of[0])) if rule.planted else None
    had = {each: found for each, found in nulls.items() if found is not None}
    left = dataclasses.replace(rule, controls=", ".join(had))
    verdict, why = rules.verdict(left, seeds, had, planted)
    return Decision(claim, rule, verdict, why, seeds, nulls, planted)


def _of_control(metric_name: str, name: str, subject: Subject) -> Interval | None:
    """The metric on a control; None, if it cannot be had, which happens to a reader's own model."""
    try:
        made = controls.control(name, subject)
    except subjects.NotToBeHad:
        return None
    return measure(metric_name, made)


def decide(name: str) -> None:
    """Show the verdict on a claim about trained models; it counts on the scorecard.

    Raises:
        ValueError: if there is no such claim, or it has no rule.
        UserError: if a model of the book is not trained.
    """
    found = decision(name)
    if "IPython" in sys.modules:
        from IPython.display import display

        display(found)
    else:
        print(found)
