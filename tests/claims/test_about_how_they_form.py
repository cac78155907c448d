"""Rules of formation on logs made for it: heads that form as claimed, and placebos."""

import dataclasses
import math
import re

import numpy as np
import pytest
import torch

from transformer_circuits.claims import about_how_they_form, rules
from transformer_circuits.text import corpus

TOKENS = [1000 * k for k in range(1, 101)]


def rise(at, width=0.12):
    """From almost 0 to almost 1 around so many tokens; the width is in e-foldings of tokens."""
    return 1 / (1 + np.exp(-(np.log(TOKENS) - math.log(at)) / width))


def log_of(loss, context, previous, matching):
    columns = zip(TOKENS, loss, context, previous, matching, strict=True)
    return tuple(
        {
            "tokens": t,
            "held_out": float(a),
            "in_context_learning_score": float(b),
            "previous_token": [[0.01, float(c)], [0.01, 0.02]],
            "matching_random": [[0.01, 0.02], [float(d), 0.01]],
            "matching_text": [[0.01, 0.02], [float(d), 0.01]],
        }
        for t, a, b, c, d in columns
    )


BIGRAMS = 1.5 + (math.log(17) - 1.5) * (1 - rise(4000))
CLAIMED = {
    "loss": BIGRAMS - 0.8 * rise(40000),
    "context": -0.4 * rise(40000),
    "previous": 0.9 * rise(15000, width=0.35),
    "matching": 0.8 * rise(40000),
}
ONE_LAYER = log_of(BIGRAMS, -0.02 * rise(4000), 0.1 * rise(9000), 0.02 * rise(9000))


@pytest.fixture
def formed(subject, monkeypatch):
    """Heads that form late and suddenly, unlike those before, with a bump in the loss; context helps."""
    stream = torch.arange(400) % 17
    monkeypatch.setattr(corpus, "tokens", lambda profile, split: stream)
    monkeypatch.setattr(about_how_they_form, "_bigram_loss", lambda text, shape: 1.5)
    one = dataclasses.replace(subject, name="one-layer", log=ONE_LAYER)
    monkeypatch.setattr(type(subject), "sibling", lambda self, name: one)
    return dataclasses.replace(subject, log=log_of(**CLAIMED))


MEASUREMENTS = (
    about_how_they_form.order_of_stages,
    about_how_they_form.factor_of_tokens,
    about_how_they_form.context_gained,
    about_how_they_form.bump,
)


@pytest.mark.parametrize("measurement", MEASUREMENTS, ids=lambda measurement: measurement.claim.id)
def test_what_is_claimed_is_found_and_every_placebo_refused(formed, measurement):
    found = measurement.decision([formed])
    assert found.verdict == rules.REPRODUCED, found


@pytest.mark.parametrize(
    ("measurement", "otherwise"),
    [
        (about_how_they_form.order_of_stages, {"previous": 0.9 * rise(60000)}),
        (about_how_they_form.order_of_stages, {"matching": 0.1 * rise(40000)}),
        (about_how_they_form.factor_of_tokens, {"matching": 0.8 * rise(20000, width=0.8)}),
        (about_how_they_form.context_gained, {"context": -0.4 * rise(4000)}),
        (about_how_they_form.bump, {"loss": BIGRAMS}),
    ],
)
def test_what_is_not_as_claimed_is_refused(formed, measurement, otherwise):
    other = dataclasses.replace(formed, log=log_of(**CLAIMED | otherwise))
    assert rules.short_of(measurement.claim, measurement.interval(other))


def test_a_head_that_never_forms_has_no_formation(formed):
    flat = dataclasses.replace(formed, log=log_of(**CLAIMED | {"matching": [0.01] * 100}))
    assert float(about_how_they_form.factor_of_tokens(flat)) == 100
    assert float(about_how_they_form.bump(flat)) == 0
    assert float(about_how_they_form.order_of_stages(flat)) == pytest.approx(-math.log2(100))
    assert about_how_they_form.context_gained(flat).mean == pytest.approx(-0.4, abs=0.01)


def test_the_factor_is_that_of_the_curve_and_the_one_asked_for_is_that_of_the_source(formed):
    """Of a logistic curve the tenth and nine tenths lie at ± ln 9 widths."""
    measurement = about_how_they_form.factor_of_tokens
    assert float(measurement(formed)) == pytest.approx(math.exp(2 * math.log(9) * 0.12), rel=0.02)
    start, end = map(float, re.findall(r"[\d.]+", measurement.claim.reported))
    assert measurement.claim.threshold == end / start


def test_the_bigram_table_is_that_of_the_training_text(subject, monkeypatch):
    """Each token is followed by the next: the table of many of them knows that, nearly."""
    stream = torch.arange(17 * 1000) % 17
    monkeypatch.setattr(corpus, "tokens", lambda profile, split: stream)
    shape = dataclasses.replace(subject.model.config, begin=False)
    known = about_how_they_form._bigram_loss(stream[:400], shape)
    assert known == pytest.approx(-math.log(1001 / 1017), abs=1e-3)


def test_placebos_and_plants_change_one_thing_of_a_log(formed):
    """Heads moved are the same at other tokens; a bump is as high as planted, and before it ends."""
    moved = about_how_they_form.heads_sooner(formed).log
    assert moved[9]["matching_random"] == formed.log[19]["matching_random"]
    assert moved[-1]["matching_random"] == formed.log[-1]["matching_random"]
    assert moved[9]["held_out"] == formed.log[9]["held_out"]
    before, after = formed.log, about_how_they_form.bumps.of[0.5](formed).log
    assert after[0]["held_out"] == pytest.approx(before[0]["held_out"] + 0.5)
    assert after[-1] == before[-1]
    start, end = about_how_they_form._formation(formed)
    middle = next(k for k, record in enumerate(before) if record["tokens"] > (start + end) / 2)
    assert after[middle]["held_out"] - before[middle]["held_out"] == pytest.approx(0.25, abs=0.05)


def test_a_loss_that_falls_fast_before_hides_a_bump_that_counts(formed):
    """So a steep curve without a bump is no finding: the rule would have missed it."""
    steep = {"loss": np.minimum.accumulate(BIGRAMS + 40 * (1 - rise(24000, width=0.2)))}
    found = about_how_they_form.bump.decision(
        [dataclasses.replace(formed, log=log_of(**CLAIMED | steep))]
    )
    assert found.verdict == rules.UNPOWERED, found


def test_the_gain_from_context_has_an_interval_as_wide_as_its_ups_and_downs(formed):
    generator = np.random.default_rng(0)
    noisy = {"context": CLAIMED["context"] + 0.05 * generator.standard_normal(100)}
    other = dataclasses.replace(formed, log=log_of(**CLAIMED | noisy))
    smooth, rough = map(about_how_they_form.context_gained.interval, (formed, other))
    assert rough.high - rough.low > max(0.1, 10 * (smooth.high - smooth.low))
