"""Every form of model that can be loaded, against its forward pass in NumPy; all others are refused."""

import forms
import numpy as np
import pytest
import torch
from forms import as_tensors

from transformer_circuits import files
from transformer_circuits.analysis import expansion, layer_norm
from transformer_circuits.interop import conversion, own_model
from transformer_circuits.model.general import GeneralTransformer

TOKENS = np.random.default_rng(3).integers(1, 17, (3, 9))
PAPER = forms.config("as in the paper")


def loaded(name, **options):
    c = forms.config(name)
    w = forms.draw(c, **options)
    return conversion.transformer(as_tensors(w), forms.said(c)), w, c


def close(found, expected, **tolerance):
    torch.testing.assert_close(found, torch.from_numpy(expected), **tolerance)


@pytest.mark.parametrize("name", forms.FORMS)
@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_logits_patterns_and_paths_are_those_of_numpy(name, bias):
    model, w, c = loaded(name, bias=bias)
    kept = {}
    expected = forms.forward(w, c, TOKENS, keep=kept)
    trace = model.trace(torch.from_numpy(TOKENS))
    close(model(torch.from_numpy(TOKENS)), expected)
    close(trace.logits, expected)
    for (layer, head), (A, _) in kept.items():
        close(trace.patterns[layer][:, head], A)
    plain = {"as in the paper", "no positions", "grouped", "one layer, scaled"}
    assert isinstance(model, GeneralTransformer) == (name not in plain or bias > 0)
    linear = layer_norm.freeze(model, torch.from_numpy(TOKENS))
    terms = expansion.paths(linear, torch.from_numpy(TOKENS))
    assert len(terms) == (1 + c["n_heads"]) ** c["n_layers"]
    close(sum(map(linear.unembed, terms.values())), expected)


def test_norms_are_held_for_these_tokens_alone():
    model, _, _ = loaded("layer norm")
    tokens = torch.from_numpy(TOKENS)
    linear = layer_norm.freeze(model, tokens)
    with pytest.raises(files.UserError, match=r"held as they are on tokens \(3, 9\), and these"):
        linear(tokens[:1])
    assert model.layers[0].norm.held is None


def test_loading_keeps_half_precision_and_draws_nothing():
    w = {name: W.astype(np.float16) for name, W in forms.draw(PAPER).items()}
    before = torch.get_rng_state()
    model = conversion.transformer(as_tensors(w), PAPER)
    assert torch.equal(before, torch.get_rng_state())
    assert model.W_E.dtype == torch.float32 and not model.W_E.requires_grad
    expected = forms.forward({name: W.astype(float) for name, W in w.items()}, PAPER, TOKENS)
    close(model(torch.from_numpy(TOKENS)).double(), expected, atol=1e-4, rtol=0)


OF_LAYER = {"rope_type": "default", "rope_theta": 1e6}
NESTED = {"full_attention": OF_LAYER, "sliding_attention": OF_LAYER | {"rope_theta": 1e4}}
SAID_IN_PASSING = [
    {
        "_name_or_path": "gpt2", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "n_inner": None,
        "embd_pdrop": 0.1, "resid_pdrop": 0.1, "bos_token_id": 16, "initializer_range": 0.02,
        "reorder_and_upcast_attn": False, "scale_attn_by_inverse_layer_idx": False,
        "scale_attn_weights": True, "summary_type": "cls_index", "summary_use_proj": True,
        "task_specific_params": {"text-generation": {"do_sample": True}}, "torch_dtype": "float32",
        "transformers_version": "5.24.0", "use_cache": True, "n_layer": 2, "vocab_size": 17,
        "add_cross_attention": False, "layer_types": ["full_attention"] * 2,
    },
    {"block_size": 11, "bias": True, "dropout": 0.2, "batch_size": 12, "learning_rate": 6e-4, "beta2": 0.95,
     "max_iters": 600000, "warmup_iters": 2000, "weight_decay": 0.1, "dataset": "text", "grad_clip": 1.0},
    {"ln_eps": 1e-5, "lr_hidden": 2e-3, "initializer_scale_global": 1.0, "use_bfloat16_matmul": True,
     "save_checkpoints": True, "train_loss_ewma_beta": 0.99, "max_tokens": 10**10, "n_params": 10**6,
     "tokenizer_name": "a/b", "seed": 1, "debug": False, "n_devices": 8},
]  # fmt: skip


ROTARY = forms.config("rotary")
SAME = [
    *((more, PAPER) for more in SAID_IN_PASSING),
    ({"use_attn_scale": False}, PAPER | {"attn_scale": 1.0}),
    ({"attn_scale": None}, PAPER),
    ({"attn_scale": 3.0}, PAPER | {"attn_scale": 3.0}),
    ({"normalization": None}, PAPER),
    ({"n_layers": 0}, PAPER | {"n_layers": 0}),
    ({"sliding_window": PAPER["n_ctx"]}, PAPER),
    ({"sliding_window": 4096}, PAPER),
    # Beside the newer name of a base a stale one is not read.
    ({"rope_theta": 500.0, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}, ROTARY),
]


@pytest.mark.parametrize(("said", "meant"), SAME)
def test_configs_say_the_same_in_several_words(said, meant):
    w, left_out = forms.draw(meant), {"rotary_base"} if "rope_theta" in said else set()
    left_out |= {"normalization_type"} if "normalization" in said else {"attn_scale"} & {*meant}
    kept = {name: W.copy() for name, W in w.items()}
    config = {name: value for name, value in meant.items() if name not in left_out} | said
    model = conversion.transformer(as_tensors(w), config)
    close(model(torch.from_numpy(TOKENS)), forms.forward(w, meant, TOKENS))
    assert all(np.array_equal(W, w[name]) for name, W in kept.items())


@pytest.mark.parametrize("odd", [{"rope_scaling": "linear"}, {"model_type": ["gpt2"]}])
def test_a_setting_of_another_kind_is_refused_in_words(odd):
    with pytest.raises(files.UserError, match=r"^the state dict: "):
        own_model.load(as_tensors(forms.draw(PAPER)), config=PAPER | odd)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"normalization_type": "LNPre", "eps": 1e-5},
            "'shortformer', which are added behind the norm there",
        ),
        (forms.STREAM | forms.LN, "normalization_type is 'LN' but the weights have no gains"),
        ({"normalization_type": "BN"}, "'BN' but must be one of .*'LN', 'LNPre', 'RMS', 'RMSPre'"),
        ({"d_vocab_out": 7}, "the config has d_vocab_out 7 but the weights have 17"),
        ({"sliding_window": PAPER["n_ctx"] - 1}, f"{PAPER['n_ctx'] - 1} but all models here have"),
        ({"use_qk_norm": True}, "nothing here knows use_qk_norm, .* as True"),
        (forms.ROTARY | {"rotary_dim": 3}, "'rotary' but the weights have a table of positions"),
        ({"positional_embedding_type": "none"}, "'none' but the weights have a table of pos"),
        ({"attention_dir": "bidirectional"}, "attention_dir is 'bidirectional' but all models"),
        ({"n_ctx": True}, "n_ctx is True in the config but must be a whole number"),
        ({"attn_only": "false"}, "attn_only is 'false' in the config but must be true or false"),
        ({"attn_scale": -3.0}, "attn_scale is -3.0 in the config but must be a number above 0"),
        ({"n_layer": 12}, "n_layers is 2 but n_layer, the same, is 12"),
        ({"model_type": "bert"}, "model_type is 'bert', and what such models do beside their"),
        ({"scale_attn_weights": False}, "scale_attn_weights is False but all models here have"),
        ({"use_residual": False}, "nothing here knows use_residual, .* as False"),
        ({"attn_logit_softcapping": 50.0}, "knows attn_logit_softcapping, .* as 50.0"),
        ({"qk_layernorm": True}, "qk_layernorm is True but all models here have False"),
        ({"alibi": True}, "alibi is True but all models here have False"),
        ({"norm_first": False}, "norm_first is False but all models here have True"),
        ({"layer_types": ["sliding_attention"] * 2}, "knows layer_types, "),
        ({"residual_scaling": False}, "knows residual_scaling, .* as False: .* leave it out"),
        (forms.ROTARY | {"rope_parameters": NESTED}, "rotary positions differ by kind of layer"),
        (
            forms.ROTARY
            | {"rope_parameters": {"rope_theta": 1e4}, "rope_scaling": {"type": "linear"}},
            r"rope_type is \['linear'\] but all models here have 'default'",
        ),
    ],
)
def test_settings_that_no_model_here_has_are_refused_with_both_sides(changes, said):
    with pytest.raises(ValueError, match=said):
        conversion.transformer(as_tensors(forms.draw(PAPER)), PAPER | changes)


def test_an_output_vocabulary_of_its_own_must_be_said():
    changes = {"unembed.W_U": torch.ones(14, 16), "unembed.b_U": torch.zeros(16)}
    with pytest.raises(ValueError, match="W_U has 16 outputs and W_E 17 tokens: if"):
        conversion.transformer(as_tensors(forms.draw(PAPER)) | changes, PAPER)
