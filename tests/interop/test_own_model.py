"""A model from a folder, a file, a hub or memory: every format as others write it, and every way to fail."""

import inspect
import json
import pickle
import shutil

import forms
import huggingface_hub
import numpy as np
import pytest
import torch
from conftest import SHAPE
from safetensors.torch import load_file, save_file

from transformer_circuits import files, settings
from transformer_circuits.interop import conversion, own_model
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
    """A folder as on the hub: weights, and the config beside them."""
    torch.save(theirs, tmp_path / "model_final.pth")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def random_model():
    model = Transformer(SHAPE)
    model.randomise()
    return model


def of_the_books_format(place):
    """A folder with a config.toml, and beside the weights another file of them."""
    (place / "config.toml").write_text(settings.dumps(model=SHAPE))
    for name in ("weights", "other"):
        save_file(random_model().state_dict(), place / f"{name}.safetensors")
    return "weights.safetensors"


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


def test_the_token_that_opens_contexts_is_zero_here(place, logits, tokens):
    begin = 13
    swapped = tokens.clone()
    swapped[tokens == 0], swapped[tokens == begin] = begin, 0
    found = own_model.load(place, begin=begin)(swapped)
    logits[..., [0, begin]] = logits[..., [begin, 0]]
    torch.testing.assert_close(found, logits)


@pytest.mark.parametrize(
    ("inside", "wanted", "ignored"), [("", "*.pth", "*/*"), ("/a/b", "a/b/*.pth", "a/b/*/*")]
)
def test_a_hub_is_asked_for_what_lies_in_one_folder_alone(
    monkeypatch, place, logits, tokens, inside, wanted, ignored
):
    asked = {}

    def fetched(name, **options):
        asked.update(options, name=name)
        return str(place.parent if inside else place)

    if inside:
        (place.parent / "a").mkdir(exist_ok=True)
        shutil.copytree(place, place.parent / "a" / "b")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetched)
    torch.testing.assert_close(own_model.load(f"someone/attn-2L{inside}")(tokens), logits)
    assert asked["name"] == "someone/attn-2L" and asked["ignore_patterns"] == [ignored]
    assert wanted in asked["allow_patterns"]


def test_without_a_network_one_line_says_so(monkeypatch):
    def refused(name, **options):
        raise ConnectionError("no route to host\nand much more")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refused)
    with pytest.raises(
        files.UserError, match=r"no file or folder a/b here, and .*no route to host$"
    ):
        own_model.load("a/b")
    for path in ("../nothing", "models/nothing.pth", "nothing"):
        with pytest.raises(files.UserError, match=f"there is no {path}, and on a hub names are"):
            own_model.load(path)


def test_what_is_missing_or_too_much_is_named(place, theirs):
    with pytest.raises(
        files.UserError, match="the state dict: no weight tells whether there is a norm"
    ):
        own_model.load(theirs)
    shutil.copy(place / "model_final.pth", place / "another.pth")
    with pytest.raises(files.UserError, match=r"\['another.pth', 'model_final.pth'\] with weights"):
        own_model.load(place)
    for text, said in (("[1]", "list but must be an object"), ("{", "not JSON")):
        (place / "config.json").write_text(text)
        with pytest.raises(files.UserError, match=f"config.json is {said}"):
            own_model.load(place / "another.pth")
    (place / "config.json").unlink()
    with pytest.raises(
        files.UserError, match=r"another.pth: no weight tells whether there is a norm"
    ):
        own_model.load(place / "another.pth")
    (empty := place / "empty").mkdir()
    with pytest.raises(files.UserError, match="has no files with weights"):
        own_model.load(empty)


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
    with pytest.raises(
        files.UserError, match=f"{name} (is no file|is damaged or holds more|must hold)"
    ):
        own_model.load(path, CONFIG)
    assert "unpacked" not in capsys.readouterr().out


def test_beside_the_weights_of_a_hub_there_may_be_others(place, theirs, logits, tokens):
    save_file({k: W.contiguous() for k, W in theirs.items() if W.ndim}, place / "model.safetensors")
    torch.save({"state": 1}, place / "optimizer.pt")
    torch.testing.assert_close(own_model.load(place)(tokens), logits)


def test_the_file_that_is_named_is_the_one_that_is_loaded(tmp_path):
    named = of_the_books_format(tmp_path)
    for source, path in (
        (tmp_path, named),
        *((tmp_path / p, p) for p in (named, "other.safetensors")),
    ):
        expected = load_file(tmp_path / path)["W_U"]
        assert torch.equal(own_model.load(source).W_U, expected), source


def test_a_file_that_the_config_beside_it_does_not_describe_is_refused(tmp_path, theirs):
    of_the_books_format(tmp_path)
    torch.save(theirs, path := tmp_path / "theirs.pth")
    with pytest.raises(files.UserError, match=f"{path} is no .safetensors, as the config.toml"):
        own_model.load(path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(files.UserError, match=r"has a config\.toml and a config\.json beside it"):
        own_model.load(tmp_path / "other.safetensors")
    (tmp_path / "config.json").unlink()
    provenance = {"corpus_sha256": "", "tokenizer_sha256": "", "torch": "", "tokens": 1}
    sha = files.sha256(tmp_path / "weights.safetensors")
    described = settings.dumps(model=SHAPE, provenance=provenance | {"weights_sha256": sha})
    (tmp_path / "config.toml").write_text(described)
    own_model.load(tmp_path / "weights.safetensors")
    with pytest.raises(
        files.UserError, match=f"other.safetensors is not the .* its config says {sha}"
    ):
        own_model.load(tmp_path / "other.safetensors")


as_a_reader_calls_it = inspect.unwrap(own_model.read)
"""Without the types, which are checked in tests alone."""


@pytest.mark.parametrize("begin", ["3", 1.0, True, -1, 17])
def test_the_first_token_is_a_whole_number_that_there_is(place, begin):
    with pytest.raises(files.UserError, match=f"begin is {begin!r} but .* has the tokens 0 to 16"):
        as_a_reader_calls_it(place, begin=begin)


@pytest.mark.parametrize(("factor", "tokens"), [(1e20, slice(None)), (1e38, slice(-1, None))])
def test_weights_whose_products_overflow_are_refused(tmp_path, factor, tokens):
    """Of all tokens, or of one that no short context holds."""
    named = of_the_books_format(tmp_path)
    tensors = load_file(tmp_path / named)
    tensors["W_E"][:, tokens] = factor
    tensors["W_U"] *= factor if tokens == slice(None) else 1
    save_file(tensors, tmp_path / named)
    with pytest.raises(files.UserError, match=r"finite, but logits .* products of W_E and W_U"):
        own_model.load(tmp_path)


def with_one(value):
    def change(W):
        W = W.clone()
        W.view(-1)[3] = value
        return W

    return change


WRONG = {
    "nan": (with_one(torch.nan), "has 1 of .* numbers that are not finite, but all must be"),
    "inf": (with_one(-torch.inf), "has 1 of .* numbers that are not finite, but all must be"),
    "int8": (lambda W: W.to(torch.int8), "is torch.int8 but must be of real numbers"),
    "complex": (lambda W: W.float() + 0j, r"is torch.complex\d+ but must be of real numbers"),
    "sparse": (lambda W: W.to_sparse(), "is torch.sparse_coo on the device cpu but must be one d"),
    "meta": (lambda W: W.to("meta"), "is torch.strided on the device meta but must be one dense"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_weights_that_are_no_finite_numbers_are_refused_in_memory(theirs, kind):
    change, said = WRONG[kind]
    theirs["embed.W_E"] = change(theirs["embed.W_E"])
    with pytest.raises(files.UserError, match=f"^embed.W_E {said}"):
        conversion.transformer(theirs, CONFIG)
    others = {"wte.weight": theirs["embed.W_E"], "lm_head.weight": torch.ones(17, 14)}
    with pytest.raises(files.UserError, match=f"^the state dict: wte.weight {said}"):
        own_model.load(others, CONFIG)


@pytest.mark.parametrize("kind", ["nan", "int8"])
@pytest.mark.parametrize("way", [of_the_books_format, "theirs"])
def test_weights_that_are_no_finite_numbers_are_refused_in_every_file(place, theirs, way, kind):
    change, said = WRONG[kind]
    if way == "theirs":
        path, name = place / "model_final.pth", "blocks.1.attn.W_V"
        torch.save(theirs | {name: change(theirs[name])}, path)
    else:
        path, name = place / way(place), "layers.1.W_V_concat"
        tensors = load_file(path)
        save_file(tensors | {name: change(tensors[name])}, path)
    with pytest.raises(files.UserError, match=f"^{path}: {name} {said}"):
        own_model.load(path)
