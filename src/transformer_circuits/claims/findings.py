"""Sentences for verdicts: a claim's own for its present verdict, a general one for any other.

A sentence states the finding. These places in it are filled from the measurement:

{range}      values, from the least to the most of the seeds, with the unit
{off}        distance of the values from the threshold, without signs
{threshold}  the claim's
{other}      values in the other way to look at the models, where there is one
{seeds}      "all three seeds"; {beyond}: "two of three seeds", those beyond the threshold
{units}      least number of independent units
{interval}   range of the mean in 95 of 100 such measurements, over all seeds
{untrained}, {one_layer}, {two_layers}   values of these controls

The unit "%" or "percentage points" shows a hundred times the value; "doublings" shows two to its
power, a number of times.
"""

import html
import math
import re
from collections.abc import Iterable, Mapping

from transformer_circuits.claims import rules
from transformer_circuits.claims.claim import Claim
from transformer_circuits.claims.rules import Interval
from transformer_circuits.figures.values import written

ANSWERS = {rules.REPRODUCED: "Yes: ", rules.MIXED: "In part: ", rules.NOT_REPRODUCED: "No: "}
"""Opening of a sentence that answers, by verdict."""
CONTROL_PASSES = f"{rules.UNDECIDED}, as a control passes"
WAYS_DIFFER = f"{rules.UNDECIDED}, as two ways to look differ"
SIDE_BY_SIDE = (
    "Asked whether {whether}. {stored}: {first} ({range}). {there}: {otherwise} ({other})."
)
"""Two short answers, for two ways to look at one model."""
GENERAL = {
    rules.REPRODUCED: "{whether}, in {beyond}: we measure {range}, and {side} {threshold} was asked.",
    rules.MIXED: "{whether}, in {beyond}: we measure {range}, and {side} {threshold} was asked.",
    rules.NOT_REPRODUCED: "asked whether {whether}, we measure {range}, and {side} {threshold} was asked.",
    rules.UNDECIDED: "Whether {whether}, by as much as was asked, stays open: {range} "
    "({interval}), and {side} {threshold} was asked.",
    CONTROL_PASSES: "Asked whether {whether}, our test does not answer: {range} is enough, but what "
    "must fail it passes, too ({passed}).",
    WAYS_DIFFER: SIDE_BY_SIDE,
    rules.UNPOWERED: "Asked whether {whether}, our test does not answer: it would not have seen an "
    "effect of the size that counts.",
    rules.NO_CASE: "Our models do not show whether {whether}: they have no case of it.",
    rules.DEPENDS: SIDE_BY_SIDE,
}
"""Sentence by verdict for claims without one of their own; {whether} is the claim's statement."""
CONTROLS = ("untrained", "one layer", "two layers")
"""Controls that a sentence may compare with, if the claim has them."""
NOTHING = "At present, none of what this page tells."
"""Paragraph of verdicts that no claim has."""
NO_NUMBER = "(not to be had)"
"""Text for a missing value, as for a control that a reader's own model lacks."""
WHITE = "white basis"
"""Name of the basis in which the stream is white."""
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_PERCENT = ("%", "percentage points")
_ONE_OF_TWO = r"(?<=\. )(As|With|In) [\w ]+: (yes|no case|no|in part|open)\b"


def as_html(sentence: str) -> str:
    """Paragraph in HTML, with its answer, or both of them, in bold."""
    answers = (answer for answer in ANSWERS.values() if sentence.startswith(answer))
    answer = next(answers, "")
    rest = html.escape(sentence.removeprefix(answer))
    answer = f"<strong>{answer.strip()}</strong> " if answer else ""
    rest = re.sub(_ONE_OF_TWO, r"<strong>\g<0></strong>", rest)
    return f'<p class="finding">{answer}{rest}</p>'


def scaled(value: float, unit: str) -> float:
    """Value as a sentence with this unit writes it: of doublings, the number of times."""
    return 2**value if unit == "doublings" else 100 * value if unit in _PERCENT else value


def called(unit: str) -> str:
    """Unit to print beside a `scaled` value: "times" for doublings, else the unit itself."""
    return "times" if unit == "doublings" else unit


def bare(sentence: str) -> str:
    """Sentence as part of a text that asked nothing: without the answer, and "in all seeds", before it.

    >>> bare("No: heads look at the text."), bare("Yes: in all three seeds heads copy.")
    ('Heads look at the text.', 'Heads copy.')
    """
    sentence = re.sub(
        r"^(Yes|No|In part): (in (all \w+ seeds|both seeds|the one seed),? )?", "", sentence
    )
    return sentence[:1].upper() + sentence[1:]


def say(
    claim: Claim,
    verdict: str,
    seeds: Mapping[str, Interval],
    controls: Mapping[str, Interval | None],
    other: Mapping[str, Interval] | None = None,
    way: str = "",
) -> str:
    """Sentence of a claim for a verdict, with the numbers of its seeds and controls.

    `other`: the seeds measured in another way, whose name is `way`.
    """
    passed = [
        name for name, estimate in controls.items() if estimate and rules.holds(claim, estimate)
    ]
    n_beyond = sum(rules.beyond(claim, estimate) for estimate in seeds.values())
    ends_with_way = f", {way}" if way else "\0"
    first, otherwise = (
        _answer(
            claim,
            estimates,
            {n: c for n, c in controls.items() if c and n.endswith(ends_with_way) == is_other},
        )
        for estimates, is_other in ((seeds, False), (other or {}, True))
    )
    kind = verdict
    if verdict == rules.UNDECIDED and other and first != otherwise:
        kind = WAYS_DIFFER
    elif verdict == rules.UNDECIDED and passed and n_beyond == len(seeds):
        kind = CONTROL_PASSES
    wording = claim.found if claim.found and verdict == claim.verdict else GENERAL[kind]
    unit, means = claim.unit, [estimate.mean for estimate in seeds.values()]
    stored, there = (
        ("As stored", "With the stream white") if way == WHITE else ("As it is", f"In {way}")
    )
    places = {
        "range": _range(means, unit),
        "off": _range((abs(mean - claim.threshold) for mean in means), unit),
        "threshold": _range([claim.threshold], unit),
        "side": claim.side,
        "other": _range((value.mean for value in (other or {}).values() if value.n), unit),
        "first": first,
        "otherwise": otherwise,
        "stored": stored,
        "there": there,
        "seeds": _of_seeds(len(seeds), len(seeds)),
        "beyond": _of_seeds(n_beyond, len(seeds)),
        "interval": _range(
            (end for estimate in seeds.values() for end in (estimate.low, estimate.high)), unit
        ),
        "units": str(min((estimate.n for estimate in seeds.values()), default=0)),
        "passed": ", ".join(passed),
        "whether": claim.whether or claim.statement,
    }
    for name in CONTROLS:
        estimate = controls.get(name)
        places[name.replace(" ", "_")] = _range([estimate.mean] if estimate else [], unit)
    return ANSWERS.get(verdict, "") + wording.format(**places)


def _answer(claim: Claim, seeds: Mapping[str, Interval], controls: Mapping[str, Interval]) -> str:
    """Answer of a rule on these seeds, in a word or two; without one, "open" or "no case"."""
    verdict = rules.verdict(claim, seeds, controls)[0] if seeds else rules.NO_CASE
    unanswered = verdict if verdict == rules.NO_CASE else "open"
    return ANSWERS.get(verdict, unanswered).strip(": ").lower()


def _of_seeds(n: int, n_seeds: int) -> str:
    if n_seeds == 1:
        return "the one seed" if n else "no seed"
    if n == n_seeds:
        return f"all {_word(n_seeds)} seeds" if n_seeds > 2 else "both seeds"
    return f"{_word(n)} of {_word(n_seeds)} seeds"


def _word(n: int) -> str:
    return _WORDS[n] if n < len(_WORDS) else str(n)


def _range(values: Iterable[float], unit: str) -> str:
    """Range from the least to the most, with the unit; in words, if there is nothing, or no number."""
    values = sorted(scaled(value, unit) for value in values)
    if not values or any(map(math.isnan, values)):
        return NO_NUMBER
    digits = 3 if unit == "doublings" else 2
    least, most = (_number(value, digits) for value in (values[0], values[-1]))
    shown = least if least == most else f"{least} to {most}"
    return shown if shown == "0" or unit in ("", "doublings") else f"{shown}\u00a0{unit}"


def _number(value: float, digits: int) -> str:
    """Number to so many significant digits; one more near a hundred, so that 99.6 does not show as 100."""
    short = float(f"{value:.{digits + (abs(value) >= 99)}g}")
    return written(short, "g")
