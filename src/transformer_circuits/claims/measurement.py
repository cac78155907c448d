"""How a claim about trained models is decided: a function that measures, bound to claim and controls."""

import functools
import html
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.claims import findings, registry, rules, subjects
from transformer_circuits.claims.controls import Control
from transformer_circuits.claims.registry import Claim, Rule
from transformer_circuits.claims.rules import Interval
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.figures import forest_plot
from transformer_circuits.record import Record

_MARKS = {rules.REPRODUCED: "✓", rules.NOT_REPRODUCED: "✗"}


def decides(
    claim_id: str, *, controls: Sequence[Control], planted: Control | None = None
) -> Callable[[Callable], "Measurement"]:
    """Make a function the `Measurement` that decides a claim of `data/claims.toml`.

    The function takes a `Subject`, and returns one value for each independent unit that it was
    measured on (a document, a passage, a window), from which the interval follows; a single value,
    if it is a fact of the weights alone.

    `controls`: where the rule must fail. `planted`: where it must hold, for what is claimed was
    built in there.
    """
    return lambda function: Measurement(claim_id, function, tuple(controls), planted)


class Measurement:
    """The function that decides a claim; called, it measures a subject."""

    def __init__(
        self,
        claim_id: str,
        function: Callable,
        controls: tuple[Control, ...],
        planted: Control | None,
    ):
        self.claim_id, self.function = claim_id, function
        self.controls, self.planted = controls, planted
        functools.update_wrapper(self, function)

    def __call__(self, subject: Subject) -> Float[Tensor, "*unit"]:
        return self.function(subject)

    def __get__(self, instance, owner=None):  # like a function, so that Sphinx documents it as one
        return self

    @property
    def claim(self) -> Claim:
        """What is said, and by whom."""
        return registry.testable(self.claim_id)

    @property
    def rule(self) -> Rule:
        """When it counts."""
        return registry.rules()[self.claim_id]

    @functools.cache  # noqa: B019 (measurements live as long as the process)
    def interval(self, subject: Subject) -> Interval:
        """What is measured on a subject, with its interval.

        Raises:
            NotToBeHad: if it is a reader's own model, and has not what is needed.
        """
        with torch.no_grad():
            values = self.function(subject)
        had = not subject.own or not values.isnan().all()
        subject.require(had, "a place where it can be measured")
        return rules.interval(values)

    def decision(self, of: Sequence[Subject] = ()) -> "Decision":
        """Try the rule on models that differ in their seed: by default, those of the book.

        Controls are made of the first of them.

        Raises:
            UserError: if a model of the book is not trained.
        """
        of = of or subjects.of_seeds(self.rule.of)
        seeds = {subject.name: self.interval(subject) for subject in of}
        controls = {control.name: self._on(control, of[0]) for control in self.controls}
        planted = {}
        if self.planted is not None:
            planted[self.planted.name] = self.interval(self.planted(of[0]))
        had = {name: found for name, found in controls.items() if found is not None}
        verdict, why = rules.verdict(self.rule, seeds, had, planted)
        return Decision(self, verdict, why, seeds, controls, planted)

    def _on(self, control: Control, subject: Subject) -> Interval | None:
        """None, if the control cannot be made, which happens to a reader's own model."""
        try:
            made = control(subject)
        except subjects.NotToBeHad:
            return None
        return self.interval(made)

    def decide(self) -> None:
        """Show the verdict; it counts on the scorecard.

        Raises:
            UserError: if a model of the book is not trained.
        """
        found = self.decision()
        if "IPython" in sys.modules:
            from IPython.display import display

            display(found)
        else:
            print(found)


@dataclass(frozen=True)
class Decision:
    """A verdict with all that it rests on. Jupyter shows it; its output's metadata has its record."""

    measurement: Measurement
    verdict: str
    """One of `rules.VERDICTS`."""
    why: str
    seeds: dict[str, Interval]
    controls: dict[str, Interval | None]
    """None, if it cannot be had: for a reader's own model without siblings."""
    planted: dict[str, Interval]
    """One, by its name, or none."""

    @property
    def _beside(self) -> dict[str, Interval | None]:
        """Controls, and what was planted."""
        return self.controls | {f"planted, {name}": found for name, found in self.planted.items()}

    @property
    def _must(self) -> str:
        rule = self.measurement.rule
        return f"{rule.side} {rule.threshold:g}"

    @property
    def finding(self) -> str:
        """What was found, in a sentence."""
        return findings.sentence(self)

    @property
    def _said(self) -> str:
        """The claim, who makes it, and its verdict."""
        mark, claim = _MARKS.get(self.verdict, "~"), self.measurement.claim
        by = "The paper" if claim.source == "paper" else claim.section
        return f"{mark} {self.verdict} ({self.why}). {by}: {claim.statement}."

    def __str__(self) -> str:
        ours = ", ".join(map(str, self.seeds.values()))
        others = "".join(f"; {name} {_or_not(found)}" for name, found in self.controls.items())
        return f"{self.finding}\n{self._said}\n{ours}; must be {self._must}{others}"

    @property
    def row(self) -> dict[str, str]:
        """What the scorecard shows of it, by column."""
        least = min(found.n for found in self.seeds.values())
        over = "" if least == 1 else f", over {least} or more units"
        return {
            "estimate (95 % interval), by seed": "; ".join(map(str, self.seeds.values())) + over,
            "must be": f"{self._must}: {self.measurement.rule.threshold_from}",
            "controls": "; ".join(
                f"{name} {_or_not(found)}" for name, found in self._beside.items()
            ),
            "verdict": f"{self.verdict}: {self.why}",
        }

    @property
    def _forest_plot(self) -> str:
        """Seeds, controls and what was planted, on one scale with the threshold."""
        ours = "every seed" if len(self.seeds) > 1 else "one seed"
        rows = {ours: [*self.seeds.values()]}
        rows |= {name: [found] for name, found in self._beside.items() if found is not None}
        spans = {name: [(f.mean, f.low, f.high) for f in found] for name, found in rows.items()}
        rule = self.measurement.rule
        return forest_plot.forest_plot(spans, rule.threshold, rule.side, ours=ours)

    @property
    def _source(self) -> str:
        """The function that measures, folded: what was done to which tokens."""
        code = html.escape(inspect.getsource(self.measurement.function))
        summary = "<summary>How it is measured</summary>"
        return f"<details>{summary}<pre><code>{code}</code></pre></details>"

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        kind = self.verdict.replace(" ", "-")
        said = f'{findings.as_html(self)}<p class="claim {kind}">{html.escape(self._said)}</p>'
        shown = {"text/html": f'<div class="verdict">{said}{self._forest_plot}{self._source}</div>'}
        shown["text/plain"] = str(self)
        return shown, self.record.metadata

    @property
    def record(self) -> Record:
        """What it leaves for the scorecard and the manifest; of each estimate mean, ends and n."""
        measured = self.seeds | self._beside
        details = {
            "verdict": self.verdict,
            "why": self.why,
            "seeds": {name: asdict(found) for name, found in self.seeds.items()},
            "controls": {name: found and asdict(found) for name, found in self.controls.items()},
            "row": self.row,
            "finding": self.finding,
            "forest plot": self._forest_plot,
        }
        return Record(
            "verdict",
            self.measurement.claim.statement,
            ", ".join(map(str, self.seeds.values())),
            {name: astuple(found) for name, found in measured.items() if found is not None},
            claim=self.measurement.claim_id,
            details=details,
        )


def _or_not(found: Interval | None) -> str:
    return "unavailable" if found is None else str(found)
