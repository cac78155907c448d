"""The folders for a model hub, and their cards, as `huggingface_hub` reads them without a network."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from huggingface_hub import DatasetCard, ModelCard
from tokenizers import Tokenizer

from transformer_circuits import __main__ as cli
from transformer_circuits import files
from transformer_circuits.claims import rules, subjects
from transformer_circuits.model.hub import WEIGHTS, HubTransformer
from transformer_circuits.release.hub import cards, folders, measures
from transformer_circuits.text import sources, tokenizer
from transformer_circuits.training import checkpoint, cross_entropy
from transformer_circuits.training.config import TrainConfig

ROOT = Path(__file__).parents[2]
TOKENS = tokenizer.context("the cat sat on the mat, and the cat sat")


@pytest.fixture
def root(tmp_path):
    """A checkout that says who made it, and where it is."""
    (tmp_path / "_config.yml").write_text("repository: {url: https://example.org/b}\n")
    (tmp_path / "CITATION.cff").write_text(
        "title: A book\nlicense: MIT\nversion: 1.2.3\ndate-released: 2026-01-02\n"
        "authors: [{family-names: Doe, given-names: Ada}, {name: A group}]\n"
    )
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Nothing is measured, and only the first moments of a training are there."""
    moments = checkpoint.moments
    monkeypatch.setattr(checkpoint, "moments", lambda folder: moments(folder)[:2])
    said = rules.Interval(1.0, 0.5, 1.5, 4)
    found = [measures.Found(one, said, said) for one in measures.MEASURES[:2]]
    monkeypatch.setattr(measures, "measured", lambda subject: found)


@pytest.fixture
def two_layer(root, quick):
    """The folder of the two-layer model."""
    return next(folders.write(["two-layer"], "ada", root))


def test_the_folder_gives_the_books_model_and_its_moments(two_layer):
    for step in (None, *checkpoint.moments(checkpoint.folder("two-layer"))):
        ours = checkpoint.load("two-layer", step=step)
        theirs = HubTransformer.from_pretrained(two_layer, step=step)
        assert torch.equal(ours(TOKENS), theirs(TOKENS))


def test_config_and_tokenizer_are_those_the_weights_learned_with(two_layer):
    about = json.loads((two_layer / "config.json").read_text())
    assert about["provenance"]["weights_sha256"] == files.sha256(two_layer / WEIGHTS)
    assert about["provenance"]["tokenizer_sha256"] == files.sha256(two_layer / "tokenizer.json")
    assert about["training"]["seed"] == 0
    theirs = Tokenizer.from_file(str(two_layer / "tokenizer.json"))
    settings = json.loads((two_layer / "tokenizer_config.json").read_text())
    assert theirs.token_to_id(settings["bos_token"]) == tokenizer.BEGIN
    assert settings["model_max_length"] == about["n_ctx"]


def test_the_front_matter_is_what_the_hub_asks_for(two_layer):
    data = ModelCard.load(two_layer / "README.md").data
    assert data.language == ["en", "code"] and data.license == "mit"
    assert data.datasets == ["ada/transformer-circuits-text"]
    assert "attention-only" in data.tags and "pytorch_model_hub_mixin" in data.tags
    loss, gain = data.eval_results
    assert (loss.metric_type, loss.metric_value, loss.dataset_split) == (
        "cross_entropy", 1.0, "validation",
    )  # fmt: skip
    assert loss.metric_name == "loss (95 % interval 0.5 to 1.5)"
    assert gain.metric_type == "context_gain"


def test_the_card_says_who_made_it_and_how_to_load_it(two_layer):
    text = ModelCard.load(two_layer / "README.md").text
    assert 'HubTransformer.from_pretrained("ada/transformer-circuits-two-layer")' in text
    assert "author = {Doe, Ada and {A group}}" in text and "url = {https://example.org/b}" in text
    assert "| loss | 4 windows of held-out text | 1 (0.5 to 1.5) | 1 (0.5 to 1.5) |" in text
    for heading in ("Intended use", "Out of scope", "Limits", "Licence", "Citation", "Checkpoints"):
        assert f"\n## {heading}\n" in text
    assert folders.placeholders(two_layer) == []


def test_the_card_hides_no_setting_of_the_training(two_layer):
    """Above all not that positions were kept from the second layer, without which it is another."""
    training = json.loads((two_layer / "config.json").read_text())["training"]
    text = ModelCard.load(two_layer / "README.md").text
    for field in dataclasses.fields(TrainConfig):
        if field.name != "moments":
            assert f"| {field.name} | {training[field.name]} |" in text
    assert f"In the first {training['blind_steps']} steps" in text
    assert "is a fact of this schedule" in text.partition("## Limits")[2]


def test_numbers_of_the_card_are_measured(root):
    folder = next(folders.write(["zero-layer"], "", root))
    results = {
        one.metric_type: one for one in ModelCard.load(folder / "README.md").data.eval_results
    }
    expected = rules.interval(subjects.named("zero-layer").losses().mean(dim=1))
    loss = results["cross_entropy"]
    assert loss.metric_value == pytest.approx(expected.mean, rel=1e-3)
    assert loss.metric_value == pytest.approx(cross_entropy.held_out_nats("zero-layer"), abs=1e-3)
    assert f"{expected.low:.3g} to {expected.high:.3g}" in loss.metric_name
    assert {"accuracy", "context_gain"} < results.keys()
    assert "prefix_matching" not in results, "without layers there are no heads"
    assert folders.placeholders(folder) == [cards.NO_OWNER]


def test_the_card_of_the_text_lists_every_package_with_its_licence(root, quick):
    *_, folder = folders.write(["zero-layer"], "ada", root)
    assert folder.name == folders.DATASET
    card = DatasetCard.load(folder / "README.md")
    assert card.data.license == "other" and card.data.pretty_name == "The text of A book"
    for package in sources.manifest("full"):
        assert f"| {package.name} | {package.version} | {package.licence} |" in card.text
    manifest = files.data_dir() / "corpus.toml"
    for pinned in files.read_toml(manifest)["profile"].values():
        assert all(sha256 in card.text for sha256 in pinned.values())
    assert (folder / "corpus.toml").read_bytes() == manifest.read_bytes()


def test_all_base_models_are_written_by_default():
    assert {"zero-layer", "one-layer", "two-layer", "two-layer-mlp"} <= {*folders.base_models()}
    assert not [name for name in folders.base_models() if "seed" in name]


def test_another_seed_names_its_siblings_and_its_own_command(root, quick):
    folder = next(folders.write(["two-layer-mlp-seed-1"], "ada", root))
    card = ModelCard.load(folder / "README.md")
    assert "attention-only" not in card.data.tags
    assert "`two-layer-mlp` 3." in card.text and "`two-layer-mlp-seed-2` 3." in card.text
    assert "`python -m transformer_circuits train two-layer-mlp --seed 1`" in card.text


def test_what_fails_midway_leaves_the_folder_as_it_was(two_layer, root, monkeypatch):
    before = {path: files.sha256(path) for path in two_layer.rglob("*") if path.is_file()}

    def fail(subject):
        raise KeyboardInterrupt

    monkeypatch.setattr(measures, "measured", fail)
    with pytest.raises(KeyboardInterrupt):
        next(folders.write(["two-layer"], "ada", root))
    assert {path: files.sha256(path) for path in two_layer.rglob("*") if path.is_file()} == before
    left = [path.name for path in two_layer.parent.iterdir() if path.name != ".lock"]
    assert left == ["two-layer"]


def test_a_folder_is_replaced_as_a_whole(two_layer, root):
    (two_layer / "old").write_text("")
    next(folders.write(["two-layer"], "ada", root))
    assert not (two_layer / "old").exists()


def test_unknown_models_are_named_before_any_is_written(root):
    with pytest.raises(files.UserError, match='no model called "three-layer"'):
        next(folders.write(["zero-layer", "three-layer"], "", root))
    assert not (root / folders.FOLDER).exists()


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("CITATION.cff", "authors: []", r"does not say \['license', 'title'\]"),
        ("CITATION.cff", "a: [", "cannot be read"),
        ("_config.yml", "text", "is no table"),
    ],
)
def test_what_a_card_is_made_of_is_named_where_it_is_damaged(root, quick, name, content, said):
    (root / name).write_text(content)
    with pytest.raises(files.UserError, match=f"{name} {said}"):
        next(folders.write(["zero-layer"], "", root))


def test_an_address_that_is_not_set_is_a_placeholder(root, quick):
    (root / "_config.yml").write_text("title: b\n")
    folder = next(folders.write(["zero-layer"], "ada", root))
    assert folders.placeholders(folder) == [cards.NO_ADDRESS]


def test_the_command_says_what_is_not_set_yet(root, quick, monkeypatch, capsys):
    (root / "data").symlink_to(ROOT / "data")
    monkeypatch.setattr(files, "data_dir", lambda: root / "data")
    cli.main(["hub", "zero-layer"])
    model, text = capsys.readouterr().out.splitlines()
    assert model.startswith(f"{root / folders.FOLDER / 'zero-layer'}: ")
    assert model.endswith(f" MB; not yet to upload: {cards.NO_OWNER}")
    assert text.startswith(f"{root / folders.FOLDER / folders.DATASET}: ")


def test_what_the_class_says_of_itself_is_what_the_project_says():
    said = HubTransformer._hub_mixin_info.model_card_data
    project = files.read_toml(ROOT / "pyproject.toml")["project"]
    assert said.library_name == project["name"]
    assert said.license == project["license"].lower()
    assert project["license"] == cards.Place(ROOT, "").citation["license"]


def test_the_page_for_owners_uses_the_names_of_the_cards():
    page = (ROOT / "chapters/reference/publishing.md").read_text(encoding="utf-8")
    place = cards.Place(ROOT, "account")
    assert place.model("$name") in page and place.text in page
    assert all(f"{name} " in page or f"{name};" in page for name in folders.base_models())
