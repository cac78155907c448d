"""Decision of a claim about trained models: `@claim(…)` binds it to the function that measures it."""

import dataclasses
import functools
import html
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.claims import findings, recorded, rewritings, rules, subjects
from transformer_circuits.claims.claim import Claim
from transformer_circuits.claims.controls import Control, Drawn, Graded, white_basis
from transformer_circuits.claims.rules import Interval
from transformer_circuits.claims.samples import Sample
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.figures import forest_plot
from transformer_circuits.figures.values import written
from transformer_circuits.record import Record


def claim(
    id: str,
    statement: str,
    *,
    above: float | None = None,
    below: float | None = None,
    of: str = "two-layer",
    **fields,
) -> Callable[[Callable], "Measurement"]:
    """Make a function the `Measurement` that decides a claim about trained models.

    `above` or `below`: the threshold, and the side of it on which the claim holds. `of`: the model
    on which it is measured. `fields`: all other fields of `Measurement` and of `Claim`, by their
    names.

    Raises:
        ValueError: unless one of `above` and `below` is given.
    """
    if (above is None) == (below is None):
        raise ValueError(
            f"{id} is above {above} and below {below}, but one of the two must be given"
        )
    side, threshold = ("below", below) if above is None else ("above", above)
    names = {field.name for field in dataclasses.fields(Measurement)}
    how = {name: fields.pop(name) for name in names & {*fields}}
    ruled = Claim(id=id, statement=statement, of=of, side=side, threshold=threshold, **fields)
    return lambda function: Measurement(ruled, function, **how)


@dataclass(eq=False)
class Measurement:
    """Claim and the function that decides it; called, it measures a subject."""

    claim: Claim
    function: Callable[[Subject], Float[Tensor, "*unit"] | Interval]
    """Function that returns one value for each independent unit (a document, a passage, a window),
    from which the interval follows; a single value for a fact of the weights alone; not a number
    for units without a case. Or it returns an `Interval`.
    """
    controls: Sequence[Control]
    """Subjects on which the rule must fail."""
    planted: Control | Graded | None = None
    """Subject on which it must hold, with the claimed effect built in; if in several sizes, the rule
    must see the one that counts.
    """
    sample: Sample | None = None
    """Windows of text that units come from, so that those of one package are drawn together."""
    draws: int = 1
    """Number of each `Drawn` control, where the bound is near to chance: it must be beyond all of them."""
    moved_by: Sequence[str] = ()
    """`rewritings` of the same function that may move the value, as it counts heads, is about one, or
    about the very basis that training left; all others must not.
    """
    also: Control | None = None
    """Another way to look at the same model. If the verdicts differ, the claim is undecided; in the
    `white_basis`, a yes against a no *depends on the basis*.
    """
    trained: Callable[[Subject], Subject] = lambda subject: subject
    """For a claim about training, the change to a model of the book before it is measured: the same
    with the log of another training from its seed.
    """
    mean_of: str = ""
    """Kind of thing that the mean is over, if there is one mean for all ("pairs" of trainings), so
    that the models' own seeds are not asked one by one.
    """

    def __post_init__(self):
        functools.update_wrapper(self, self.function)

    def __call__(self, subject: Subject) -> Float[Tensor, "*unit"] | Interval:
        return self.function(subject)

    @property
    def reads_basis(self) -> bool:
        """True if another basis of the stream may give another value, so that two are measured."""
        return self.also is white_basis

    @property
    def left_alone_by(self) -> list[str]:
        """Rewritings of one function that must not change the measured value."""
        moved = {*self.moved_by} | ({rewritings.BASIS} if self.reads_basis else set())
        if rewritings.BASIS in moved:  # a stream twice as wide is another basis, too
            moved.add(rewritings.EMBEDDED)
        return [way for way in rewritings.EVERY if way not in moved]

    @property
    def pooled(self) -> str:
        """Name in place of the seeds where the mean is over something else; or ""."""
        return self.mean_of and f"mean of all {self.mean_of}"

    @property
    def measures(self) -> str:
        """Name of the measured value: the first sentence of the function's docstring."""
        said = (inspect.getdoc(self.function) or "").partition("\n\n")[0]
        return re.split(r"\.(?: |$)", said.replace("\n", " ").replace("`", ""))[0]

    def interval(self, subject: Subject) -> Interval:
        """Measured value of a subject, with its interval; measured once."""
        return subjects.once(self._interval)(subject)

    def _interval(self, subject: Subject) -> Interval:
        with torch.no_grad():
            values = self.function(subject)
        if isinstance(values, Interval):
            return values
        sample = self.sample
        clusters = None if sample is None else subject.packages_of(*sample, units=len(values))
        return rules.interval(values, clusters)

    def decision(self, models: Sequence[Subject] = ()) -> "Decision":
        """Try the rule on models that differ in their seed: by default, those of the book.

        Controls are made from the first of them.
        """
        of_the_book = [] if models else subjects.of_seeds(self.claim.of)
        asked = [*models] or [self.trained(subject) for subject in of_the_book]
        asked = asked[:1] if self.pooled else asked
        seeds, single = {subject.name: self.interval(subject) for subject in asked}, rules.ALONE
        if self.pooled:
            [mean] = seeds.values()
            seeds, single = {self.pooled: mean}, f"the mean of {mean.n} {self.mean_of}"
        beside = self.beside(asked[0]) if models else recorded.beside(self, asked[0])
        windows = self.sample[0] if self.sample else 0

        def judged(of_seeds: Mapping, of_controls: Mapping, **options) -> tuple[str, str]:
            """Verdict on the seeds in one way to look at them, and its reason."""
            had = {name: estimate for name, estimate in of_controls.items() if estimate}
            verdict = rules.verdict(self.claim, of_seeds, had, windows=windows, **options)
            return self._of_some(verdict, of_seeds, had) if self.claim.sometimes else verdict

        planted = {
            plant.name: beside[f"planted, {plant.name}"] or rules.NOTHING for plant in self._plants
        }
        must: dict = {"planted": planted}
        if isinstance(graded := self.planted, Graded):
            by_size = dict(zip(graded.of, planted.values(), strict=True))
            must = {"power": rules.Power(graded.what, graded.counts, by_size)}
        controls = {name: beside[name] for name in self._control_names()}
        unit = self.mean_of or "units"
        verdict = judged(seeds, controls, single=single, unit=unit, **must)
        other: dict[str, Interval] = {}
        if self.also:
            other = {subject.name: self.interval(self.also(subject)) for subject in asked}
            there = {name: beside[name] for name in self._control_names(f", {self.also.name}")}
            controls |= {name: estimate for name, estimate in there.items() if estimate}
            again, way = judged(other, there), self.also.name
            verdict = rules.in_both(verdict, again, way, of_basis=self.reads_basis)
        return Decision(self, *verdict, seeds, controls, planted, other)

    def _control_names(self, way: str = "") -> list[str]:
        """Names of the controls in verdicts; `way`: another way to look at the model, if any."""
        return [
            control.name
            + (f", {self.draws} draws" if self.draws > 1 and isinstance(control, Drawn) else "")
            + way
            for control in self.controls
        ]

    def beside(self, subject: Subject) -> dict[str, Interval | None]:
        """Values on the controls, where the rule must fail, and on plants; by name.

        None for a control that cannot be made.
        """
        estimates = {}
        for name, control in zip(self._control_names(), self.controls, strict=True):
            estimates[name] = self._on(control, subject)
            if self.also:
                # Changed before and after the control is made: the basis in which the subject is
                # stored must have no effect on a control in the white basis.
                estimates[f"{name}, {self.also.name}"] = self._on(
                    control, self.also(subject), self.also
                )
        planted = {
            f"planted, {plant.name}": self.interval(plant(subject)) for plant in self._plants
        }
        return estimates | planted

    @property
    def _plants(self) -> list[Control]:
        """Subjects with the effect built in: one, or one of each size, the smallest first."""
        if isinstance(self.planted, Graded):
            return [*self.planted.of.values()]
        return [self.planted] if self.planted else []

    def _of_some(
        self, verdict: tuple[str, str], seeds: dict[str, Interval], controls: dict[str, Interval]
    ) -> tuple[str, str]:
        """Verdict on a claim about some models only: one shows it, and a few do not refute it."""
        seen = {name: value for name, value in seeds.items() if rules.beyond(self.claim, value)}
        if seen:
            of_seen, why = rules.verdict(self.claim, seen, controls)
            how_many = f"in {len(seen)} of {len(seeds)} seeds, and it is claimed of some models"
            return of_seen, how_many if of_seen == rules.REPRODUCED else why
        if verdict[0] == rules.NOT_REPRODUCED:
            return rules.NO_CASE, f"in none of {len(seeds)} models, and it is claimed of some"
        return verdict

    def _on(
        self,
        control: Control,
        subject: Subject,
        looked_at: Callable[[Subject], Subject] | None = None,
    ) -> Interval | None:
        """Value on a control, or on its draws; `looked_at` in another way, if the subject is.

        None if the control cannot be made, as happens with a reader's own model.
        """
        several = self.draws > 1 and isinstance(control, Drawn)
        made: Iterable[Callable[[], Subject]] = [functools.partial(control, subject)]
        if several:
            draw = control.anew if looked_at else control.draw
            made = [functools.partial(draw, subject, seed) for seed in range(1, 1 + self.draws)]
        estimates = []
        for make in made:
            try:
                drawn = looked_at(make()) if looked_at else make()
            except subjects.Unavailable:
                return None
            estimates.append(self.interval(drawn))
        return rules.of_draws([value.mean for value in estimates]) if several else estimates[0]

    def decide(self) -> None:
        """Show the verdict; it counts on the scorecard."""
        decision = self.decision()
        if "IPython" in sys.modules:
            from IPython.display import display

            display(decision)
        else:
            print(decision)


@dataclass(frozen=True)
class Decision:
    """Verdict with all its evidence. Jupyter shows it; its output's metadata has its record."""

    measurement: Measurement
    verdict: str
    """Verdict, one of `rules.VERDICTS`."""
    why: str
    seeds: dict[str, Interval]
    controls: dict[str, Interval | None]
    """Values on the controls; None for one that a reader's own model without siblings lacks."""
    planted: dict[str, Interval]
    """Values on the plant, or on its sizes, by name; empty if there is none."""
    other: dict[str, Interval] = field(default_factory=dict)
    """Seeds measured in another way; empty if there is none (`claim`, `also`)."""

    @property
    def _beside(self) -> dict[str, Interval | None]:
        """Values on controls and plants, by name."""
        return self.controls | {f"planted, {name}": of for name, of in self.planted.items()}

    @property
    def _once_more(self) -> dict[str, Interval | None]:
        """Seeds measured in another way, under names of their own."""
        return {f"{Path(name).name}, {self._way}": value for name, value in self.other.items()}

    @property
    def _way(self) -> str:
        """Name of the other way to look at the seeds, or ""."""
        return self.measurement.also.name if self.measurement.also else ""

    @property
    def _claim(self) -> Claim:
        return self.measurement.claim

    @property
    def finding(self) -> str:
        """Finding in a sentence."""
        beside = self.controls, self.other, self._way
        return findings.say(self._claim, self.verdict, self.seeds, *beside)

    @property
    def _said(self) -> str:
        """Reason for the verdict, who makes the claim, and the claim, in a line."""
        claim = self._claim
        return f"{self.why}. {claim.by[:1].upper()}{claim.by[1:]}: {claim.statement}."

    def __str__(self) -> str:
        """Finding, verdict and numbers in lines, in the unit of the sentence, as the plot of the page."""
        unit = self._claim.unit
        threshold = written(findings.scaled(self._claim.threshold, unit), ".3g")
        must = f"must be {self._claim.side} {threshold}"
        ours = ", ".join(str(_scaled(estimate, unit)) for estimate in self.seeds.values())
        others = "".join(
            f"; {name} {_or_not(estimate and _scaled(estimate, unit))}"
            for name, estimate in self.controls.items()
        )
        named = ", ".join(filter(None, [findings.called(unit), must]))
        verdict = f"{rules.SYMBOLS[self.verdict]} {self.verdict}: {self._said}"
        return f"{self.finding}\n{verdict}\n{named}: {ours}{others}"

    @property
    def _held_to(self) -> tuple[float, str]:
        return self._claim.threshold, self._claim.side

    @property
    def _written(self) -> dict:
        """Unit of the shown numbers, and the function that converts to it."""
        unit = self._claim.unit
        return {
            "unit": findings.called(unit),
            "scaled": functools.partial(findings.scaled, unit=unit),
        }

    @property
    def _strip(self) -> str:
        """Plot with a row for each seed, control and plant; what is seen in another way is beside it."""
        ends = f", {self._way}"

        def row(*estimates: Interval | None) -> list[forest_plot.Span | None]:
            return [(e.mean, e.low, e.high) if e and e.n else None for e in estimates]

        def rows(estimates: Mapping[str, Interval | None]) -> dict:
            return {
                name: row(estimate, *([estimates[name + ends]] if name + ends in estimates else []))
                for name, estimate in estimates.items()
                if estimate and not (self.other and name.endswith(ends))
            }

        groups = {
            "": {
                self._called(name): row(estimate, *([self.other[name]] if self.other else []))
                for name, estimate in self.seeds.items()
            },
            "Controls: the rule must fail": rows(self.controls),
        }
        if self.planted:
            must = "" if isinstance(self.measurement.planted, Graded) else ": it must hold"
            groups[f"Planted{must}"] = rows(self.planted)
        stored = "as stored" if self.measurement.reads_basis else "as it is"
        return forest_plot.strip(
            groups,
            *self._held_to,
            **self._written,
            measured=self.measurement.measures,
            ways=[stored, self._way] if self.other else [],
        )

    def _called(self, name: str) -> str:
        """Name of a model in a strip: of one of the book's, its seed."""
        seed = re.fullmatch(rf"{self._claim.of}(?:-seed-(\d+))?", name)
        return f"seed {seed[1] or 0}" if seed else Path(name).name

    @property
    def _folded(self) -> str:
        """Source of the measuring function, in a fold."""
        source = inspect.getsource(self.measurement.function)
        code = html.escape(source[source.index("def ") :])  # what is said of the claim stands above
        ways = "; ".join(self.measurement.left_alone_by)
        same = f"<p>Written down otherwise, the same function must come to the same: {ways}.</p>"
        summary = "<summary>How it is measured</summary>"
        return f"<details>{summary}{same}<pre><code>{code}</code></pre></details>"

    @property
    def _paragraphs(self) -> str:
        """Mark, sentence, and line of the verdict, as HTML."""
        kind = self.verdict.replace(" ", "-")
        mark = f'<b class="mark {kind}" aria-hidden="true">{rules.SYMBOLS[self.verdict]}</b>'
        why = f'<p class="claim"><b>{self.verdict}</b>: {html.escape(self._said)}</p>'
        return f"{mark}{findings.as_html(self.finding)}{why}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        page = f'<div class="verdict">{self._paragraphs}{self._strip}{self._folded}</div>'
        shown = {"text/html": page}
        shown["text/plain"] = str(self)
        return shown, self.record.metadata

    @property
    def record(self) -> Record:
        """Record for the scorecard and the manifest; of each estimate mean, ends and n."""
        measured = self.seeds | self._once_more | self._beside
        details = {
            "verdict": self.verdict,
            "why": self.why,
            "seeds": {name: _json(estimate) for name, estimate in self.seeds.items()},
            "controls": {name: _json(estimate) for name, estimate in self.controls.items()},
            "other": {name: _json(estimate) for name, estimate in self.other.items()},
            "finding": self.finding,
            "strip": self._strip,
        }
        return Record(
            "verdict",
            self._claim.statement,
            ", ".join(map(str, self.seeds.values())),
            {
                name: astuple(estimate)
                for name, estimate in measured.items()
                if estimate and estimate.n
            },
            claim=self._claim.id,
            details=details,
        )


def _scaled(estimate: Interval, unit: str) -> Interval:
    """Estimate as sentences with this unit write it."""
    mean, low, high = (
        findings.scaled(x, unit) for x in (estimate.mean, estimate.low, estimate.high)
    )
    return Interval(mean, low, high, estimate.n)


def _json(estimate: Interval | None) -> dict | None:
    return asdict(estimate) if estimate and estimate.n else None


def _or_not(estimate: Interval | None) -> str:
    return "unavailable" if estimate is None else str(estimate)
