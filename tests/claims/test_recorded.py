"""What was measured is read while it was made of this, and measured again if anything differs."""

import dataclasses

import pytest
import torch

from transformer_circuits import files
from transformer_circuits.claims import about_induction, controls, recorded, rules, subjects
from transformer_circuits.claims.measurement import Measurement
from transformer_circuits.claims.rules import Draws, Interval
from transformer_circuits.training import checkpoint

MEASUREMENT = about_induction.order_over_presence
FOUND = {"one layer": Interval(0.1, 0.0, 0.2, 9), "untrained, 20 draws": Draws(0.0, -0.1, 0.3, 20),
         "absent": rules.NOTHING, "not to be had": None}  # fmt: skip


@pytest.fixture
def record(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "path", lambda: tmp_path / "controls.json")
    recorded.read.cache_clear()
    yield tmp_path / "controls.json"
    recorded.read.cache_clear()


def test_what_matches_is_shown_and_what_does_not_is_measured_again(record, subject, monkeypatch):
    anew = {"one layer": Interval(5.0, 4.0, 6.0, 9)}
    monkeypatch.setattr(Measurement, "beside", lambda *_: anew)
    assert recorded.beside(MEASUREMENT, subject) == anew  # nothing is recorded yet
    recorded.write({MEASUREMENT.claim.id: recorded.row(MEASUREMENT, FOUND)})
    kept = recorded.beside(MEASUREMENT, subject)
    assert kept.keys() == FOUND.keys() and kept["absent"].n == 0
    shown = [name for name in FOUND if name != "absent"]  # not a number is not equal to itself
    assert all(kept[name] == FOUND[name] for name in shown)
    assert [type(kept[name]) for name in shown] == [type(FOUND[name]) for name in shown]
    monkeypatch.setattr(recorded, "made_of", lambda module: "other code")
    assert recorded.beside(MEASUREMENT, subject) == anew


def test_code_that_measures_weights_and_text_are_what_it_is_made_of(monkeypatch):
    module, seen = MEASUREMENT.__module__, []
    for kind in ("_sha256", "_code"):
        monkeypatch.setattr(recorded, kind, lambda path: seen.append(path) or path.name)
    recorded.made_of.__wrapped__(module)
    names = {"/".join(path.parts[-2:]) for path in seen}
    assert {"claims/about_induction.py", "analysis/repeats.py", "model/transformer.py"} <= names
    assert {"two-layer/weights.safetensors", "data/corpus.toml", "data/tokenizer.json"} <= names
    assert not any(path.parts[-2] in ("figures", "book", "website") for path in seen)


def test_words_of_a_claim_may_change_and_what_it_measures_may_not(tmp_path):
    """Or a sentence mended would have all controls measured again."""
    source = """
@claim("one", "it holds", above=0.5, found="{range}", of="two-layer", controls=[untrained])
def share(subject):
    \"\"\"A share.\"\"\"
    return subject.share  # of one
"""

    def hashed(old="", new=""):
        assert old in source
        (file := tmp_path / f"about_{len(list(tmp_path.iterdir()))}.py").write_text(
            source.replace(old, new)
        )
        return recorded._code(file)

    said = [
        ("it holds", "it does"),
        ("0.5", "0.6"),
        ("{range}", "so"),
        ("A share", "One"),
        ("of one", ""),
    ]
    assert {hashed(*change) for change in said} == {hashed()}
    does = [('"two-layer"', '"one-layer"'), ("[untrained]", "[random_heads]"), (".share", ".sum")]
    assert len({hashed(*change) for change in does} | {hashed()}) == 4


def test_a_damaged_record_is_named(record):
    record.write_text("{")
    with pytest.raises(files.UserError, match=r"controls\.json is not JSON"):
        recorded.read()


def test_one_draw_beyond_the_bound_is_enough_to_leave_a_claim_undecided(monkeypatch, subject):
    """Of twenty draws the mean is far below the bound, and one is above it."""
    of = dict.fromkeys(range(1, 21), 0.0) | {7: 0.2}
    drawn = {controls.untrained.draw(subject, seed).model: mean for seed, mean in of.items()}

    def measured(_, one):
        mean = drawn.get(one.model, 1.0 if one is subject else 0.0)
        return Interval(mean, mean - 0.01, mean + 0.01, 9)

    monkeypatch.setattr(Measurement, "interval", measured)
    monkeypatch.setattr(
        controls.one_layer, "_make", subjects.once(lambda s: s.with_model("", s.model))
    )
    monkeypatch.setattr(
        "transformer_circuits.claims.controls.built_induction._make", lambda s: subject
    )
    found = MEASUREMENT.decision([subject])
    assert found.controls["untrained, 20 draws"] == Draws(0.01, 0.0, 0.2, 20)
    assert (found.verdict, found.why) == ("undecided", "it holds for untrained, 20 draws, too")
    drawn[controls.untrained.draw(subject, 7).model] = 0.05
    assert MEASUREMENT.decision([subject]).verdict == "reproduced"


def test_what_chapters_share_is_measured_by_the_first_and_anew_if_anything_differs(
    subject, tmp_path, monkeypatch
):
    """Of one of the book's models; each chapter has its subject anew, with nothing in memory."""
    calls, code = [], ["this code"]
    (tmp_path / "models" / subject.name).mkdir(parents=True)
    monkeypatch.setattr(files, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(checkpoint, "models_dir", lambda: tmp_path / "models")
    monkeypatch.setattr(recorded, "made_of", lambda module: code[0])

    @recorded.for_all_chapters
    def summed(subject):
        calls.append(subject)
        return {"sum": subject.model.W_E.sum(dim=1)}

    def measured(**changed):
        before = len(calls)
        found = summed(dataclasses.replace(subject, **changed))["sum"]
        return found, len(calls) > before

    first, was_measured = measured()
    again, was_measured_again = measured()
    assert torch.equal(first, again) and was_measured and not was_measured_again
    assert measured(text=subject.text.flip(0))[1], "other text"
    subject.model.W_E.data[0, 0] += 1
    assert measured()[1] and not measured()[1], "other weights"
    code[0] = "other code"
    assert measured()[1], "other code"
    [path] = (tmp_path / "kept").iterdir()
    path.write_bytes(b"cut off")
    assert measured()[1], "a damaged file"
    for name in ("untrained", str(tmp_path / "models" / ".." / "kept"), ""):
        assert measured(name=name)[1] and measured(name=name)[1], "not of the book"
    assert [*path.parent.iterdir()] == [path]
