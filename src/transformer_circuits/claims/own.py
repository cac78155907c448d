"""Every rule on a model of the reader's own: the scorecard of `python -m transformer_circuits scorecard`."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tabulate import tabulate

from transformer_circuits.analysis.head_roles import SHORTEST
from transformer_circuits.claims import catalogue, subjects
from transformer_circuits.claims.measurement import Measurement
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model import general
from transformer_circuits.training import checkpoint

COLUMNS = {"claim": 26, "made in, reported": 20, "estimate (95 % interval), by seed": 18,
           "must be": 22, "controls": 22, "verdict": 18}  # fmt: skip
"""What is printed, and the width of each column in characters."""
ALL_FORMS: Mapping[str, tuple[str, ...]] = {
    "induction-random": general.all_but(general.OUTPUTS),
    "induction-head-exists": general.ALL,
    "induction-mechanism": general.all_but(general.OUTPUTS),
    "k-composition": (general.NORM, general.STREAM, general.BIASES),
    "only-k-composition": (general.NORM, general.STREAM, general.BIASES),
}
"""Rules that know a model of another form than the paper's: which of `general.FORMS` each takes."""


def rows(subject: Subject) -> Iterator[dict[str, str]]:
    """What each rule comes to on a model, in the order of the claims; the same columns as in the book.

    What cannot be measured, for want of a training log or a sibling, say, is unavailable. A rule of
    a model of another shape is left out: with more or fewer layers, or with MLPs where this has none.
    Whatever else goes wrong in a measurement is a bug, and no verdict.
    """
    for measurement in catalogue.measurements().values():
        claim = measurement.claim
        told = {
            "claim": f"{claim.statement} ({claim.id})",
            "made in, reported": f"{claim.section}: {claim.reported}",
        }
        yield told | _found(measurement, subject)


def unknown_forms(rule: str, subject: Subject) -> list[str]:
    """What the model has of `general.FORMS` that a rule does not take into account."""
    takes = ALL_FORMS.get(rule, ())
    return [form for form in general.FORMS if form in subject.model.forms and form not in takes]


def _found(measurement: Measurement, subject: Subject) -> dict[str, str]:
    wanted, _ = checkpoint.settings(measurement.rule.of)
    given = subject.model.config
    nothing = {"estimate (95 % interval), by seed": "", "must be": "", "controls": ""}
    if (wanted.n_layers, bool(wanted.d_mlp)) != (given.n_layers, bool(given.d_mlp)):
        mlps = " and MLPs" if wanted.d_mlp else ""
        return {**nothing, "verdict": f"left out: for {wanted.n_layers} layers{mlps}"}
    if given.n_layers and given.n_ctx < SHORTEST:
        return {**nothing, "verdict": f"left out: for contexts of at least {SHORTEST} tokens"}
    if unknown := unknown_forms(measurement.claim_id, subject):
        return {**nothing, "verdict": f"left out: it does not know {unknown[0]}"}
    try:
        return measurement.decision([subject]).row
    except subjects.NotToBeHad as error:
        return {**nothing, "verdict": f"unavailable: {error}"}


def scorecard(place: Path) -> str:
    """The whole table as text, for the model in a folder."""
    subject = subjects.of_folder(place)
    cells = [[row[name] for name in COLUMNS] for row in rows(subject)]
    shown = tabulate(
        cells, [*COLUMNS], tablefmt="grid", disable_numparse=True,
        maxcolwidths=[*COLUMNS.values()], maxheadercolwidths=[*COLUMNS.values()],
    )  # fmt: skip
    return (
        f"{shown}\nOne model is one seed: what it says holds for {place} alone. Every rule that is "
        "about text uses this book's tokens; if the model reads others, disregard it."
    )
