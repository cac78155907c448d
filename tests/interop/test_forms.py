"""Every form of model that can be loaded, against its forward pass in NumPy."""

import forms
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from transformer_circuits import files
from transformer_circuits.analysis import expansion, layer_norm
from transformer_circuits.interop import own_model
from transformer_circuits.model.general import GeneralTransformer

TOKENS = np.random.default_rng(3).integers(1, 17, (3, 9))


def as_tensors(weights):
    return {name: torch.from_numpy(W) for name, W in weights.items()}


def loaded(name, **options):
    c = forms.config(name)
    w = forms.draw(c, **options)
    return own_model.load(as_tensors(w), c), w, c


def close(found, expected):
    torch.testing.assert_close(found, torch.from_numpy(expected))


@pytest.mark.parametrize("name", forms.FORMS)
@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_logits_and_patterns_are_those_of_numpy(name, bias):
    model, w, c = loaded(name, bias=bias)
    kept = {}
    expected = forms.forward(w, c, TOKENS, keep=kept)
    trace = model.trace(torch.from_numpy(TOKENS))
    close(model(torch.from_numpy(TOKENS)), expected)
    close(trace.logits, expected)
    for (layer, head), (A, _) in kept.items():
        close(trace.patterns[layer][:, head], A)
    plain = {"as in the paper", "no positions", "grouped", "wide values", "one layer, scaled"}
    assert isinstance(model, GeneralTransformer) == (name not in plain or bias > 0)


@pytest.mark.parametrize("name", [n for n in forms.FORMS if forms.config(n)["attn_only"]])
def test_paths_sum_to_the_logits(name):
    model, w, c = loaded(name)
    tokens = torch.from_numpy(TOKENS)
    linear = layer_norm.freeze(model, tokens)
    terms = expansion.paths(linear, tokens)
    assert len(terms) == (1 + c["n_heads"]) ** c["n_layers"]
    close(linear.unembed(sum(terms.values())), forms.forward(w, c, TOKENS))
    close(sum(map(linear.unembed, terms.values())), forms.forward(w, c, TOKENS))


def test_norms_are_held_for_these_tokens_alone():
    model, _, _ = loaded("layer norm")
    tokens = torch.from_numpy(TOKENS)
    linear = layer_norm.freeze(model, tokens)
    with pytest.raises(files.UserError, match=r"held as they are on tokens \(3, 9\), and these"):
        linear(tokens[:1])
    assert linear.layers[0].W_Q.data_ptr() == model.layers[0].W_Q.data_ptr()
    assert model.layers[0].norm.held is None
    plain = loaded("as in the paper")[0]
    assert layer_norm.freeze(plain, tokens) is plain


@pytest.mark.parametrize("name", ["layer norm", "as in the paper", "RMS norm, rotary, grouped"])
def test_every_kind_of_file_is_read(tmp_path, name):
    c = forms.config(name)
    w = forms.draw(c)
    expected = forms.forward(w, c, TOKENS)
    np.savez(tmp_path / "w.npz", **w)
    torch.save(as_tensors(w), tmp_path / "w.pt")
    torch.save(as_tensors(w), tmp_path / "w.bin")
    save_file(as_tensors(w), tmp_path / "w.safetensors")
    for suffix in ("npz", "pt", "bin", "safetensors"):
        close(own_model.load(tmp_path / f"w.{suffix}", c)(torch.from_numpy(TOKENS)), expected)


def test_a_random_model_of_the_same_form_is_a_model_of_that_form():
    model, _, _ = loaded("layer norm")
    forms_before = model.forms
    model.randomise(generator=torch.Generator().manual_seed(0))
    stream = model.trace(torch.from_numpy(TOKENS)).residual
    assert model.forms == forms_before
    assert all(bool((x[..., 14] == 1).all()) and not x[..., 15].any() for x in stream)


NAMED = {
    "transformer_lens 4": {
        "attn.W_Q": "attn.q", "attn.W_K": "attn.k", "attn.W_V": "attn.v", "attn.W_O": "attn.o",
        "embed.W_E": "embed", "pos_embed.W_pos": "pos_embed", "unembed.W_U": "unembed",
    },
    "a module of one's own": {
        "attn.W_Q": "attention.q_proj", "attn.W_K": "attention.k_proj",
        "attn.W_V": "attention.v_proj", "attn.W_O": "attention.out_proj", "embed.W_E": "tok_emb",
        "pos_embed.W_pos": "pos_emb", "unembed.W_U": "lm_head", "ln1": "norm1", "ln_final": "norm",
    },
}  # fmt: skip


def under_others_names(w, table):
    """Linear layers as torch.nn has them: heads side by side, [what it writes, what it reads]."""
    made = {}
    for name, W in w.items():
        head, _, last = name.rpartition(".")
        at = head.partition("attn")[0] if ".attn" in head else head.rpartition("ln")[0]
        part = name.removeprefix(at).replace(".b_", ".W_") if "ln" not in name else head[len(at) :]
        part = {"embed.W_U": "unembed.W_U"}.get(part, part)
        at = at if at.startswith("blocks") else ""
        bias = last[0] == "b"
        if "attn.W_O" in part:
            W = W if bias else W.reshape(-1, W.shape[-1]).T
        elif "attn" in part:
            W = W.reshape(-1) if bias else W.transpose(0, 2, 1).reshape(-1, W.shape[1])
        elif "unembed" in part:
            W = W.T
        made[f"{at}{table.get(part, part)}.{'bias' if bias else 'weight'}"] = np.ascontiguousarray(
            W
        )
    return made


@pytest.mark.parametrize("table", NAMED)
@pytest.mark.parametrize(
    "name", ["as in the paper", "layer norm", "RMS norm, rotary, grouped", "outputs of its own"]
)
def test_weights_by_other_names_are_the_same_model(table, name):
    c = forms.config(name)
    w = forms.draw(c)
    c = c | {"rotary_adjacent_pairs": False}
    model = own_model.load(as_tensors(under_others_names(w, NAMED[table])), c)
    close(model(torch.from_numpy(TOKENS)), forms.forward(w, c, TOKENS))
