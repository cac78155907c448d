"""What is found, in a sentence: `data/findings.toml` has one for every verdict, and the verdict chooses.

A sentence says what is the case. Its numbers are filled in from what was measured.
"""

import html
import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from transformer_circuits import files
from transformer_circuits.claims import registry, rules
from transformer_circuits.claims.rules import Interval
from transformer_circuits.figures.values import written

if TYPE_CHECKING:
    from transformer_circuits.claims.measurement import Decision

ANSWERS = {rules.REPRODUCED: "Yes: ", rules.MIXED: "In part: ", rules.NOT_REPRODUCED: "No: "}
"""The verdicts for which every claim has its own sentence, and what stands before it."""
CONTROL_PASSES = f"{rules.UNDECIDED}, as a control passes"
BASES_DIFFER = f"{rules.UNDECIDED}, as the bases differ"
GENERAL = (
    rules.UNDECIDED,
    CONTROL_PASSES,
    BASES_DIFFER,
    rules.UNPOWERED,
    "no case",
    "depends on the basis",
)
"""What has a sentence for all claims; a claim may have its own."""
CONTROLS = ("untrained", "one layer", "two layers")
"""What a sentence may compare with, if it is among the claim's controls."""
NOTHING = "At present, none of what this page tells."
"""The paragraph of verdicts that no claim has."""
NO_NUMBER = "(not to be had)"
"""Stands for what was not measured, as a control that a reader's own model lacks."""
WHITE = ", white basis"
"""With what the name of a control in the white basis ends."""
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_PERCENT = ("%", "percentage points")


@cache
def read() -> dict[str, dict[str, str]]:
    """The sentences of each claim that a rule decides, by verdict; with `unit` and `whether`, if given.

    Those for all claims are under "general".
    """
    return files.read_toml(files.data_dir() / "findings.toml")


def sentence(decision: "Decision") -> str:
    """What a decision found."""
    return say(
        decision.measurement.claim_id,
        decision.verdict,
        decision.seeds,
        decision.controls,
        decision.white,
        decision.other,
    )


def as_html(decision: "Decision") -> str:
    """The sentence as a paragraph that opens with its answer."""
    answer = ANSWERS.get(decision.verdict, "")
    rest = html.escape(sentence(decision).removeprefix(answer))
    answer = f"<strong>{answer.strip()}</strong> " if answer else ""
    return f'<p class="finding"><span>We find</span> {answer}{rest}</p>'


def unit(claim_id: str) -> str:
    """The unit of a claim's estimates as they are measured: shares of one, where sentences have percent."""
    given = shown_unit(claim_id)
    return "share of 1" if given in _PERCENT else given or "no unit"


def shown_unit(claim_id: str) -> str:
    """The unit that a claim's sentences have; "", if there is none."""
    return read()[claim_id].get("unit", "")


def scaled(value: float, unit: str) -> float:
    """What was measured, as a sentence with this unit writes it; of doublings, how many times it is."""
    return 2**value if unit == "doublings" else 100 * value if unit in _PERCENT else value


def called(unit: str) -> str:
    """What `scaled` numbers of a unit are numbers of."""
    return "times" if unit == "doublings" else unit


def bare(said: str) -> str:
    """A sentence as part of a text that asked nothing: without the answer, and "in all seeds", before it.

    >>> bare("No: heads look at the text."), bare("Yes: in all three seeds heads copy.")
    ('Heads look at the text.', 'Heads copy.')
    """
    said = re.sub(r"^(Yes|No|In part): (in (all \w+ seeds|both seeds|the one seed),? )?", "", said)
    return said[:1].upper() + said[1:]


def opened(said: str) -> tuple[str, str, str]:
    """With what a sentence of `general` opens, whether what, and what is said of it; else only the last.

    >>> opened("We cannot tell whether heads copy: 60 % is not clear of 50 %.")
    ('We cannot tell whether', 'heads copy', '60 % is not clear of 50 %.')
    """
    for wording in read()["general"].values():
        opening, found, _ = wording.partition(" {whether}: ")
        if found and said.startswith(f"{opening} "):
            whether, _, rest = said.removeprefix(f"{opening} ").partition(": ")
            return opening, whether, rest
    return "", "", said


def say(
    claim_id: str,
    verdict: str,
    seeds: Mapping[str, Interval],
    controls: Mapping[str, Interval | None],
    white: Mapping[str, Interval] | None = None,
    other: Mapping[str, Interval] | None = None,
) -> str:
    """The sentence of a claim for a verdict, with the numbers of its seeds and controls.

    `white`: the seeds once more, in the basis in which the stream is white; `other`: looked at in
    another way.
    """
    sentences, general, rule = read()[claim_id], read()["general"], registry.rules()[claim_id]
    passed = [
        name for name, estimate in controls.items() if estimate and rules.holds(rule, estimate)
    ]
    n_beyond = sum(rules.beyond(rule, estimate) for estimate in seeds.values())
    as_stored = _answer(rule, seeds, _of(controls, white=False))
    in_white = _answer(rule, white or {}, _of(controls, white=True))
    if verdict == rules.UNDECIDED and white and as_stored != in_white:
        verdict = BASES_DIFFER
    elif verdict == rules.UNDECIDED and passed and n_beyond == len(seeds):
        verdict = CONTROL_PASSES
    wording = sentences.get(verdict) or general[verdict]
    unit, means = shown_unit(claim_id), [estimate.mean for estimate in seeds.values()]
    of_white = [estimate.mean for estimate in (white or {}).values() if estimate.n]
    places = {
        "range": _range(means, unit),
        "size": _range(map(abs, means), unit),
        "off": _range((abs(mean - rule.threshold) for mean in means), unit),
        "threshold": _range([rule.threshold], unit),
        "white": _range(of_white, unit),
        "as_stored": as_stored,
        "in_white": in_white,
        "other": _range((one.mean for one in (other or {}).values() if one.n), unit),
        "seeds": _of_seeds(len(seeds), len(seeds)),
        "beyond": _of_seeds(n_beyond, len(seeds)),
        "interval": _range(
            (end for estimate in seeds.values() for end in (estimate.low, estimate.high)), unit
        ),
        "units": str(min((estimate.n for estimate in seeds.values()), default=0)),
        "passed": ", ".join(passed),
        "whether": sentences.get("whether") or registry.read()[claim_id].statement,
    }
    for name in CONTROLS:
        estimate = controls.get(name)
        places[name.replace(" ", "_")] = _range([estimate.mean] if estimate else [], unit)
    return ANSWERS.get(verdict, "") + wording.format(**places)


def _answer(
    rule: rules.Rule, seeds: Mapping[str, Interval], controls: Mapping[str, Interval]
) -> str:
    """What a rule says of these seeds, in a word or two; where nothing decides, "undecided" or "no case"."""
    verdict = rules.verdict(rule, seeds, controls)[0] if seeds else rules.NO_CASE
    other = verdict if verdict == rules.NO_CASE else rules.UNDECIDED
    return ANSWERS.get(verdict, other).strip(": ").lower()


def _of(controls: Mapping[str, Interval | None], *, white: bool) -> dict[str, Interval]:
    """The controls that are there, in one of the two bases."""
    return {
        name: estimate
        for name, estimate in controls.items()
        if estimate and name.endswith(WHITE) == white
    }


def _of_seeds(n: int, of: int) -> str:
    if of == 1:
        return "the one seed" if n else "no seed"
    if n == of:
        return f"all {_word(of)} seeds" if of > 2 else "both seeds"
    return f"{_word(n)} of {_word(of)} seeds"


def _word(n: int) -> str:
    return _WORDS[n] if n < len(_WORDS) else str(n)


def _range(values: Iterable[float], unit: str) -> str:
    """From the least to the most, with the unit; in words, if there is nothing, or no number."""
    values = sorted(scaled(value, unit) for value in values)
    if not values or any(map(math.isnan, values)):
        return NO_NUMBER
    digits = 3 if unit == "doublings" else 2
    least, most = (_number(value, digits) for value in (values[0], values[-1]))
    shown = least if least == most else f"{least} to {most}"
    return shown if shown == "0" or unit in ("", "doublings") else f"{shown}\u00a0{unit}"


def _number(value: float, digits: int) -> str:
    """To so many digits that count; what is nearly a hundred has one more, or it would be a hundred."""
    short = float(f"{value:.{digits + (abs(value) >= 99)}g}")
    return written(short, "g")
