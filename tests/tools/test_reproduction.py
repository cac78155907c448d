"""A reproduction: the manifest that is committed, and what differs from it beyond tolerance."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from tools import __main__ as cli
from tools import controls, manifest, reproduction
from transformer_circuits import files, record
from transformer_circuits.book import notebooks, runners
from transformer_circuits.claims import catalogue, recorded, scorecard
from transformer_circuits.figures import tables
from transformer_circuits.record import Record
from transformer_circuits.text import corpus

ROOT = Path(__file__).parents[2]
ESTIMATE = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 12}


def check(**parts):
    """An output of `book.check` or of `decide()`."""
    return {"data": {}, "metadata": Record(title="s", **parts).metadata}


def chapter(loss=1.25, ours="0.12", mean=0.5, verdict="reproduced"):
    """What a chapter puts out: a table, a check of an identity, and a verdict."""
    table = tables.table([{"head": "0.1", "loss": loss}], caption="Losses")
    seeds = {"m": ESTIMATE | {"mean": mean}}
    details = {"verdict": verdict, "why": "1 of 1 seeds", "seeds": seeds,
               "controls": {"null": ESTIMATE, "unavailable": None}, "other": {}}  # fmt: skip
    return [
        {"data": {}, "metadata": table.record.metadata},
        check(kind="check", claim="first", text=ours),
        check(kind="verdict", claim="second", details=details),
    ]


@pytest.fixture
def executed(checkout, monkeypatch):
    """Lets chapter x have put something out; returns its checkout."""
    root = checkout("x", "1")
    (root / "data/text").write_text("text")
    monkeypatch.setattr(controls, "renewed", lambda *, everything: iter([{}]))
    recorded.read.cache_clear()
    recorded.write({})
    (root / "CITATION.cff").write_text("version: 1.2.3\nauthors: [{name: Someone}]\n")
    (root / "pyproject.toml").write_text('[project]\ndependencies = ["torch>=2"]\n')
    monkeypatch.setattr(corpus, "build", lambda profile: {"train": root / "data/text"})

    def put_out(outputs):
        whole = json.loads(notebooks.path("x").read_text())
        (cell,) = (cell for cell in whole["cells"] if cell["cell_type"] == "code")
        cell["outputs"] = outputs
        times = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z")
        cell["metadata"]["execution"] = dict(zip(("a", "b"), times, strict=True))
        stamp = {"fingerprint": notebooks.fingerprints()["x"], "seal": runners.seal(whole)}
        whole["metadata"]["transformer_circuits"] = stamp
        notebooks.executed_path("x").parent.mkdir(parents=True, exist_ok=True)
        notebooks.executed_path("x").write_text(json.dumps(whole))
        return root

    return put_out


def test_controls_are_measured_anew_and_named_if_they_differ(monkeypatch):
    def rows(mean):
        estimate = {"mean": mean, "low": mean - 0.1, "high": mean + 0.1, "n": 9, "draws": False}
        return {"a": {"made of": str(mean), "estimates": {"null": estimate, "absent": {"n": 0}}}}

    monkeypatch.setattr(recorded, "read", lambda: rows(0.5))
    monkeypatch.setattr(controls, "renewed", lambda *, everything: iter([{}, rows(came)]))
    came = 0.51  # a part of the interval's width
    assert reproduction.require_same_controls().startswith("controls and plants of 1 rules agree")
    came = 0.6
    with pytest.raises(files.UserError, match=r"a: .*null: .*0\.5 was committed, 0\.6 came out"):
        reproduction.require_same_controls()


def test_what_agrees_is_said_in_one_line_and_what_differs_is_listed(executed, monkeypatch, capsys):
    root = executed(chapter())
    monkeypatch.setattr(notebooks, "execute", lambda names: pytest.fail(f"executed {names}"))
    cli.main(["reproduce"])
    assert capsys.readouterr().out.startswith("written: ")
    committed = (root / manifest.COMMITTED).read_bytes()
    executed(chapter(loss=1.26, mean=0.5004))  # one unit of the last place, part of an interval
    cli.main(["reproduce"])
    assert capsys.readouterr().out.startswith("reproduced: ")
    own = manifest.read(root / manifest.REPRODUCED)
    assert own["chapters"]["x"]["figures"]["Losses"]["numbers"]["loss"] == [1.26]
    assert own["claims"]["second"]["seeds"]["m"]["mean"] == 0.5004

    executed(chapter(loss=1.27, ours="much", mean=0.53, verdict="mixed"))
    with pytest.raises(SystemExit) as raised:  # a text, which ends the program with 1
        cli.main(["reproduce"])
    first, *listed, last = raised.value.code.splitlines()
    assert first.startswith("reproduce: not as committed in ") and listed == [
        "claims: first: ours: # was committed, much came out; must be the same",
        "claims: second: verdict: reproduced was committed, mixed came out; must be the same",
        "claims: second: m: mean: 0.5 was committed, 0.53 came out; may differ by 0.02",
        "x: Losses: loss: 1.25 was committed, 1.27 came out; may differ by 0.01",
        "x: s: text: # was committed, much came out; must be the same",
    ]
    assert last == "differences beyond tolerance: 5"
    assert (root / manifest.COMMITTED).read_bytes() == committed
    cli.main(["reproduce", "--write"])
    cli.main(["reproduce"])

    (root / manifest.COMMITTED).write_text('{"files": {}, "claims": 1}')
    with pytest.raises(files.UserError, match=r"manifest\.json is not a manifest"):
        reproduction.reproduce(root)


def test_the_manifest_says_what_it_was_computed_from(executed, checkout, monkeypatch):
    root = executed([*chapter(), check(kind="check", text="again")])
    found = manifest.made()
    config = "data/models/m/config.toml"
    assert found["files"][config] == files.sha256(root / config)
    assert found["files"]["text, small train"] == files.sha256(root / "data/text")
    assert found["machine"]["minutes for all chapters"] == 1.5 and "torch" in found["versions"]
    assert [*found["claims"]["second"]["controls"]] == ["null"], "one not to be had is left out"
    assert found["claims"]["far"] == {"kind": "trained", "verdict": "not testable here"}
    of_chapter = found["chapters"]["x"]
    assert [*of_chapter["figures"]] == ["Losses"] and [*of_chapter["checks"]] == ["s", "s (2)"]
    monkeypatch.setattr(notebooks, "SCORECARD", "x")
    executed(chapter())  # its tables repeat the claims
    assert manifest.made()["chapters"]["x"]["figures"] == {}
    checkout("x", "2")
    with pytest.raises(files.UserError, match="not executed with this code: x"):
        manifest.made()


CLAIM = {"kind": "trained", "why": "2 of 3 seeds", "seeds": {"m": ESTIMATE | {"tolerance": 0.02}}}


def whole(**parts):
    """A manifest with one figure that holds this."""
    chapters = {"c": {"seconds": 1, "figures": {"f": parts}, "checks": {}}}
    return copy.deepcopy({"chapters": chapters, "claims": {"k": CLAIM}, "files": {"a": "1"}})


def n_differences(was, now):
    return len(reproduction.differences(whole(**was), whole(**now)))


def shown(value):
    """A number as a check shows it, to two decimals."""
    return {"numbers": {"a": [value]}, "digits": 2}


@pytest.mark.parametrize(
    ("was", "now", "n"),
    [
        ("0.50", "0.51", 0), ("0.50", "0.52", 1), ("1000", "1001", 0), ("1000", "1005", 1), ("12", "13", 1),
        ("7e-15", "1e-14", 0), ("1 2", "1", 1), ("-0.10", "0.10", 1), ("5000.5", "5004", 0),
        ("head 1.4", "head 1.5", 1), ("0.50 (1.4 to 2.0)", "0.50 (1.5 to 2.0)", 0),
    ],
)  # fmt: skip
def test_numbers_in_sentences_may_differ_by_their_last_place_or_a_thousandth(was, now, n):
    assert n_differences({"text": was}, {"text": now}) == n
    assert n_differences({"words": {"a": ["b", was]}}, {"words": {"a": ["b", now]}}) == n
    assert [n_differences(shown(0.25), shown(now)) for now in (0.26, 0.27)] == [0, 1]


VALUES = np.linspace(0.0, 10.0, 4000)
MOVED = np.where(VALUES == 0, -1.0, VALUES)


@pytest.mark.parametrize(
    ("was", "now", "n"),
    [
        ([0.0004, 10.0], [0.0094, 10.0], 0), ([0.0004, 10.0], [0.02, 10.0], 1),
        ([[1.0, None]], [[1.0, None]], 0), ([[1.0, None]], [[1.0, 0.0]], 1), (0.0, 1e-7, 0),
        ([1.0], [[1.0]], 1), ([1.0], ["abc"], 1), ([1.0], record.kept(range(9999)), 1),
        (record.kept(VALUES), record.kept(VALUES + 0.001), 0),
        (record.kept(VALUES), record.kept(MOVED), 2),
        (record.kept(VALUES), record.kept(VALUES.reshape(2, -1)), 1),
    ],
)  # fmt: skip
def test_numbers_may_differ_by_a_thousandth_of_their_largest(was, now, n):
    assert n_differences({"numbers": {"a": was}}, {"numbers": {"a": now}}) == n


def test_what_is_gone_or_new_is_a_difference():
    was = whole(text="1", numbers={"b": [1]})
    now = copy.deepcopy(was)
    now["files"] = {"a": "2", "b": "1"}
    now["chapters"]["c"] |= {"seconds": 9, "checks": {"new": {}}}
    now["chapters"]["c"]["figures"]["f"]["numbers"] = {}
    now["chapters"]["d"] = {"figures": {}, "checks": {}}
    found = reproduction.differences(was, now)
    assert [said.partition(": 1")[0].partition(": came")[0] for said in found] == [
        "files: a", "files: b", "c: f: b: is in the committed manifest, but did not come out",
        "c: new", "d",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("where", "edited"),
    [
        (("why",), "3 of 3 seeds"), (("seeds",), None), (("seeds", "m", "n"), 13),
        (("seeds", "m"), {**ESTIMATE, "mean": 99.0, "tolerance": 1e9}),
        (("seeds", "m", "mean"), float("nan")),
    ],
)  # fmt: skip
def test_no_edit_of_a_claim_passes(where, edited):
    was, now = whole(), whole()
    inner = was["claims"]["k"]
    for name in where[:-1]:
        inner = inner[name]
    inner[where[-1]] = edited
    assert len(reproduction.differences(was, now)) == 1


def test_the_committed_manifest_has_the_claims_chapters_and_files_of_today():
    committed = manifest.read(ROOT / manifest.COMMITTED)
    now = {c.id: (c.kind, c.chapter) for c in catalogue.claims().values()}
    was = {name: (of["kind"], of.get("chapter", "")) for name, of in committed["claims"].items()}
    assert was == now, "run `python -m tools reproduce --write`"
    assert [*committed["chapters"]] == [n for n in notebooks.names() if n != notebooks.FOUND]
    for name, hashed in committed["files"].items():
        if (path := ROOT / name).is_file():
            assert files.sha256(path) == hashed, name


@pytest.mark.browser  # in this run the book is built, so its chapters are executed
def test_committed_verdicts_are_the_scorecards():
    found, committed = scorecard.evidence(), manifest.read(ROOT / manifest.COMMITTED)["claims"]
    for claim in catalogue.claims().values():
        verdict = scorecard.verdict(claim, found.get(claim.id))
        assert committed[claim.id]["verdict"] == verdict, claim.id


def test_the_version_is_the_same_wherever_it_is_said():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    version = files.read_toml(ROOT / "pyproject.toml")["project"]["version"]
    assert str(citation["version"]) == version
    said = yaml.safe_load((ROOT / "codecheck.yml").read_text(encoding="utf-8"))["paper"][
        "reference"
    ]
    assert said.startswith("https:") or f"version {version}" in said
