"""A reproduction: the manifest that is committed, and what differs from it beyond tolerance."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from transformer_circuits import __main__ as cli
from transformer_circuits import files, record
from transformer_circuits.book import notebooks, runners
from transformer_circuits.claims import registry
from transformer_circuits.figures import tables
from transformer_circuits.record import Record
from transformer_circuits.release import comparison, manifest, reproduction
from transformer_circuits.text import corpus

ROOT = Path(__file__).parents[2]
ESTIMATE = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 12}
RULE = registry.Rule("m", "above", 0.3, "ours", "before")


def check(**parts):
    """An output of `book.check` or of `decide()`."""
    return {"data": {}, "metadata": Record(title="s", **parts).metadata}


def chapter(loss=1.25, ours="0.12", mean=0.5, verdict="reproduced"):
    """What a chapter puts out: a table, a check of an identity, and a verdict."""
    table = tables.table([{"head": "0.1", "loss": loss}], caption="Losses")
    seeds = {"m": ESTIMATE | {"mean": mean}}
    details = {"verdict": verdict, "why": "1 of 1 seeds", "seeds": seeds,
               "controls": {"null": ESTIMATE, "unavailable": None}}  # fmt: skip
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
    model = {"n_layers": 1, "n_heads": 2, "d_head": 3, "d_model": 6, "n_vocab": 4096, "n_ctx": 9}
    config = {"model": model | {"d_mlp": 0}, "provenance": {"tokens": 8_200_000}}
    lines = [f"[{table}]\n" + "".join(f"{k} = {v}\n" for k, v in row.items()) for table, row in config.items()]  # fmt: skip
    (root / "data/models/m/config.toml").write_text("".join(lines))
    for name in ("data/corpus.toml", "chapters/reference/references.bib"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes((ROOT / name).read_bytes())
    (root / "CITATION.cff").write_text("version: 1.2.3\nauthors: [{name: Someone}]\n")
    (root / "pyproject.toml").write_text('[project]\ndependencies = ["torch>=2"]\n')
    monkeypatch.setattr(corpus, "build", lambda profile: {"train": root / "data/text"})
    monkeypatch.setattr(registry, "rules", lambda: {"second": RULE})

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


def test_what_was_reproduced_is_said_in_one_line_and_nothing_committed_changes(executed):
    root = executed(chapter())
    first = reproduction.reproduce(root)
    assert first.startswith("written: ") and "3 claims, 1 figures and tables, 1 checks" in first
    committed = (root / manifest.COMMITTED).read_bytes()
    executed(chapter(loss=1.26, mean=0.5004))  # one unit of the last place, part of an interval
    said = reproduction.reproduce(root)
    assert said.startswith("reproduced: ") and "\n" not in said
    assert (root / manifest.COMMITTED).read_bytes() == committed
    own = manifest.read(root / manifest.REPRODUCED)
    assert own["chapters"]["x"]["figures"]["Losses"]["numbers"]["loss"] == [1.26]
    assert own["claims"]["second"]["seeds"]["m"]["mean"] == 0.5004
    assert (root / manifest.REPRODUCED).with_name("article.md").is_file()


def test_the_manifest_says_what_it_was_computed_from(executed):
    root = executed(chapter())
    found = manifest.made()
    assert found["files"]["data/models/m/config.toml"] == files.sha256(
        root / "data/models/m/config.toml"
    )
    assert found["files"]["text, small train"] == files.sha256(root / "data/text")
    assert found["machine"]["minutes for all chapters"] == 1.5 and "torch" in found["versions"]
    assert found["models"]["m"]["seeds"] == ["m"]
    assert [*found["claims"]["second"]["controls"]] == ["null"], (
        "one that cannot be had is left out"
    )
    assert found["claims"]["far"] == {"kind": "trained", "verdict": "not testable here"}


def test_the_scorecards_tables_are_not_compared_for_they_repeat_the_claims(executed, monkeypatch):
    executed(chapter())
    assert [*manifest.made()["chapters"]["x"]["figures"]] == ["Losses"]
    monkeypatch.setattr(notebooks, "SCORECARD", "x")
    executed(chapter())
    of_chapter = manifest.made()["chapters"]["x"]
    assert of_chapter["figures"] == {} and [*of_chapter["checks"]] == ["s"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"loss": 1.27}, "x: Losses: loss: 1.25 was committed, 1.27 came out; may differ by 0.01"),
        ({"ours": "0.14"}, "x: s: 0.12 was committed, 0.14 came out"),
        ({"ours": "much"}, "x: s, words: # was committed, much came out; must be the same"),
        ({"mean": 0.53}, "claim: second: m, mean: 0.5 was committed, 0.53 came out; may differ by 0.02"),
        ({"verdict": "mixed"}, "claim: second: reproduced was committed, mixed came out"),
    ],
)  # fmt: skip
def test_what_differs_is_listed_by_name_with_its_tolerance(executed, changed, said):
    root = executed(chapter())
    reproduction.reproduce(root)
    executed(chapter(**changed))
    with pytest.raises(files.UserError) as raised:
        reproduction.reproduce(root)
    lines = str(raised.value).splitlines()
    assert any(said in line for line in lines), lines
    assert lines[-1].endswith(", among 3 files, 3 claims, 1 figures and tables, 1 checks")


def test_the_command_ends_with_1_if_something_differs_and_executes_nothing_twice(
    executed, monkeypatch, capsys
):
    executed(chapter())
    monkeypatch.setattr(notebooks, "execute", lambda names: pytest.fail(f"executed {names}"))
    cli.main(["reproduce", "--write"])
    cli.main(["reproduce"])
    assert capsys.readouterr().out.splitlines()[-1].startswith("reproduced: ")
    executed(chapter(loss=9.0))
    with pytest.raises(SystemExit) as raised:
        cli.main(["reproduce"])
    assert "Losses: loss" in raised.value.code, "a text, which ends the program with 1"
    cli.main(["reproduce", "--write"])
    cli.main(["reproduce"])


def test_an_article_out_of_step_is_named(executed):
    root = executed(chapter())
    reproduction.reproduce(root)
    (root / "results/article.md").write_text("else")
    with pytest.raises(files.UserError, match=r"article\.md beside .* does not say"):
        reproduction.reproduce(root)
    cli.main(["article"])
    assert reproduction.reproduce(root).startswith("reproduced")


def test_what_was_not_executed_is_not_compared(executed, checkout):
    executed(chapter())
    checkout("x", "2")
    with pytest.raises(files.UserError, match="not executed with this code: x"):
        manifest.made()


@pytest.mark.parametrize("text", ["", "[]", '{"claims": {}}'])
def test_a_damaged_manifest_is_named(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(files.UserError, match=r"manifest\.json is not a manifest"):
        manifest.read(tmp_path / "manifest.json")
    with pytest.raises(files.UserError, match=r"none\.json is not there"):
        manifest.read(tmp_path / "none.json")


def figure(**parts):
    return {"chapters": {"c": {"figures": {"f": parts}, "checks": {}}}, "claims": {}, "models": {}, "files": {"a": "1"}}  # fmt: skip


def n_differences(was, now):
    return len(comparison.differences(figure(**was), figure(**now)))


@pytest.mark.parametrize(
    ("was", "now", "n"),
    [
        ("0.50", "0.51", 0), ("0.50", "0.52", 1), ("1000", "1001", 0), ("12", "13", 1),
        ("7e-15", "1e-14", 0), ("1 2", "1", 1), ("-0.10", "0.10", 1), ("5000.5", "5004", 0),
        ("head 1.4", "head 1.5", 1), ("0.50 (1.4 to 2.0)", "0.50 (1.5 to 2.0)", 0),
    ],
)  # fmt: skip
def test_numbers_in_sentences_may_differ_by_their_last_place_or_a_thousandth(was, now, n):
    assert n_differences({"text": was}, {"text": now}) == n
    assert n_differences({"words": {"a": ["b", was]}}, {"words": {"a": ["b", now]}}) == n


@pytest.mark.parametrize(
    ("was", "now", "n"),
    [
        ([0.0004, 10.0], [0.0094, 10.0], 0),
        ([0.0004, 10.0], [0.02, 10.0], 1),
        ([[1.0, None]], [[1.0, None]], 0),
        ([[1.0, None]], [[1.0, 0.0]], 1),
        ([1.0], [1.0, 1.0], 1),
        ([1.0], [[1.0]], 1),
        (0.0, 1e-7, 0),
        ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], 1),
        ([1.0], record.kept(range(9999)), 1),
    ],
)
def test_numbers_may_differ_by_a_thousandth_of_their_largest(was, now, n):
    assert n_differences({"numbers": {"a": was}}, {"numbers": {"a": now}}) == n


@pytest.mark.parametrize(("now", "n"), [(0.26, 0), (0.27, 1)])
def test_what_is_shown_to_two_decimals_may_differ_by_the_last(now, n):
    was = {"numbers": {"a": [0.25]}, "digits": 2}
    assert n_differences(was, {"numbers": {"a": [now]}, "digits": 2}) == n


def test_large_arrays_are_compared_by_their_summaries():
    values = np.linspace(0.0, 10.0, 4000)
    near, longer = values + 0.001, np.append(values, 5.0)
    moved = values.copy()
    moved[0] = -1.0
    for now, n in ((values, 0), (near, 0), (values * 1.1, 3), (longer, 1), (moved, 2)):
        pair = ({"numbers": {"a": record.kept(each)}} for each in (values, now))
        assert min(n_differences(*pair), 3) == n


def test_what_is_gone_or_new_is_a_difference():
    was = figure(text="1", numbers={"b": [1]})
    now = copy.deepcopy(was)
    now["files"] = {"a": "2", "b": "1"}
    now["chapters"]["c"]["checks"]["new"] = {}
    del now["chapters"]["c"]["figures"]["f"]["numbers"]
    now["chapters"]["d"] = {"figures": {}, "checks": {}}
    assert [each.name for each in comparison.differences(was, now)] == [
        "file: a", "file: b", "c: f: b", "c: new", "d",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("where", "edited"),
    [
        (("models", "m", "n_heads"), 99),
        (("models", "m", "tokens"), 1),
        (("claims", "second", "why"), "2 of 3 seeds"),
        (("claims", "second", "kind"), "identity"),
        (("claims", "first", "ours"), ["0.14"]),
        (("claims", "second", "seeds", "m"), {**ESTIMATE, "mean": 99.0, "tolerance": 1e9}),
        (("claims", "second", "seeds", "m", "mean"), float("nan")),
        (("claims", "second", "seeds", "m", "low"), "much"),
        (("chapters", "x"), None),
        (("chapters", "x", "figures", "Losses", "numbers", "loss"), "abc"),
    ],
)
def test_no_edit_of_the_committed_manifest_passes(executed, where, edited):
    """Neither one that is a difference, nor one that makes it no manifest; nothing ends in a bug."""
    root = executed(chapter())
    reproduction.reproduce(root)
    found = json.loads((root / manifest.COMMITTED).read_text())
    *path, last = where
    inner = found
    for name in path:
        inner = inner[name]
    inner[last] = edited
    (root / manifest.COMMITTED).write_text(json.dumps(found))
    with pytest.raises(files.UserError, match=r"beyond tolerance: [1-9]|is not a manifest"):
        reproduction.reproduce(root)


def test_an_estimate_of_nothing_has_a_tolerance_all_the_same():
    nothing = {"mean": 0.0, "low": 0.0, "high": 0.0, "n": 1}
    assert manifest.estimate(nothing)["tolerance"] == manifest.LEAST
    assert manifest.estimate({"mean": 2.0, "low": 2.0, "high": 2.0, "n": 1})["tolerance"] == 0.002
