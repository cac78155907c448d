"""Bars and sampled places: what the script is given, and what is refused."""

import json
import re

import pytest
import torch

from transformer_circuits.figures import views

GROUPS = [
    {"tenth": 1, "attention": torch.tensor(0.25), "exact": 0.12345},
    {"tenth": 2, "attention": 0.5, "exact": 1.0},
]


def passage(word, **changes):
    """␣a, ␣b, then a gap, then ␣a again: it looks at ␣b."""
    marks = {"before it": 0, "looked at": 1, "present": 2}
    facts = {"probability": 0.25, "comes next": word}
    return {"tokens": ["␣a", word, "␣a"], "marks": marks, "gaps": [2], "facts": facts} | changes


def made(**changes):
    """A view of two groups; what is given replaces a part of it."""
    passages = {1: [passage("␣b")], 2: [passage("␣c"), passage("<d>")]}
    parts = {"groups": GROUPS, "passages": passages, "bar": "attention", "label": "Looks"}
    return views.samples(**{**parts, **changes})


def test_the_script_is_given_numbers_and_passages_by_group():
    shown = made()._repr_mimebundle_()["text/html"]
    data = json.loads(re.search(r'json">(.*?)</script>', shown)[1])
    assert data["kind"] == "tenth" and data["names"] == ["1", "2"]
    assert data["columns"] == ["attention", "exact"]
    assert data["values"] == [[0.25, 0.123], [0.5, 1.0]]
    assert data["marks"] == ["before it", "looked at", "present"]
    assert [len(group) for group in data["passages"]] == [1, 2]
    assert data["passages"][1][0] == {
        "tokens": ["␣a", "␣c", "␣a"],
        "marks": [0, 1, 2],
        "gaps": [2],
        "facts": [["probability", "0.250"], ["comes next", "␣c"]],
    }


def test_without_scripts_every_sample_stands_in_a_table():
    table = made().without_scripts
    assert table.count('<th scope="row">') == 3
    assert "‹␣a›⟦␣c⟧…«␣a»" in table and "⟦&lt;d&gt;⟧" in table


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": []}, "0 groups given, to be drawn by 'attention'"),
        ({"bar": "tenth"}, "2 groups given, to be drawn by 'tenth': no such numbers"),
        ({"passages": {1: [passage("␣b")]}}, r"passages are of \[1\] but groups are \[1, 2\]"),
        ({"passages": {1: [passage("␣b")], 2: []}}, r"groups are \[1, 2\], none empty"),
        ({"groups": [{"tenth": t, "attention": -t} for t in (1, 2)]}, "bars must be at least 0"),
    ],
)
def test_groups_must_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        made(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"marks": {"present": 1}}, r"marks \['present'\] but \['before it', .* are marked"),
        ({"gaps": [3]}, r"gaps \[3\] lie outside 3 tokens"),
        ({"tokens": ["␣a"]}, "lie outside 1 tokens"),
    ],
)
def test_a_passage_marks_what_it_has(changes, message):
    with pytest.raises(ValueError, match=message):
        made(passages={1: [passage("␣b")], 2: [passage("␣c", **changes)]})
