"""What a group has learned, of answers whose gain is known."""

import json

import numpy as np
import pytest

from tools import gain
from tools.__main__ import main
from transformer_circuits import files
from website import inventory

FORMS = inventory.questions()


def sheet(form, n_right, began):
    """The first `n_right` concepts right, all others wrong."""
    answers = {
        each.concept: each.right if k < n_right else (each.right + 1) % 3
        for k, each in enumerate(FORMS[form])
    }
    return {"began": began, "answers": answers}


def person(folder, who, before, after, forms="AB"):
    first, second = forms
    held = {first: sheet(first, before, "2026-11-01"), second: sheet(second, after, "2026-11-02")}
    path = folder / f"{who}.json"
    path.write_text(json.dumps({"inventory": 1, "who": who, "forms": held}), encoding="utf-8")
    return path


def test_the_gain_is_what_was_learned_of_what_could_be(tmp_path, capsys):
    paths = [person(tmp_path, f"p{k}", 4, 9, "AB" if k % 2 else "BA") for k in range(12)]
    people = gain.read(paths)
    before, after = (np.stack([gain.marked(of[k]) for of in people.values()]) for k in range(2))
    assert (before.sum(axis=1) == 4).all() and (after.sum(axis=1) == 9).all()
    assert gain.normalised(before, after) == pytest.approx(5 / 10)
    assert gain.interval(before, after) == pytest.approx((0.5, 0.5)), "all people are alike"
    main(["gain", *map(str, paths)])
    said = capsys.readouterr().out
    assert "12 people answered both forms (6 began with A), 0 one." in said
    assert "Before 29%, after 64%" in said and "gain 0.50, 95 % interval 0.50 to 0.50" in said
    (scores,) = (line for line in said.splitlines() if line.startswith("scores "))
    assert scores.split()[1:3] == ["0%", "0%"] and scores.endswith("scores 12")


def test_the_interval_holds_the_gain_of_the_population_as_often_as_it_says():
    chance, held = np.random.default_rng(1), 0
    for _ in range(40):
        before, after = (chance.random((30, 14)) < p for p in (0.4, 0.7))
        low, high = gain.interval(before.astype(float), after.astype(float))
        held += low < 0.5 < high
    assert 33 <= held <= 40


def test_open_questions_count_as_wrong(tmp_path):
    path = person(tmp_path, "p", 14, 14)
    held = json.loads(path.read_text())
    del held["forms"]["A"]["answers"]["stream"]
    path.write_text(json.dumps(held))
    early = tmp_path / "early.json"
    early.write_text(json.dumps(held | {"forms": {"A": held["forms"]["A"]}}))
    said = gain.report(gain.read([early, path]))  # two files of one person
    assert "Before 93%, after 100%" in said
    with pytest.raises(files.UserError, match="of 1 people, none has answered both forms"):
        gain.report(gain.read([early]))


@pytest.mark.parametrize(
    "text, message",
    [("[]", "no file of the page"), ('{"inventory": 2, "who": "x", "forms": {}}', "inventory 2"),
     ("no JSON", "no file of the page")],
)  # fmt: skip
def test_another_file_is_refused_by_its_name(tmp_path, text, message):
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(files.UserError, match=f"(?s)other.json.*{message}"):
        gain.read([tmp_path / "other.json"])
