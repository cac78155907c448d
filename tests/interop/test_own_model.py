"""A model from a folder, a file or memory: every format as others write it, and every way to fail."""

import inspect
import json
import pickle

import forms
import numpy as np
import pytest
import torch
from conftest import SHAPE
from safetensors.torch import load_file, save_file

from transformer_circuits import files, settings
from transformer_circuits.interop import own_model
from transformer_circuits.model.transformer import Transformer

CONFIG = forms.config("as in the paper")


@pytest.fixture
def theirs():
    """A state dict as TransformerLens has it, with its buffers."""
    buffers = {"blocks.0.attn.mask": torch.ones(11, 11).tril().bool()}
    buffers["blocks.0.attn.IGNORE"] = torch.tensor(-torch.inf)
    return forms.as_tensors(forms.draw(CONFIG)) | buffers


@pytest.fixture
def logits(tokens):
    return torch.from_numpy(forms.forward(forms.draw(CONFIG), CONFIG, tokens.numpy()))


@pytest.fixture
def place(tmp_path, theirs):
    """A folder as on the hub: weights, and the config beside them, as Windows writes it."""
    torch.save(theirs, tmp_path / "model_final.pth")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8-sig")
    return tmp_path


def of_the_books_format(place):
    """A folder with a config.toml, and beside the weights another file of them."""
    (place / "config.toml").write_text(settings.dumps(model=SHAPE))
    for name in ("weights", "other"):
        model = Transformer(SHAPE)
        model.randomise()
        save_file(model.state_dict(), place / f"{name}.safetensors")
    return place / "weights.safetensors"


@pytest.mark.parametrize("suffix", ["npz", "pt", "bin", "pth", "safetensors"])
def test_every_format_gives_the_same_model(place, theirs, logits, tokens, suffix):
    (alone := place / "alone").mkdir()
    plain = {name: W.contiguous() for name, W in theirs.items() if W.ndim}
    if suffix == "npz":
        np.savez(alone / "w.npz", **plain)
    elif suffix == "safetensors":
        save_file(plain, alone / "w.safetensors")
    else:
        torch.save(theirs, alone / f"w.{suffix}")
    for source, config in (
        (place, None),
        (str(place / "model_final.pth"), None),
        (theirs, CONFIG),
        (alone / f"w.{suffix}", CONFIG),
        (alone, str(place / "config.json")),
    ):
        torch.testing.assert_close(own_model.load(source, config)(tokens), logits)


def test_the_token_that_opens_contexts_is_zero_here_or_there_is_none(place, logits, tokens):
    begin = 13
    swapped = tokens.clone()
    swapped[tokens == 0], swapped[tokens == begin] = begin, 0
    found = own_model.load(place, begin=begin)(swapped)
    torch.testing.assert_close(own_model.load(place, begin=None)(tokens), logits)
    assert own_model.load(place, begin=None).config.begin is False
    logits[..., [0, begin]] = logits[..., [begin, 0]]
    torch.testing.assert_close(found, logits)


@pytest.mark.parametrize(
    "name", ["gpt2", "two-layer", "someone/attn-2L", "https://huggingface.co/someone/attn-2L"]
)
def test_what_is_not_here_is_said_to_come_from_a_hub_first(name):
    with pytest.raises(files.UserError, match=f"no {name}. What a hub has comes first with hugg"):
        own_model.load(name)


def test_what_is_missing_or_too_much_is_named(place, theirs, tokens, logits):
    norm = "no weight tells whether there is a norm"
    with pytest.raises(files.UserError, match=f"the state dict: {norm}"):
        own_model.load(theirs)
    torch.save({"state": 1}, place / "optimizer.pt")
    with pytest.raises(files.UserError, match=r"\['model_final.pth', 'optimizer.pt'\] with weight"):
        own_model.load(place)
    save_file({k: W.contiguous() for k, W in theirs.items() if W.ndim}, place / "model.safetensors")
    torch.testing.assert_close(own_model.load(place)(tokens), logits)  # hubs call it so
    for text, said in (("[1]", "list but must be an object"), ("{", "not JSON")):
        (place / "config.json").write_text(text)
        with pytest.raises(files.UserError, match=f"config.json is {said}"):
            own_model.load(place)
    (place / "config.json").unlink()
    with pytest.raises(files.UserError, match=f"model.safetensors: {norm}"):
        own_model.load(place)
    (empty := place / "empty").mkdir()
    with pytest.raises(files.UserError, match="has no files with weights"):
        own_model.load(empty)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (torch.nn.Linear(2, 2), r"a Linear but must be .* give its .state_dict\(\)$"),
        (3, "a int but must be the path of a folder or file, or a state dict$"),
        ({"embed.W_E": [[1.0]]}, r"hold a state dict, .* but has \[\('embed.W_E', 'list'\)\]"),
        (torch.ones(2), "a Tensor but must be the path"),
        ({0: torch.ones(1)}, r"hold a state dict, .* but has \[\(0, 'Tensor'\)\]"),
    ],
)
def test_what_is_no_source_is_refused_with_the_remedy(source, said):
    with pytest.raises(files.UserError, match=said):
        own_model._state_dict(source, "it") if isinstance(source, dict) else own_model._place(
            source
        )


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (([[1]], [[1.0]]), "all of them tensors"),
        (torch.ones(4, 3), "all of them tensors"),
        ((torch.zeros(0, 3).long(), torch.zeros(0, 3, 17)), "none empty"),
        ((torch.zeros(1, 3).long(), torch.full((1, 3, 17), torch.nan)), "no finite numbers"),
    ],
)
def test_what_is_no_check_is_refused(theirs, check, said):
    model = own_model.load(theirs, CONFIG)
    with pytest.raises(ValueError, match=said):
        inspect.unwrap(own_model._confirm)(model, check)


@pytest.mark.parametrize(("name", "value"), [("n_heads", -2), ("n_heads", 0), ("n_layers", -2)])
def test_a_size_is_a_whole_number_above_nothing(theirs, name, value):
    with pytest.raises(files.UserError, match=f"{name} is {value} in the config but must be a wh"):
        own_model.load(theirs, CONFIG | {name: value})


class Trap:
    """What a pickle may do when it is unpacked."""

    def __reduce__(self):
        return (print, ("unpacked",))


@pytest.mark.parametrize("name", ["damaged.pth", "damaged.safetensors", "trap.pth", "nested.pth"])
def test_files_that_are_no_weights_are_refused_and_unpack_nothing(tmp_path, capsys, name):
    path = tmp_path / name
    if name == "trap.pth":
        path.write_bytes(pickle.dumps(Trap()))
    elif name == "nested.pth":
        torch.save({"model": {"embed.W_E": torch.ones(2)}}, path)
    else:
        path.write_bytes(b"no weights at all")
    with pytest.raises(files.UserError, match=f"{name} (is no file of weights|must hold a state)"):
        own_model.load(path, CONFIG)
    assert "unpacked" not in capsys.readouterr().out


def test_a_model_of_the_books_format_is_that_of_its_config(tmp_path, theirs):
    path = of_the_books_format(tmp_path)
    for source in (tmp_path, path):
        assert torch.equal(own_model.load(source).W_U, load_file(path)["W_U"])
    sha = files.sha256(tmp_path / "other.safetensors")
    provenance = {"corpus_sha256": "", "tokenizer_sha256": "", "torch": "", "tokens": 1}
    described = settings.dumps(model=SHAPE, provenance=provenance | {"weights_sha256": sha})
    (tmp_path / "config.toml").write_text(described)
    with pytest.raises(files.UserError, match=f"weights.safetensors is not the .* says {sha}"):
        own_model.load(tmp_path)


as_a_reader_calls_it = inspect.unwrap(own_model.read)
"""Without the types, which are checked in tests alone."""


@pytest.mark.parametrize("begin", ["3", 1.0, True, -1, 17])
def test_the_first_token_is_a_whole_number_that_there_is(place, begin):
    with pytest.raises(files.UserError, match=f"begin is {begin!r} but .* has the tokens 0 to 16"):
        as_a_reader_calls_it(place, begin=begin)


def with_one(value):
    def change(W):
        W = W.clone()
        W.view(-1)[3] = value
        return W

    return change


WRONG = {
    "nan": (with_one(torch.nan), "has 1 of .* numbers that are not finite, but all must be"),
    "inf": (with_one(-torch.inf), "has 1 of .* numbers that are not finite, but all must be"),
    "large": (lambda W: 1e38 * W.float(), "weights are finite, but logits .* are not"),
    "int8": (lambda W: W.to(torch.int8), "is torch.int8 but must be of real numbers"),
    "complex": (lambda W: W.float() + 0j, r"is torch.complex\d+ but must be of real numbers"),
    "sparse": (lambda W: W.to_sparse(), "is torch.sparse_coo on the device cpu but must be one d"),
    "meta": (lambda W: W.to("meta"), "is torch.strided on the device meta but must be one dense"),
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("name", ["unembed.W_U", "blocks.1.attn.W_V"])
def test_weights_that_are_no_finite_numbers_are_refused(theirs, name, kind):
    change, said = WRONG[kind]
    theirs = {key: W.float() if W.is_floating_point() else W for key, W in theirs.items()}
    with pytest.raises(files.UserError, match=f"^the state dict: .*{said}"):
        own_model.load(theirs | {name: change(theirs[name])}, CONFIG)
