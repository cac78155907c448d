"""The folders for a model hub, and their cards, as `huggingface_hub` reads them without a network."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from huggingface_hub import DatasetCard, ModelCard
from tokenizers import Tokenizer

from tools import __main__ as cli
from tools import about, hub, manifest
from transformer_circuits import files
from transformer_circuits.claims import registry
from transformer_circuits.figures import values
from transformer_circuits.interop import own_model
from transformer_circuits.interop.hub import WEIGHTS, place_of
from transformer_circuits.text import sources, tokenizer
from transformer_circuits.training import checkpoint
from transformer_circuits.training.config import TrainConfig

ROOT = Path(__file__).parents[2]
TOKENS = tokenizer.context("the cat sat on the mat, and the cat sat")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A checkout that says who made it, and where it is."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "_config.yml").write_text("repository: {url: https://example.org/b}\n")
    (folder / "CITATION.cff").write_text(
        "title: A book\nlicense: MIT\nversion: 1.2.3\ndate-released: 2026-01-02\n"
        "authors: [{family-names: Doe, given-names: Ada}, {name: A group}]\n"
    )
    return folder


@pytest.fixture(scope="module")
def quick():
    """Only the first checkpoints of a training are there."""
    steps = checkpoint.steps
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "steps", lambda folder: steps(folder)[:2])
        yield


@pytest.fixture(scope="module")
def written(root, quick):
    """The folders of two models and of the text, by name."""
    names = ["two-layer", "two-layer-mlp-seed-1"]
    return {path.name: path for path in hub.write(names, "ada", root)}


def test_the_folder_gives_the_books_model_its_checkpoints_and_its_tokenizer(written):
    folder = written["two-layer"]
    for step in (None, *checkpoint.steps(checkpoint.folder("two-layer"))[:2]):
        ours = checkpoint.load("two-layer", step=step)
        there = own_model.load(folder / (place_of(step) if step is not None else ""))
        assert torch.equal(ours(TOKENS), there(TOKENS))
    said = json.loads((folder / "config.json").read_text())
    assert said["provenance"]["weights_sha256"] == files.sha256(folder / WEIGHTS)
    assert said["provenance"]["tokenizer_sha256"] == files.sha256(folder / "tokenizer.json")
    theirs = Tokenizer.from_file(str(folder / "tokenizer.json"))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    assert theirs.token_to_id(settings["bos_token"]) == tokenizer.BEGIN
    assert settings["model_max_length"] == said["n_ctx"]


def test_the_card_is_what_the_hub_asks_for_and_hides_no_setting(written):
    data = ModelCard.load(written["two-layer"] / "README.md").data
    assert data.language == ["en", "code"] and data.license == "mit"
    assert data.datasets == ["ada/transformer-circuits-text"]
    assert "attention-only" in data.tags
    (loss,) = data.eval_results
    assert (loss.metric_type, loss.dataset_split) == ("cross_entropy", "validation")
    assert loss.metric_value == checkpoint.held_out_nats("two-layer")
    text = ModelCard.load(written["two-layer"] / "README.md").text
    assert 'own_model.load("ada/transformer-circuits-two-layer")' in text
    assert "author = {Doe, Ada and {A group}}" in text and "url = {https://example.org/b}" in text
    training = dataclasses.asdict(checkpoint.settings("two-layer")[1])
    for field in dataclasses.fields(TrainConfig):
        if field.name != "checkpoints":
            assert f"| {field.name} | {training[field.name]} |" in text
    assert f"In the first {training['blind_steps']} steps" in text
    assert "may be a fact of this schedule" in text.partition("## Limits")[2]
    assert hub.placeholders(written["two-layer"]) == []


def test_the_card_of_the_text_lists_every_package_with_its_licence(written):
    folder = written[hub.DATASET]
    card = DatasetCard.load(folder / "README.md")
    assert card.data.license == "other" and card.data.pretty_name == "The text of A book"
    for package in sources.manifest("full"):
        assert f"| {package.name} | {package.version} | {package.licence} |" in card.text
    manifest = files.data_dir() / "corpus.toml"
    for pinned in files.read_toml(manifest)["profile"].values():
        assert all(sha256 in card.text for sha256 in pinned.values())
    assert (folder / "corpus.toml").read_bytes() == manifest.read_bytes()


def test_a_card_says_what_the_manifest_has_of_its_model(written):
    found = manifest.read(ROOT / manifest.COMMITTED)["claims"]
    text = ModelCard.load(written["two-layer"] / "README.md").text
    rows = [row.split(" | ") for row in text.splitlines() if row.startswith("| ")]
    said = {row[0].removeprefix("| "): row for row in rows}
    of_model = [c for c in registry.read().values() if "two-layer" in found[c.id].get("seeds", ())]
    assert len(of_model) > 50
    for claim in of_model:
        row = said[claim.statement]
        mean = found[claim.id]["seeds"]["two-layer"]["mean"]
        assert row[2].startswith(values.written(mean, ".3g"))
        assert row[-1] == f"{found[claim.id]['verdict']} |"
    mlp = ModelCard.load(written["two-layer-mlp-seed-1"] / "README.md")
    assert "| claim |" not in mlp.text, "no claim is decided on it"
    assert "attention-only" not in mlp.data.tags
    assert (
        f"`two-layer-mlp-seed-2` {checkpoint.held_out_nats('two-layer-mlp-seed-2'):.4g}" in mlp.text
    )
    assert "`python -m transformer_circuits train two-layer-mlp --seed 1`" in mlp.text


def test_the_command_says_what_is_not_set_yet(root, quick, tmp_path, monkeypatch, capsys):
    for name in ("data", "results"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "CITATION.cff").write_text((root / "CITATION.cff").read_text())
    (tmp_path / "_config.yml").write_text("title: b\n")
    monkeypatch.setattr(files, "data_dir", lambda: tmp_path / "data")
    (old := tmp_path / hub.FOLDER / "zero-layer/old").mkdir(parents=True)
    cli.main(["hub", "zero-layer"])
    model, text = capsys.readouterr().out.splitlines()
    assert model.startswith(f"{old.parent}: ") and not old.exists()
    assert model.endswith(f" MB; not yet to upload: {about.NO_ADDRESS}, {hub.NO_OWNER}")
    assert text.startswith(f"{tmp_path / hub.FOLDER / hub.DATASET}: ")


def test_the_page_for_owners_uses_the_names_of_the_cards():
    page = (ROOT / "chapters/reference/publishing.md").read_text(encoding="utf-8")
    assert hub.on_hub("account", "$name") in page and hub.on_hub("account", "text") in page
    assert {"zero-layer", "one-layer", "two-layer", "two-layer-mlp"} == {*hub.base_models()}
    assert all(f"{name} " in page or f"{name};" in page for name in hub.base_models())
