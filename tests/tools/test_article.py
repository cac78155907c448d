"""What the repository holds for its reviewers: article, manifest, codecheck.yml, CITATION.cff."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tools import about, article, manifest
from transformer_circuits import files
from transformer_circuits.book import notebooks
from transformer_circuits.claims import findings, registry, rules, scorecard
from transformer_circuits.experiments import study
from transformer_circuits.figures import values

ROOT = Path(__file__).parents[2]
CODECHECK = (ROOT / "codecheck.yml").read_text(encoding="utf-8")
TEMPLATE = (ROOT / "tools/article.md").read_text(encoding="utf-8")


@pytest.fixture
def committed():
    return manifest.read(ROOT / manifest.COMMITTED)


def test_the_article_is_the_one_that_follows_from_the_manifest(committed):
    assert article.in_step(ROOT / manifest.COMMITTED), "run `python -m tools article`"
    assert (ROOT / manifest.COMMITTED).stat().st_size < 1_500_000
    assert "(not to be had)" not in article.text(committed)


def test_the_manifest_has_the_scorecards_claims_and_chapters(committed):
    now = {c.id: (c.kind, c.chapter) for c in registry.read().values()}
    was = {name: (of["kind"], of.get("chapter", "")) for name, of in committed["claims"].items()}
    assert was == now, "run `python -m tools reproduce --write`"
    assert [*committed["chapters"]] == [n for n in notebooks.names() if n != notebooks.FOUND]
    for name, hashed in committed["files"].items():
        if (path := ROOT / name).is_file():
            assert files.sha256(path) == hashed, name


@pytest.mark.browser  # in this run the book is built, so its chapters are executed
def test_verdicts_are_the_scorecards(committed):
    found = scorecard.evidence()
    for claim in registry.read().values():
        verdict = scorecard.verdict(claim, found.get(claim.id))
        assert committed["claims"][claim.id]["verdict"] == verdict, claim.id


def test_every_claim_that_did_not_come_out_is_in_the_article_with_its_estimates(committed):
    text = article.text(committed)
    for claim in registry.read().values():
        found = committed["claims"][claim.id]
        if found["verdict"] in rules.VERDICTS and claim.source == "paper":
            (row,) = (
                line
                for line in text.splitlines()
                if line.startswith((f"| `{claim.id}` |", f"| {claim.statement} (reported"))
            )
            assert article.said(claim, found).replace("|", "\\|") in row
            for seed in [*found["seeds"].values()][:1]:  # none, where there is no case
                assert values.written(seed["mean"], ".3g") in row
            assert f" [{findings.unit(claim.id)}] |" in row
    own = [c for c in registry.read().values()
           if c.own and committed["claims"][c.id]["verdict"] in rules.VERDICTS]  # fmt: skip
    assert f", {len(own)} are not claims of others." in text and not re.search(r"[{}]", text)


def test_the_article_follows_the_verdicts(committed):
    count = r"(\d+) hold in every seed, (\d+) come out otherwise, (\d+) stay open, and (\d+) depend"
    before = [int(n) for n in re.search(count, article.text(committed)).groups()]
    named = next(
        name for name, of in committed["claims"].items()
        if of["verdict"] == rules.REPRODUCED and registry.read()[name].source == "paper"
        and name not in article.questions()
    )  # fmt: skip
    committed["claims"][named]["verdict"] = rules.NOT_REPRODUCED
    text = article.text(committed)
    after = [int(n) for n in re.search(count, text).groups()]
    assert after == [before[0] - 1, before[1] + 1, *before[2:]]
    statement = registry.read()[named].statement
    assert f"“{statement}”: by which measure" in text, "there is a question at once"
    del committed["claims"]["kronecker"]
    with pytest.raises(files.UserError, match=r"\['kronecker'\]\): run .* reproduce --write"):
        article.text(committed)


def test_white_scores_are_told_of_every_model_of_the_study(committed):
    """Every number comes from the records of the study."""
    lines = (ROOT / "data/study/runs.jsonl").read_text(encoding="utf-8").splitlines()
    text = article.text(committed)
    abstract, of_fit = text.partition("## ")[0], []
    for run in map(json.loads, lines):
        found, shape = run["edges"]["agreement"], run["shape"]
        stored, white = (sum(found[name]) / 3 for name in ("stored", "white"))
        if shape["n_heads"] < study.ENOUGH_HEADS:
            continue
        assert white > stored, run["run"]
        fits = shape["n_heads"] * shape["d_head"] == shape["d_model"]
        if fits and "norm" not in run["choices"]:
            of_fit.append((stored, white))
    assert f"over {len(of_fit)} models" in abstract
    for means in zip(*of_fit, strict=True):
        assert f"{min(means):.2f} to {max(means):.2f}" in abstract
    assert "(2026)" in text and "0.7" not in TEMPLATE, "no number of ours is typed"
    assert re.search(r"is 0\.\d\d to 0\.\d\d as the models are stored, and 0\.\d\d to", abstract)


def test_each_claim_of_others_that_did_not_come_out_has_a_question_of_its_own(committed):
    asked = article.questions()
    assert asked.keys() <= registry.read().keys()
    assert all(text.endswith("?") for text in asked.values())
    for name, found in committed["claims"].items():
        if found["verdict"] in {
            v for group in ("not", "basis", "part") for v in article.GROUPS[group]
        }:
            assert name in asked or "of this book" in registry.read()[name].section


def test_codecheck_says_what_reproduce_makes_and_who_made_which_version():
    said = yaml.safe_load(CODECHECK)
    made = [manifest.REPRODUCED, str(Path(manifest.REPRODUCED).with_name(article.NAME))]
    assert [entry["file"] for entry in said["manifest"]] == made
    for name in re.findall(r"results/[\w.]+\w", CODECHECK):
        assert (ROOT / name).is_file(), name
    assert said["paper"]["title"] == article.TITLE.replace("*", "")
    citation = about.citation(ROOT)
    version = files.read_toml(ROOT / "pyproject.toml")["project"]["version"]
    assert str(citation["version"]) == version
    assert [one["name"] for one in said["paper"]["authors"]] == about.authors(citation)
    reference = said["paper"]["reference"]
    assert reference.startswith("https:") or f"version {version}" in reference
