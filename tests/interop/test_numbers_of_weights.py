"""One check for every way of loading: whatever is not dense, real and finite is named and refused."""

import json

import pytest
import safetensors.torch
import torch
from conftest import SHAPE
from theirs import CONFIG, checkpoint

from transformer_circuits import files, settings
from transformer_circuits.interop import foreign, own_model
from transformer_circuits.interop.hub import HubTransformer
from transformer_circuits.model import weights
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.training import checkpoint as of_the_book


def with_one(value):
    def change(W):
        W = W.clone()
        W.view(-1)[3] = value
        return W

    return change


WRONG = {
    "nan": (with_one(torch.nan), "has 1 of {n} numbers that are not finite, but all must be"),
    "inf": (with_one(-torch.inf), "has 1 of {n} numbers that are not finite, but all must be"),
    "int8": (lambda W: W.to(torch.int8), "is torch.int8 but must be of real numbers"),
    "bool": (lambda W: W > 0, "is torch.bool but must be of real numbers"),
    "complex": (lambda W: W.float() + 0j, r"is torch.complex\d+ but must be of real numbers"),
    "float8": (lambda W: W.to(torch.float8_e4m3fn), r"is torch.float8\w+ but must be of real"),
    "sparse": (lambda W: W.to_sparse(), "is torch.sparse_coo on the device cpu but must be one d"),
    "meta": (lambda W: W.to("meta"), "is torch.strided on the device meta but must be one dense"),
}


def into_a_model(place):
    of_the_book.load_weights(Transformer(SHAPE), place / "weights.safetensors")


def book_folder(place, change):
    """What was written, which tensor in it is wrong, and what else loads it but `own_model.load`."""
    tensors = Transformer(SHAPE).state_dict()
    tensors["layers.1.W_V_concat"] = change(tensors["layers.1.W_V_concat"])
    (place / "config.toml").write_text(settings.dumps(model=SHAPE))
    safetensors.torch.save_file(tensors, place / "weights.safetensors")
    return place / "weights.safetensors", "layers.1.W_V_concat", into_a_model


def hub_folder(place, change):
    HubTransformer(SHAPE).save_pretrained(place)
    about = json.loads((place / "config.json").read_text())
    del about["weights_sha256"]  # as the hub's own library writes it
    (place / "config.json").write_text(json.dumps(about))
    path = place / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    tensors["W_U"] = change(tensors["W_U"])
    safetensors.torch.save_file(tensors, path)
    return path, "W_U", HubTransformer.from_pretrained


def of_the_field(place, change, suffix):
    theirs = checkpoint(torch.Generator().manual_seed(0))
    theirs["blocks.1.attn.W_V"] = change(theirs["blocks.1.attn.W_V"])
    (place / "config.json").write_text(json.dumps(CONFIG))
    if suffix == ".pth":
        torch.save(theirs, place / "w.pth")
    else:
        whole = {name: W.contiguous() for name, W in theirs.items()}
        safetensors.torch.save_file(whole, place / "w.safetensors")
    return place / f"w{suffix}", "blocks.1.attn.W_V", own_model.load


WAYS = {
    "config.toml": book_folder,
    "hub": hub_folder,
    "safetensors": lambda place, change: of_the_field(place, change, ".safetensors"),
    "pth": lambda place, change: of_the_field(place, change, ".pth"),
}


DENSE = [kind for kind in WRONG if kind not in ("sparse", "meta")]
"""What a safetensors file can hold; a pickle holds any."""


@pytest.mark.parametrize(
    ("way", "kind"),
    [(way, kind) for way in WAYS for kind in (WRONG if way == "pth" else DENSE)],
)
def test_weights_that_are_no_finite_numbers_are_refused_however_they_are_loaded(
    tmp_path, way, kind
):
    change, said = WRONG[kind]
    path, name, other = WAYS[way](tmp_path, change)
    for load in (own_model.load, other):
        with pytest.raises(files.UserError, match=f"^{path}: {name} {said.format(n=r'[0-9]+')}"):
            load(tmp_path)


@pytest.mark.parametrize("kind", WRONG)
def test_tensors_without_a_file_are_asked_the_same(generator, kind):
    change, said = WRONG[kind]
    theirs = checkpoint(generator)
    theirs["embed.W_E"] = change(theirs["embed.W_E"])
    with pytest.raises(files.UserError, match=f"^embed.W_E {said.format(n=238)}"):
        foreign.transformer(theirs, CONFIG)
    with pytest.raises(files.UserError, match=f"^the state dict: embed.W_E {said.format(n=238)}"):
        own_model.load(theirs, CONFIG)
    others = {"wte.weight": theirs["embed.W_E"], "lm_head.weight": torch.ones(17, 14)}
    with pytest.raises(files.UserError, match=f"^the state dict: wte.weight {said.format(n=238)}"):
        own_model.load(others, CONFIG)


@pytest.mark.parametrize("dtype", weights.KINDS, ids=str)
def test_every_kind_of_real_number_is_taken(tmp_path, dtype):
    path, _, _ = book_folder(tmp_path, lambda W: W.to(dtype))
    assert weights.read(path)["layers.1.W_V_concat"].dtype == dtype
    assert own_model.load(tmp_path).W_E.dtype == torch.float32


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_is_refused():
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    with pytest.raises(files.UserError, match=r"W is .* but must be one dense array"):
        weights.require_numbers({"W": nested})
