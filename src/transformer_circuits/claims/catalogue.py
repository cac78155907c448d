"""Every measurement, by the claim that it decides: for whoever tries all rules, or asks which there are."""

from collections import Counter

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
    registry,
)
from transformer_circuits.claims.measurement import Measurement

MODULES = (
    about_residual_stream, about_attention_heads, about_zero_layers, about_one_layer,
    about_skip_trigrams, about_copying, about_composition, about_induction, about_how_they_work,
    about_how_they_form, about_term_importance, about_five_years_on, about_heads_over_text,
    about_why_they_form, about_the_correction, about_remarks,
)  # fmt: skip


def measurements() -> dict[str, Measurement]:
    """In the order of `data/claims.toml`.

    Raises:
        ValueError: if a rule has no measurement, a measurement no rule, or a claim two measurements.
    """
    of_modules = (value for module in MODULES for value in vars(module).values())
    measured = {measurement for measurement in of_modules if isinstance(measurement, Measurement)}
    if odd := Counter(measurement.claim_id for measurement in measured) - Counter(
        [*registry.rules()]
    ):
        raise ValueError(f"measured without a rule, or twice: {', '.join(odd)}")
    by_claim = {measurement.claim_id: measurement for measurement in measured}
    if missing := registry.rules().keys() - by_claim:
        raise ValueError(f"not measured, though there is a rule: {', '.join(sorted(missing))}")
    return {name: by_claim[name] for name in registry.rules()}
