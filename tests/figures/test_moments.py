"""Moments of a training: what the script is given, and what is refused."""

import json
import re

import numpy as np
import pytest

from transformer_circuits.figures import views

TOKENS = ["<begin>", "␣one", "␣two", "␣one"]
CURVES = {
    "Loss [nats]": {"loss": [8.0, 4.0, 3.0]},
    "Attention": {"head 0.1": [0.0, 0.5, 1.0], "head 1.2": [0.0, 0.0, 0.12345]},
}
ROLES = {"loss": "ink", "head 0.1": "first", "head 1.2": "second"}
PROBABILITIES = [[0.0, 0.1, 0.2], [0.0, 0.1, 0.4], [0.0, 0.1, 0.9]]


def patterns():
    """At first everything at BEGIN, then one back, at last here: [moment, dst, src]."""
    first, here = np.zeros((4, 4)), np.eye(4)
    first[:, 0] = 1
    back = np.eye(4, k=-1)
    back[0, 0] = 1
    return np.stack([first, back, here])


def made(**changes):
    """A view of three moments; what is given replaces a part of it."""
    parts = {"times": [0.5, 2.0, 8.0], "curves": CURVES, "roles": ROLES, "tokens": TOKENS}
    parts |= {"patterns": patterns(), "probabilities": PROBABILITIES, "head": "1.2"}
    parts |= {"x": "million tokens", "faint": {"Attention": [[0.0, 0.1], [0.2, 0.3], [0.4, 0.5]]}}
    return views.moments(**{**parts, "label": "A training", **changes})


def test_the_script_is_given_each_chart_in_three_digits():
    shown = made()._repr_mimebundle_()["text/html"]
    data = json.loads(re.search(r'json">(.*?)</script>', shown)[1])
    loss, attention = data["charts"]
    assert loss == {
        "title": "Loss [nats]",
        "curves": [{"name": "loss", "values": [8.0, 4.0, 3.0]}],
        "faint": [],
    }
    assert attention["faint"] == [[0.0, 0.2, 0.4], [0.1, 0.3, 0.5]]
    assert attention["curves"][1]["values"] == [0.0, 0.0, 0.123]
    assert data["colours"]["head 0.1"][0] != data["colours"]["head 0.1"][1]


def test_without_scripts_there_is_a_table_of_all_moments():
    table = made().without_scripts
    assert table.count('<th scope="row">') == 3
    for column in ("million tokens", "loss", "head 0.1", "head 1.2"):
        assert f'<th scope="col">{column}</th>' in table


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"times": [0.5, 0.5, 8.0]}, "times must rise from above 0"),
        ({"times": [0.0, 0.5, 8.0]}, "times must rise from above 0"),
        ({"roles": {"loss": "ink"}}, r"\['head 0.1', 'head 1.2'\] have no role, only \['loss'\]"),
        ({"faint": {"Other": [[1.0]] * 3}}, r"\['Other'\] but charts are \['Loss \[nats\]'"),
        ({"curves": {"Loss": {"loss": [8.0, 4.0]}}}, "loss has .* but needs 3 finite numbers"),
        ({"curves": {"L": {"loss": [8.0, np.nan, 1.0]}}}, "loss has .* needs 3 finite numbers"),
        ({"patterns": patterns()[:2]}, r"of 2 moments and probabilities \(3, 3\) but must be of 3"),
        ({"probabilities": [[0.5] * 4] * 3}, r"probabilities \(3, 4\) but must be .* \(3, 3\)"),
        ({"patterns": 2 * patterns()}, "must be probabilities"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    changes = {"faint": None, **changes}
    with pytest.raises(ValueError, match=message):
        made(**changes)
