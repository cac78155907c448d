"""Tables of every claim and every measurement: for the scorecard, and for tests of all rules."""

from functools import cache

from transformer_circuits.claims import (
    about_attention_heads,
    about_composition,
    about_copying,
    about_five_years_on,
    about_heads_over_text,
    about_how_they_form,
    about_how_they_work,
    about_induction,
    about_one_layer,
    about_remarks,
    about_residual_stream,
    about_skip_trigrams,
    about_term_importance,
    about_the_correction,
    about_why_they_form,
    about_zero_layers,
    claim,
    recorded,
)
from transformer_circuits.claims.claim import Claim
from transformer_circuits.claims.measurement import Measurement

MODULES = (
    about_residual_stream, about_attention_heads, about_zero_layers, about_one_layer,
    about_skip_trigrams, about_copying, about_composition, about_induction, about_how_they_work,
    about_how_they_form, about_term_importance, about_five_years_on, about_heads_over_text,
    about_why_they_form, about_the_correction, about_remarks,
)  # fmt: skip


@cache
def measurements() -> dict[str, Measurement]:
    """Measurements, by the claim that each decides, in the order of modules.

    Raises:
        ValueError: if two measurements decide one claim.
    """
    by_claim: dict[str, Measurement] = {}
    for module in MODULES:
        for value in vars(module).values():
            if not isinstance(value, Measurement):
                continue
            if by_claim.setdefault(value.claim.id, value) is not value:
                raise ValueError(f"{value.claim.id} is decided twice")
    return by_claim


@cache
def claims() -> dict[str, Claim]:
    """Claims, by id: chapter after chapter, then those that were not tested.

    Raises:
        ValueError: if a row of `data/claims.toml` has the id of a claim that a rule decides.
    """
    ruled = {name: measurement.claim for name, measurement in measurements().items()}
    if twice := ruled.keys() & claim.table().keys():
        raise ValueError(f"in data/claims.toml and at a measurement: {', '.join(sorted(twice))}")
    return dict(sorted((claim.table() | ruled).items(), key=lambda row: row[1].chapter or "~"))


def testable(name: str) -> Claim:
    """Claim with this id.

    Raises:
        ValueError: if there is no such claim, or it counts as not testable.
    """
    claim_of_name = claims().get(name)
    if claim_of_name is None or not claim_of_name.chapter:
        raise ValueError(f'there is no testable claim "{name}"')
    return claim_of_name


def measured_again() -> list[str]:
    """Claims whose controls a chapter measures itself, since `recorded` has them of other code."""
    return [
        name for name, measurement in measurements().items() if not recorded.matches(measurement)
    ]
