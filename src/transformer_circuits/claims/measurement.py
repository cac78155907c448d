"""How a claim about trained models is decided: `@claim(…)` binds it to the function that measures it."""

import functools
import html
import inspect
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
    controls: Sequence[Control],
    planted: Control | Graded | None = None,
    sample: Sample | None = None,
    draws: int = 1,
    moved_by: Sequence[str] = (),
    also: Control | None = None,
    trained: Callable[[Subject], Subject] = lambda subject: subject,
    mean_of: str = "",
    **words,
) -> Callable[[Callable], "Measurement"]:
    """Make a function the `Measurement` that decides a claim about trained models.

    The function takes a `Subject`, and returns one value for each independent unit that it was
    measured on (a document, a passage, a window), from which the interval follows; a single value,
    if it is a fact of the weights alone; values that are not a number, where a unit has nothing of
    the kind. Or it returns an `Interval`.

    `above` or `below`: the threshold, and on which side of it the claim holds. `words`: all else
    that is said of it, see `Claim`.
    `controls`: where the rule must fail. `planted`: where it must hold, for what is claimed was
    built in there; if in several sizes, it must see the one that counts.
    `sample`: the windows of text that units come from, so that those of one package are drawn
    together. `draws`: how many of each control that is `Drawn`, where the bound is near to what chance
    gives: it must be beyond all of them.
    `moved_by`: which of the other `rewritings` of the same function may move what is measured, as it
    counts heads, speaks of one, or of the very basis that training left; all the rest must not.
    `also`: another way to look at the same model. Where the claim is decided otherwise there, it is
    undecided; in the `white_basis`, a yes against a no *depends on the basis*.
    `trained`: for a claim about training, what a model of the book is made before it is measured:
    the same with the log of another training from its seed.
    `mean_of`: what the mean is over, if it is one for all that there is ("pairs" of trainings), so that
    the models' own seeds are not asked one by one.

    Raises:
        ValueError: unless one of `above` and `below` is given.
    """
    if (above is None) == (below is None):
        raise ValueError(
            f"{id} is above {above} and below {below}, but one of the two must be given"
        )
    side, threshold = ("below", below) if above is None else ("above", above)
    said = Claim(id=id, statement=statement, side=side, threshold=threshold, **words)
    return lambda function: Measurement(
        said,
        function,
        tuple(controls),
        planted,
        sample,
        draws,
        tuple(moved_by),
        also,
        trained,
        mean_of,
    )


@dataclass(eq=False)
class Measurement:
    """The function that decides a claim; called, it measures a subject."""

    claim: Claim
    function: Callable
    controls: tuple[Control, ...]
    planted: Control | Graded | None
    sample: Sample | None
    draws: int
    moved_by: tuple[str, ...]
    also: Control | None
    trained: Callable[[Subject], Subject]
    mean_of: str

    def __post_init__(self):
        functools.update_wrapper(self, self.function)

    def __call__(self, subject: Subject) -> Float[Tensor, "*unit"] | Interval:
        return self.function(subject)

    def __get__(self, instance, owner=None):  # like a function, so that Sphinx documents it as one
        return self

    @property
    def reads_basis(self) -> bool:
        """Whether another basis of the stream may give another value, so that two are asked."""
        return self.also is white_basis

    @property
    def left_alone_by(self) -> list[str]:
        """The rewritings of one function that must leave what is measured as it is."""
        moved = {*self.moved_by} | ({rewritings.BASIS} if self.reads_basis else set())
        if rewritings.BASIS in moved:  # a stream twice as wide is another basis, too
            moved.add(rewritings.EMBEDDED)
        return [way for way in rewritings.EVERY if way not in moved]

    @property
    def pooled(self) -> str:
        """What stands in the place of the seeds where the mean is over something else; or nothing."""
        return self.mean_of and f"mean of all {self.mean_of}"

    def interval(self, subject: Subject) -> Interval:
        """What is measured on a subject, with its interval; measured once."""
        return subjects.once(self._interval)(subject)

    def _interval(self, subject: Subject) -> Interval:
        with torch.no_grad():
            values = self.function(subject)
        if isinstance(values, Interval):
            return values
        sample = self.sample
        clusters = None if sample is None else subject.packages_of(*sample, units=len(values))
        return rules.interval(values, clusters)

    def decision(self, of: Sequence[Subject] = ()) -> "Decision":
        """Try the rule on models that differ in their seed: by default, those of the book.

        Controls are made of the first of them.
        """
        own = bool(of)
        of = of or [self.trained(subject) for subject in subjects.of_seeds(self.claim.of)]
        of = of[:1] if self.pooled else of
        seeds, single = {subject.name: self.interval(subject) for subject in of}, rules.ALONE
        if self.pooled:
            [mean] = seeds.values()
            seeds, single = {self.pooled: mean}, f"the mean of {mean.n} {self.mean_of}"
        beside = self.beside(of[0]) if own else recorded.beside(self, of[0])
        windows = self.sample[0] if self.sample else 0

        def asked(of_seeds: Mapping, of_controls: Mapping, **more) -> tuple[str, str]:
            """The verdict on the seeds as they are looked at in one way."""
            had = {name: estimate for name, estimate in of_controls.items() if estimate}
            verdict = rules.verdict(self.claim, of_seeds, had, windows=windows, **more)
            return self._of_some(verdict, of_seeds, had) if self.claim.sometimes else verdict

        planted, power = self._planted(beside)
        controls = {name: beside[name] for name in self._control_names()}
        unit = self.mean_of or "units"
        verdict = asked(seeds, controls, planted=planted, power=power, single=single, unit=unit)
        other: dict[str, Interval] = {}
        if self.also:
            other = {subject.name: self.interval(self.also(subject)) for subject in of}
            there = {name: beside[name] for name in self._control_names(f", {self.also.name}")}
            controls |= {name: estimate for name, estimate in there.items() if estimate}
            again, way = asked(other, there), self.also.name
            verdict = rules.in_both(verdict, again, way, of_basis=self.reads_basis)
        return Decision(self, *verdict, seeds, controls, planted, power, other)

    def _control_names(self, way: str = "") -> list[str]:
        """What the controls are called in verdicts; `way`: how the model is looked at, if otherwise."""
        return [
            control.name
            + (f", {self.draws} draws" if self.draws > 1 and isinstance(control, Drawn) else "")
            + way
            for control in self.controls
        ]

    def beside(self, subject: Subject) -> dict[str, Interval | None]:
        """What is measured where the rule must fail, and on what was planted; by name.

        None for a control that cannot be made.
        """
        found = {}
        for name, control in zip(self._control_names(), self.controls, strict=True):
            found[name] = self._on(control, subject)
            if self.also:
                # Made of the subject as it is looked at there, and then looked at so once more: the
                # basis that it was stored in has no say in a control in the white one.
                found[f"{name}, {self.also.name}"] = self._on(
                    control, self.also(subject), self.also
                )
        plants = [*self.planted.of.values()] if isinstance(self.planted, Graded) else []
        plants += [self.planted] if isinstance(self.planted, Control) else []
        return found | {f"planted, {one.name}": self.interval(one(subject)) for one in plants}

    def _planted(
        self, beside: Mapping[str, Interval | None]
    ) -> tuple[dict[str, Interval], rules.Power | None]:
        """What was planted, of all that was measured beside the seeds: in one size, or in several."""
        if isinstance(self.planted, Graded):
            of = {
                size: beside[f"planted, {one.name}"] or rules.NOTHING
                for size, one in self.planted.of.items()
            }
            return {}, rules.Power(self.planted.what, self.planted.counts, of)
        if self.planted is None:
            return {}, None
        return {self.planted.name: beside[f"planted, {self.planted.name}"] or rules.NOTHING}, None

    def _of_some(
        self, verdict: tuple[str, str], seeds: dict[str, Interval], controls: dict[str, Interval]
    ) -> tuple[str, str]:
        """The verdict where the claim is of some models only: one shows it, and no few refute it."""
        seen = {name: one for name, one in seeds.items() if rules.beyond(self.claim, one)}
        if seen:
            found, why = rules.verdict(self.claim, seen, controls)
            of = f"in {len(seen)} of {len(seeds)} seeds, and it is claimed of some models"
            return found, of if found == rules.REPRODUCED else why
        if verdict[0] == rules.NOT_REPRODUCED:
            return rules.NO_CASE, f"in none of {len(seeds)} models, and it is claimed of some"
        return verdict

    def _on(
        self,
        control: Control,
        subject: Subject,
        looked_at: Callable[[Subject], Subject] | None = None,
    ) -> Interval | None:
        """What is measured on a control, or on its draws; `looked_at` in another way, if the subject is.

        None, if the control cannot be made, which happens to a reader's own model.
        """
        several = self.draws > 1 and isinstance(control, Drawn)
        made: Iterable[Callable[[], Subject]] = [functools.partial(control, subject)]
        if several:
            draw = control.anew if looked_at else control.draw
            made = [functools.partial(draw, subject, seed) for seed in range(1, 1 + self.draws)]
        found = []
        for make in made:
            try:
                one = looked_at(make()) if looked_at else make()
            except subjects.NotToBeHad:
                return None
            found.append(self.interval(one))
        return rules.of_draws([one.mean for one in found]) if several else found[0]

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
    power: rules.Power | None = None
    """What the rule sees of an effect that was planted in several sizes."""
    other: dict[str, Interval] = field(default_factory=dict)
    """The seeds once more, looked at in another way; empty if there is none (`claim`, `also`)."""

    @property
    def _beside(self) -> dict[str, Interval | None]:
        """Controls, and what was planted."""
        planted = {f"planted, {name}": estimate for name, estimate in self.planted.items()}
        if self.power:
            of_size = self.power.estimates.items()
            planted = {
                f"planted, {self.power.what.format(f'{s:g}')}": estimate for s, estimate in of_size
            }
        return self.controls | planted

    @property
    def _once_more(self) -> dict[str, Interval | None]:
        """The seeds looked at in another way, under names of their own."""
        return {f"{Path(name).name}, {self._way}": one for name, one in self.other.items()}

    @property
    def _way(self) -> str:
        """What the other way to look at the seeds is called, if there is one."""
        return self.measurement.also.name if self.measurement.also else ""

    @property
    def _claim(self) -> Claim:
        return self.measurement.claim

    @property
    def _must(self) -> str:
        return f"{self._claim.side} {written(self._claim.threshold, 'g')}"

    @property
    def finding(self) -> str:
        """What was found, in a sentence."""
        beside = self.controls, self.other, self._way
        return findings.say(self._claim, self.verdict, self.seeds, *beside)

    @property
    def _said(self) -> str:
        """The claim, who makes it, and its verdict."""
        claim = self._claim
        told = f"{rules.SYMBOLS[self.verdict]} {self.verdict}: {self.why}"
        return f"{told}. {claim.by[:1].upper()}{claim.by[1:]}: {claim.statement}."

    def __str__(self) -> str:
        """In the unit of its sentence, as the plot of the page."""
        unit = self._claim.unit
        threshold = written(findings.scaled(self._claim.threshold, unit), ".3g")
        must = f"must be {self._claim.side} {threshold}"
        ours = ", ".join(str(_scaled(estimate, unit)) for estimate in self.seeds.values())
        others = "".join(
            f"; {name} {_or_not(estimate and _scaled(estimate, unit))}"
            for name, estimate in self.controls.items()
        )
        named = ", ".join(filter(None, [findings.called(unit), must]))
        return f"{self.finding}\n{self._said}\n{named}: {ours}{others}"

    @property
    def row(self) -> dict[str, str]:
        """What the scorecard shows of it, by column."""
        least = min(estimate.n for estimate in self.seeds.values())
        over = f", over {least} or more units" if least > 1 else ", one number per seed"
        return {
            "estimate (95 % interval), by seed": "; ".join(map(str, self.seeds.values()))
            + (over if least else ""),
            "must be": f"{self._must}: {self._claim.threshold_from}",
            "controls": "; ".join(
                f"{name} {_or_not(estimate)}"
                for name, estimate in (self._once_more | self._beside).items()
            ),
            "verdict": f"{self.verdict}: {self.why}",
        }

    def _forest_plot(self, *, whole: bool) -> str:
        """The seeds against the threshold; as a whole, with controls and what was planted beside them."""
        name = self.measurement.pooled or ("every seed" if len(self.seeds) > 1 else "one seed")
        rows = {name: _spans(self.seeds.values())}
        if self.other:
            rows[f"{name}, {self._way}"] = _spans(self.other.values())
        ours = [*rows]
        if whole:
            had = {
                name: estimate for name, estimate in self._beside.items() if estimate is not None
            }
            rows |= {name: _spans([estimate]) for name, estimate in had.items()}
        unit = self._claim.unit
        return forest_plot.forest_plot(
            rows,
            self._claim.threshold,
            self._claim.side,
            ours=ours,
            unit=findings.called(unit),
            scaled=functools.partial(findings.scaled, unit=unit),
        )

    @property
    def _folded(self) -> str:
        """The whole plot, and the function that measures: what was done to which tokens."""
        source = inspect.getsource(self.measurement.function)
        code = html.escape(source[source.index("def ") :])  # what is said of the claim stands above
        summary = "<summary>Controls, and how it is measured</summary>"
        code = f"<pre><code>{code}</code></pre>"
        ways = "; ".join(self.measurement.left_alone_by)
        same = f"<p>Written down otherwise, the same function must come to the same: {ways}.</p>"
        return f"<details>{summary}{self._forest_plot(whole=True)}{same}{code}</details>"

    @property
    def _paragraphs(self) -> str:
        """The sentence, and the line of the verdict."""
        kind = self.verdict.replace(" ", "-")
        return (
            f'{findings.as_html(self.finding)}<p class="claim {kind}">{html.escape(self._said)}</p>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        plot = self._forest_plot(whole=False)
        page = f'<div class="verdict">{self._paragraphs}{plot}{self._folded}</div>'
        shown = {"text/html": page}
        shown["text/plain"] = str(self)
        return shown, self.record.metadata

    @property
    def record(self) -> Record:
        """What it leaves for the scorecard and the manifest; of each estimate mean, ends and n."""
        measured = self.seeds | self._once_more | self._beside
        details = {
            "verdict": self.verdict,
            "why": self.why,
            "seeds": {name: _json(estimate) for name, estimate in self.seeds.items()},
            "controls": {name: _json(estimate) for name, estimate in self.controls.items()},
            "other": {name: _json(estimate) for name, estimate in self.other.items()},
            "row": self.row,
            "finding": self.finding,
            "forest plot": self._forest_plot(whole=True),
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


def _spans(estimates: Iterable[Interval]) -> list[forest_plot.Span]:
    return [(estimate.mean, estimate.low, estimate.high) for estimate in estimates if estimate.n]


def _scaled(estimate: Interval, unit: str) -> Interval:
    """An estimate as sentences with this unit write it."""
    mean, low, high = (
        findings.scaled(x, unit) for x in (estimate.mean, estimate.low, estimate.high)
    )
    return Interval(mean, low, high, estimate.n)


def _json(estimate: Interval | None) -> dict | None:
    return asdict(estimate) if estimate and estimate.n else None


def _or_not(estimate: Interval | None) -> str:
    return "unavailable" if estimate is None else str(estimate)
