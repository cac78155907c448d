"""A model as a folder that `huggingface_hub` reads; nothing here asks a network."""

import json

import pytest
import safetensors.torch
import torch
from conftest import SHAPE
from huggingface_hub import ModelCard, PyTorchModelHubMixin

from transformer_circuits import files
from transformer_circuits.interop import hub
from transformer_circuits.interop.hub import HubTransformer
from transformer_circuits.model.transformer import Transformer


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.fixture
def saved(tmp_path, generator):
    """A model of which nothing is rounded, and the folder it was saved in."""
    model = HubTransformer(SHAPE)
    model.randomise(generator=generator)
    model.save_pretrained(tmp_path / "m")
    return model, tmp_path / "m"


def test_a_round_trip_changes_no_logit(saved, tokens):
    model, folder = saved
    again = HubTransformer.from_pretrained(folder)
    assert again.config == SHAPE and not again.training
    assert torch.equal(again(tokens), model(tokens))
    assert isinstance(again, Transformer)


def test_the_hubs_own_class_reads_the_folder_too(saved, tokens):
    class Theirs(Transformer, PyTorchModelHubMixin):
        """As anyone would write it, without our checks."""

    model, folder = saved
    again = Theirs.from_pretrained(folder)
    assert again.config == SHAPE
    assert torch.equal(again(tokens), model(tokens))


def test_what_the_hubs_own_class_saves_is_read(saved, tokens, tmp_path):
    class Theirs(Transformer, PyTorchModelHubMixin):
        """As above; its config.json has no checksum."""

    model, _ = saved
    theirs = Theirs(SHAPE)
    theirs.load_state_dict(model.state_dict())
    theirs.save_pretrained(tmp_path / "theirs")
    assert torch.equal(HubTransformer.from_pretrained(tmp_path / "theirs")(tokens), model(tokens))


def test_a_saved_model_says_what_it_is(saved):
    _, folder = saved
    about = json.loads((folder / hub.CONFIG).read_text())
    assert about["architectures"] == ["HubTransformer"]
    assert about["attn_only"] and about["normalization_type"] is None
    assert about["weights_sha256"] == files.sha256(folder / hub.WEIGHTS)
    card = ModelCard.load(folder / "README.md")
    assert card.data.library_name == hub.LIBRARY and card.data.license == "mit"


def test_a_moment_of_the_training_is_a_folder_inside(saved, tokens):
    _, folder = saved
    early = HubTransformer(SHAPE)
    early.save_pretrained(folder / hub.place_of(25))
    again = HubTransformer.from_pretrained(folder, step=25)
    assert torch.equal(again(tokens), early(tokens))
    with pytest.raises(files.UserError, match=r"step-000050/config.json is not there"):
        HubTransformer.from_pretrained(folder, step=50)


def changed(folder, **values):
    """Replace entries of config.json; None takes one away."""
    path = folder / hub.CONFIG
    about = json.loads(path.read_text()) | values
    path.write_text(json.dumps({key: value for key, value in about.items() if value is not None}))


def weights_of_another_shape(folder):
    other = {name: weight[:1] for name, weight in HubTransformer(SHAPE).state_dict().items()}
    safetensors.torch.save_file(
        {name: weight.contiguous() for name, weight in other.items()}, folder / hub.WEIGHTS
    )
    changed(folder, weights_sha256=None)


def flip_the_last_byte(folder):
    path = folder / hub.WEIGHTS
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def cut_off(folder):
    path = folder / hub.WEIGHTS
    path.write_bytes(path.read_bytes()[:-9])
    changed(folder, weights_sha256=None)


@pytest.mark.parametrize(
    "damage, said",
    [
        (lambda folder: (folder / hub.CONFIG).unlink(), "config.json is not there"),
        (
            lambda folder: (folder / hub.WEIGHTS).unlink(),
            "model.safetensors does not fit .* No such",
        ),
        (lambda folder: (folder / hub.CONFIG).write_text("{"), "config.json is not a JSON object"),
        (lambda folder: (folder / hub.CONFIG).write_text("[]"), "config.json is not a JSON object"),
        (lambda folder: (folder / hub.CONFIG).write_bytes(b"\xff"), "is not a JSON object"),
        (
            lambda folder: changed(folder, n_heads=None),
            r"does not fit config.json: .* misses \['n_heads'\]",
        ),
        (lambda folder: changed(folder, n_heads="5"), "n_heads is '5' but must be a whole number"),
        (lambda folder: changed(folder, d_model=15), "d_model is 15 but must be even"),
        (lambda folder: changed(folder, n_heads=4), "does not fit config.json: .*size mismatch"),
        (weights_of_another_shape, "does not fit config.json: .*size mismatch"),
        (flip_the_last_byte, "model.safetensors has SHA-256 .* but config.json says"),
        (cut_off, "model.safetensors does not fit config.json"),
    ],
)
def test_a_damaged_folder_is_named_with_the_remedy(saved, damage, said):
    _, folder = saved
    damage(folder)
    with pytest.raises(files.UserError, match=rf"(?s){said}") as caught:
        HubTransformer.from_pretrained(folder)
    assert str(folder) in str(caught.value)
    assert "make it again: python -m tools hub" in str(caught.value)


@pytest.mark.parametrize("name", ["account/model", "a/folder/that is not there"])
def test_a_name_that_leads_nowhere_is_said_plainly(name, tmp_path, monkeypatch):
    with pytest.raises(files.UserError, match=f"no folder {name}, and the hub gave no model"):
        HubTransformer.from_pretrained(name, cache_dir=tmp_path)


def test_of_a_hub_only_what_is_needed_is_fetched(saved, tokens, monkeypatch):
    model, folder = saved
    asked = []

    def fetch(name, **options):
        asked.append((name, options))
        return str(folder)

    monkeypatch.setattr(hub, "snapshot_download", fetch)
    model.save_pretrained(folder / hub.place_of(25))
    for step in (None, 25):
        again = HubTransformer.from_pretrained("account/model", step=step, revision="v1")
        assert torch.equal(again(tokens), model(tokens))
    wanted = [["config.json", "model.safetensors"]]
    wanted.append([f"checkpoints/step-000025/{name}" for name in wanted[0]])
    assert asked == [("account/model", {"allow_patterns": w, "revision": "v1"}) for w in wanted]
