"""A model from a folder, a file or a hub: every format as others write it, and every way to fail."""

import inspect
import json
import pickle
import shutil

import huggingface_hub
import pytest
import torch
from conftest import SHAPE
from safetensors.torch import load_file, save_file
from theirs import CONFIG, checkpoint, logits

from transformer_circuits import files, settings
from transformer_circuits.interop import own_model
from transformer_circuits.interop.hub import HubTransformer
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.training import checkpoint as of_the_book


@pytest.fixture
def theirs(generator):
    return checkpoint(generator)


@pytest.fixture
def place(tmp_path, theirs):
    """A folder as on the hub: weights, and the config beside them."""
    torch.save(theirs, tmp_path / "model_final.pth")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def test_every_format_gives_the_same_model(place, theirs, tokens):
    expected = logits(theirs, tokens)
    weights = place / "alone" / "w.safetensors"
    weights.parent.mkdir()
    save_file({k: W.contiguous() for k, W in theirs.items() if W.ndim}, weights)
    for source, config in (
        (place, None),
        (str(place / "model_final.pth"), None),
        (weights, CONFIG),
        (weights, place / "config.json"),
        (weights.parent, str(place / "config.json")),
    ):
        torch.testing.assert_close(own_model.load(source, config)(tokens), expected)


def test_a_folder_of_the_book_is_read_as_ever():
    name = "one-layer"
    model, own = of_the_book.load(name), own_model.load(of_the_book.folder(name))
    assert torch.equal(own.W_E, model.W_E) and own.config == model.config


def test_a_folder_for_a_hub_is_one_of_ours(tmp_path, tokens):
    saved = HubTransformer(SHAPE)
    saved.save_pretrained(tmp_path)
    model = own_model.load(tmp_path)
    assert torch.equal(model(tokens), saved(tokens)) and not model.W_E.requires_grad


def test_the_token_that_opens_contexts_is_zero_here(place, theirs, tokens):
    begin = 13
    swapped = tokens.clone()
    swapped[tokens == 0], swapped[tokens == begin] = begin, 0
    found = own_model.load(place, begin=begin)(swapped)
    expected = logits(theirs, tokens)
    expected[..., [0, begin]] = expected[..., [begin, 0]]
    torch.testing.assert_close(found, expected)


def test_a_hub_is_asked_for_what_lies_at_the_top_alone(monkeypatch, place, theirs, tokens):
    asked = {}

    def fetched(name, **options):
        asked.update(options, name=name)
        return str(place)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetched)
    found = own_model.load("someone/attn_only-2L")
    torch.testing.assert_close(found(tokens), logits(theirs, tokens))
    assert asked["name"] == "someone/attn_only-2L" and asked["ignore_patterns"] == ["*/*"]
    assert {"*.pth", "*.safetensors", "*.json"} <= {*asked["allow_patterns"]}


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


def test_a_model_with_layer_norm_is_read_by_the_same_call(place, generator, tokens):
    config = CONFIG | {"normalization_type": "LN", "positional_embedding_type": "standard"}
    theirs = checkpoint(generator, config, biases=0.5)
    torch.save(theirs, place / "model_final.pth")
    (place / "config.json").write_text(json.dumps(config))
    torch.testing.assert_close(own_model.load(place)(tokens), logits(theirs, tokens, config))
    with pytest.raises(files.UserError, match="a state dict needs its settings: say whether"):
        own_model.load(theirs)


def test_what_is_missing_or_too_much_is_named(place):
    shutil.copy(place / "model_final.pth", place / "another.pth")
    with pytest.raises(files.UserError, match=r"\['another.pth', 'model_final.pth'\] with weights"):
        own_model.load(place)
    (place / "config.json").write_text("[1]")
    with pytest.raises(files.UserError, match=r"config.json is list but must be an object"):
        own_model.load(place / "another.pth")
    for text in ("{", "[" * 100_000 + "]" * 100_000):
        (place / "config.json").write_text(text)
        with pytest.raises(files.UserError, match=r"config.json is not JSON"):
            own_model.load(place / "another.pth")
    (place / "config.json").unlink()
    with pytest.raises(
        files.UserError, match=r"no config.json for .*another.pth, nor a config.toml"
    ):
        own_model.load(place / "another.pth")
    (empty := place / "empty").mkdir()
    with pytest.raises(files.UserError, match="has no files with weights"):
        own_model.load(empty)


class Trap:
    """What a pickle may do when it is unpacked."""

    def __reduce__(self):
        return (print, ("unpacked",))


@pytest.mark.parametrize("name", ["damaged.pth", "damaged.safetensors", "trap.pth", "list.pth"])
def test_files_that_are_no_weights_are_refused_and_unpack_nothing(tmp_path, capsys, name):
    path = tmp_path / name
    if name == "trap.pth":
        path.write_bytes(pickle.dumps(Trap()))
    elif name == "list.pth":
        torch.save([torch.ones(2)], path)
    else:
        path.write_bytes(b"no weights at all")
    with pytest.raises(
        files.UserError, match=f"{name} (is no file|is damaged or holds more|must hold)"
    ):
        own_model.load(path, CONFIG)
    assert "unpacked" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["model", 0])
def test_a_state_dict_within_another_is_said_to_be_one(place, theirs, name):
    torch.save({name: theirs if name else torch.ones(2)}, place / "model_final.pth")
    with pytest.raises(files.UserError, match=rf"must hold .* the names \[{name!r}\]; where one"):
        own_model.load(place)


def test_beside_the_weights_of_a_hub_there_may_be_others(place, theirs, tokens):
    save_file({k: W.contiguous() for k, W in theirs.items() if W.ndim}, place / "model.safetensors")
    torch.save({"state": 1}, place / "optimizer.pt")
    torch.testing.assert_close(own_model.load(place)(tokens), logits(theirs, tokens))


def test_the_weights_of_a_folder_of_ours_may_be_named_themselves():
    folder = of_the_book.folder("one-layer")
    model = own_model.load(folder / "weights.safetensors")
    assert torch.equal(model.W_E, of_the_book.load("one-layer").W_E)


def two_of_the_book(place):
    """A folder with a config.toml, and beside the weights another file of them."""
    (place / "config.toml").write_text(settings.dumps(model=SHAPE))
    for name in ("weights", "other"):
        (model := Transformer(SHAPE)).randomise()
        save_file(model.state_dict(), place / f"{name}.safetensors")
    return "weights.safetensors"


def two_of_a_hub(place):
    """The same in the hub's format, as its own library writes it: without a checksum."""
    (model := HubTransformer(SHAPE)).randomise()
    model.save_pretrained(place)
    about = json.loads((place / "config.json").read_text())
    del about["weights_sha256"]
    (place / "config.json").write_text(json.dumps(about))
    model.randomise()
    save_file(model.state_dict(), place / "other.safetensors")
    return "model.safetensors"


@pytest.mark.parametrize("two", [two_of_the_book, two_of_a_hub])
def test_the_file_that_is_named_is_the_one_that_is_loaded(tmp_path, two):
    named = two(tmp_path)
    for source, path in (
        (tmp_path, named),
        *((tmp_path / p, p) for p in (named, "other.safetensors")),
    ):
        expected = load_file(tmp_path / path)["W_U"]
        assert torch.equal(own_model.load(source).W_U, expected), source


def test_a_file_that_the_config_beside_it_does_not_describe_is_refused(tmp_path, theirs):
    (tmp_path / "hub").mkdir()
    HubTransformer(SHAPE).save_pretrained(tmp_path / "hub")
    shutil.copy(tmp_path / "hub/model.safetensors", other := tmp_path / "hub/other.safetensors")
    other.write_bytes(other.read_bytes()[:-1] + b"\x01")
    with pytest.raises(files.UserError, match=f"{other} has SHA-256 .* but config.json says"):
        own_model.load(other)
    two_of_the_book(tmp_path)
    torch.save(theirs, path := tmp_path / "theirs.pth")
    with pytest.raises(files.UserError, match=f"{path} is no .safetensors, as the config.toml"):
        own_model.load(path)
    shutil.copy(tmp_path / "hub/config.json", tmp_path)
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


def test_the_config_that_is_given_is_the_one_that_counts(tmp_path):
    named = two_of_a_hub(tmp_path)
    about = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text("{}")
    model = own_model.load(tmp_path / "other.safetensors", about)
    assert torch.equal(model.W_U, load_file(tmp_path / "other.safetensors")["W_U"])
    assert own_model.load(tmp_path / named, about | {"begin": False}).config.begin is False


as_a_reader_calls_it = inspect.unwrap(own_model.load)
"""Without the types, which are checked in tests alone."""


@pytest.mark.parametrize("begin", ["3", 1.0, True, -1, 17])
def test_the_first_token_is_a_whole_number_that_there_is(place, begin):
    with pytest.raises(files.UserError, match=f"begin is {begin!r} but .* has the tokens 0 to 16"):
        as_a_reader_calls_it(place, begin=begin)


@pytest.mark.parametrize("source", [None, 3, b"x"])
def test_what_is_no_path_is_said_to_be_none(source):
    with pytest.raises(files.UserError, match=f"source is {source!r} but must be the path of"):
        as_a_reader_calls_it(source)


@pytest.mark.parametrize("name", ["n_ctx", "n_vocab", "n_layers"])
def test_a_config_of_an_absurd_size_is_refused_before_there_is_any_memory_of_it(tmp_path, name):
    two_of_the_book(tmp_path)
    config = settings.dumps(model=SHAPE).replace(f"{name} = ", f"{name} = 4000000000 #")
    (tmp_path / "config.toml").write_text(config)
    with pytest.raises(files.UserError, match=rf"of [\d,]+ numbers but at .*{name} 4,000,000,000"):
        own_model.load(tmp_path)


def test_weights_whose_products_overflow_are_refused(tmp_path):
    two_of_the_book(tmp_path)
    tensors = load_file(tmp_path / "weights.safetensors")
    save_file({k: 1e20 * W for k, W in tensors.items()}, tmp_path / "weights.safetensors")
    with pytest.raises(
        files.UserError, match=r"are finite, but logits .* largest .*e\+20.*3.4e\+38"
    ):
        own_model.load(tmp_path / "weights.safetensors")


def test_a_token_too_long_for_its_products_is_refused(tmp_path):
    """Whichever token it is: here one that no short context holds."""
    two_of_the_book(tmp_path)
    tensors = load_file(tmp_path / "weights.safetensors")
    tensors["W_E"][:, -1] = 1e38
    save_file(tensors, tmp_path / "weights.safetensors")
    with pytest.raises(files.UserError, match=r"products of W_E and W_U, are not.*1e\+38"):
        own_model.load(tmp_path / "weights.safetensors")


def test_a_model_of_the_field_s_size_is_read_exactly(tmp_path, generator):
    """2 × 12 × 64, d_model 768, in half precision, as such models are published."""
    large = {"n_layers": 2, "n_heads": 12, "d_model": 768, "d_vocab": 5027, "n_ctx": 2048}
    config = CONFIG | large | {"d_head": 64}
    theirs = checkpoint(generator, config, dtype=torch.float16)
    torch.save(theirs, tmp_path / "attn_only_2L_half.pth")
    model = own_model.load(tmp_path / "attn_only_2L_half.pth", config)
    assert model.config.n_vocab == 5027 and model.W_P.shape == (2048, 768)
    assert torch.equal(model.W_E.half().T, theirs["embed.W_E"])
    tokens = torch.randint(5027, (1, 20), generator=generator)
    whole = {name: W.float() for name, W in theirs.items()}
    expected = logits(whole, tokens, config)
    torch.testing.assert_close(model(tokens), expected, atol=2e-3, rtol=0)
