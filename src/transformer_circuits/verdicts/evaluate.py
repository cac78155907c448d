"""Evaluates the rules of `data/claims.toml`: what a chapter shows, and all of them on one model."""

import html
import importlib
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.book import claims
from transformer_circuits.book.claims import Claim, Rule
from transformer_circuits.verdicts import rules, subjects
from transformer_circuits.verdicts.rules import Interval
from transformer_circuits.verdicts.subjects import Subject

Metric = Callable[[Subject], Float[Tensor, " unit"]]
_MARKS = {rules.REPRODUCED: "✓", rules.NOT_REPRODUCED: "✗"}


@dataclass(frozen=True)
class Decision:
    """A verdict with all that it rests on. Jupyter shows it; its output's metadata has its parts."""

    claim: Claim
    rule: Rule
    verdict: str
    """One of `rules.VERDICTS`."""
    why: str
    seeds: dict[str, Interval]
    controls: dict[str, Interval]
    planted: Interval | None

    def __str__(self) -> str:
        mark = _MARKS.get(self.verdict, "~")
        ours = ", ".join(map(str, self.seeds.values()))
        must = f"must be {self.rule.side} {self.rule.threshold:g}"
        others = "".join(f"; {name} {found}" for name, found in self.controls.items())
        return f"{mark} {self.claim.statement}: {self.verdict} ({self.why}). {ours}; {must}{others}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        kind = self.verdict.replace(" ", "-")
        shown = {
            "text/html": f'<p class="claim {kind}">{html.escape(str(self))}</p>',
            "text/plain": str(self),
        }
        parts = {
            "statement": self.claim.statement,
            "claim": self.claim.id,
            "ours": ", ".join(map(str, self.seeds.values())),
            "verdict": self.verdict,
            "why": self.why,
            "seeds": {name: asdict(found) for name, found in self.seeds.items()},
            "controls": {name: asdict(found) for name, found in self.controls.items()},
        }
        return shown, {"check": parts}


def metric(name: str) -> Metric:
    """The metric that a rule calls `module.function`.

    Raises:
        ValueError: if there is none.
    """
    module, _, function = name.rpartition(".")
    try:
        return getattr(
            importlib.import_module(f"transformer_circuits.verdicts.metrics.{module}"), function
        )
    except (ImportError, AttributeError) as error:
        raise ValueError(f'no metric is called "{name}"') from error


@cache
def measure(name: str, subject: Subject) -> Interval:
    """A metric on a subject, with its interval."""
    with torch.no_grad():
        return rules.interval(metric(name)(subject))


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
    controls = {
        each: measure(rule.metric, subjects.control(each, of[0])) for each in rule.control_names
    }
    planted = measure(rule.metric, subjects.control(rule.planted, of[0])) if rule.planted else None
    verdict, why = rules.verdict(rule, seeds, controls, planted)
    return Decision(claim, rule, verdict, why, seeds, controls, planted)


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
