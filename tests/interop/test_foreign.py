"""Checkpoints with TransformerLens's names: each is compared with its forward pass written by hand."""

import pytest
import torch
from theirs import CONFIG, checkpoint, logits

from transformer_circuits.analysis import composition, heads
from transformer_circuits.interop import foreign


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16], ids=str)
def test_a_model_of_the_papers_form_is_the_same_one_here(generator, tokens, dtype):
    theirs = checkpoint(generator, dtype=dtype)
    model = foreign.transformer(theirs, CONFIG)
    whole = {name: W.double() for name, W in theirs.items()}
    exact = dtype == torch.float64
    assert model.W_E.dtype == (dtype if exact else torch.float32)
    found = model(tokens).double()
    torch.testing.assert_close(found, logits(whole, tokens), atol=1e-9 if exact else 1e-4, rtol=0)
    assert (model.config.d_model, model.config.n_ctx) == (14, 11)
    assert not any(weight.requires_grad for weight in model.parameters())


def test_a_circuit_is_their_product_transposed(generator):
    theirs = checkpoint(generator)
    ours = heads.full_ov(foreign.transformer(theirs, CONFIG), (1, 2)).dense()
    W_V, W_O = (theirs[f"blocks.1.attn.{name}"][2] for name in ("W_V", "W_O"))
    product = theirs["embed.W_E"] @ W_V @ W_O @ theirs["unembed.W_U"]
    torch.testing.assert_close(ours, product.T)


def test_what_loading_draws_changes_nobodys_numbers(generator):
    theirs = checkpoint(generator)
    before = torch.get_rng_state()
    foreign.transformer(theirs, CONFIG)
    assert torch.equal(before, torch.get_rng_state())


def test_missing_biases_are_none_at_all(generator, tokens):
    theirs = checkpoint(generator)
    bare = {name: W for name, W in theirs.items() if ".b_" not in name}
    found = foreign.transformer(bare, CONFIG)(tokens)
    torch.testing.assert_close(found, logits(theirs, tokens))


@pytest.mark.parametrize("d_mlp", [0, 19])
def test_biases_become_columns_for_a_dimension_that_is_always_one(generator, tokens, d_mlp):
    theirs = checkpoint(generator, biases=0.7, d_mlp=d_mlp)
    config = CONFIG | {"attn_only": not d_mlp, "act_fn": "gelu" if d_mlp else None}
    model = foreign.transformer(theirs, config)
    torch.testing.assert_close(model(tokens), logits(theirs, tokens))
    assert model.config.d_model == 16 and model.config.d_mlp == d_mlp
    stream = model.trace(tokens).residual
    assert all(bool((x[..., 14] == 1).all() and (x[..., 15] == 0).all()) for x in stream)


def test_positions_in_the_stream_that_only_queries_and_keys_read_are_ours(generator, tokens):
    """As in the export for TransformerLens 4: they lie in a half of the stream of their own."""
    config = CONFIG | {"positional_embedding_type": "standard"}
    theirs = checkpoint(generator, config)
    theirs["embed.W_E"][:, 7:] = 0
    theirs["pos_embed.W_pos"][:, :7] = 0
    theirs["unembed.W_U"][7:] = 0
    for layer in range(2):
        theirs[f"blocks.{layer}.attn.W_V"][:, 7:] = 0
    model = foreign.transformer(theirs, config)
    torch.testing.assert_close(model(tokens), logits(theirs, tokens, config))
    theirs["blocks.1.attn.W_V"][3, 9, 1] = 0.01
    model = foreign.transformer(theirs, config)  # then they stay in the stream
    torch.testing.assert_close(model(tokens), logits(theirs, tokens, config))
    assert model.W_S.any() and not model.W_P.any()


def test_long_position_vectors_hide_no_reader(generator, tokens):
    """What a reader takes of them counts beside what it takes of tokens, or logits are off by it."""
    config = CONFIG | {"positional_embedding_type": "standard"}
    theirs = checkpoint(generator, config)
    theirs["embed.W_E"][:, 7:] = 0
    theirs["pos_embed.W_pos"][:, :7] = 0
    theirs["pos_embed.W_pos"] *= 1e4
    for name in ("blocks.0.attn.W_V", "blocks.1.attn.W_V", "unembed.W_U"):
        theirs[name][..., 7:, :] *= 0
    assert not hasattr(foreign.transformer(theirs, config), "W_S")
    theirs["unembed.W_U"][7:] = 1e-7
    model = foreign.transformer(theirs, config)
    assert model.W_S.any() and not model.W_P.any()
    torch.testing.assert_close(model(tokens), logits(theirs, tokens, config))


def test_scores_that_are_not_scaled_there_are_scaled_in_w_q(generator, tokens):
    theirs, config = checkpoint(generator, biases=0.3), CONFIG | {"use_attn_scale": False}
    kept = {name: W.clone() for name, W in theirs.items()}
    found = foreign.transformer(theirs, config)(tokens)
    torch.testing.assert_close(found, logits(theirs, tokens, config))
    assert all(torch.equal(W, theirs[name]) for name, W in kept.items())
    same = foreign.transformer(theirs, CONFIG | {"attn_scale": 3**0.5})
    torch.testing.assert_close(same(tokens), logits(theirs, tokens))
    unset = foreign.transformer(theirs, CONFIG | {"attn_scale": None})
    torch.testing.assert_close(unset(tokens), logits(theirs, tokens))


def test_older_configs_say_the_same_in_other_words(generator, tokens):
    theirs = checkpoint(generator)
    old = {k: v for k, v in CONFIG.items() if not k.endswith("_type")}
    model = foreign.transformer(theirs, old | {"normalization": None, "shortformer_pos": True})
    torch.testing.assert_close(model(tokens), logits(theirs, tokens))


def test_a_model_without_layers(generator, tokens):
    config = CONFIG | {"n_layers": 0}
    theirs = checkpoint(generator, config)
    for sizes in ({}, {"n_heads": 1, "d_head": 1}, {"n_heads": 4, "d_head": 64}):
        given = {
            k: v for k, v in (config | sizes).items() if sizes or k not in ("n_heads", "d_head")
        }
        found = foreign.transformer(theirs, given)(tokens)
        torch.testing.assert_close(found, logits(theirs, tokens, config))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"normalization_type": "LN"}, "'shortformer', which are added behind the norm there is"),
        (
            {"normalization_type": "LN", "positional_embedding_type": "standard"},
            "there is no blocks.0.ln1.w among the weights",
        ),
        ({"normalization_type": "BN"}, "'BN' but must be one of .*'LN', 'LNPre', 'RMS', 'RMSPre'"),
        ({"d_vocab_out": 7}, "the config has d_vocab_out 7 but the weights have 17"),
        ({"use_qk_norm": True}, "use_qk_norm is True but all models here have False"),
        (
            {"positional_embedding_type": "rotary"},
            "rotary positions turn pairs of rows, but d_head is 3",
        ),
        ({"positional_embedding_type": "alibi"}, "'alibi' but must be one of .*'rotary', 'none'"),
        ({"positional_embedding_type": "none"}, r"no use for the weights \['pos_embed.W_pos'\]"),
        ({"attn_only": False, "act_fn": "solu"}, "'solu' but MLPs here have one of .*'relu'"),
        ({"attn_only": False, "act_fn": "gelu", "parallel_attn_mlp": True}, "MLPs here read what"),
        ({"attention_dir": "bidirectional"}, "attention_dir is 'bidirectional' but all models"),
        ({"output_logits_soft_cap": 30.0}, "output_logits_soft_cap is 30.0 but"),
        ({"n_layers": "2"}, "n_layers is '2' in the config but must be a whole number"),
        ({"n_ctx": True}, "n_ctx is True in the config but must be a whole number"),
        ({"use_attn_scale": "false"}, "use_attn_scale is 'false' .* but must be true or false"),
        ({"attn_only": "false"}, "attn_only is 'false' in the config but must be true or false"),
        ({"attn_scale": "3"}, "attn_scale is '3' in the config but must be a number above 0"),
        ({"attn_scale": 0}, "attn_scale is 0 in the config but must be a number above 0"),
        ({"attn_scale": -3.0}, "attn_scale is -3.0 in the config but must be a number above 0"),
        ({"d_model": 15}, "the config has d_model 15 but the weights have 14"),
        ({"attn_only": False, "act_fn": "gelu"}, "there is no blocks.0.mlp.W_in among"),
    ],
)
def test_what_cannot_be_written_so_is_refused_with_both_sides(generator, changes, said):
    with pytest.raises(ValueError, match=said):
        foreign.transformer(checkpoint(generator), CONFIG | changes)


def test_weights_must_be_whole(generator):
    theirs = checkpoint(generator)
    for names, changes, said in (
        (("a", "b"), {}, "there is no use for a: no part of a model here is called so"),
        (("lm_head.weight",), {}, "there is no embed.W_E among the weights, whose first are"),
        (("wte.weight",), {"n_heads": None}, "there is no unembed.W_U among the weights"),
        (("h.0.attn.c_attn.weight",), {"n_heads": None}, "no shape says how many heads"),
        (("h.0.attn.c_attn.weight",), {"n_heads": 5}, "2 rows, which are not those of 3 × 5 heads"),
        (("wte.weight", "x.embed.weight"), {}, "x.embed.weight is a second embed.W_E, and has"),
    ):
        with pytest.raises(ValueError, match=said):
            given = {name: torch.full((2, 2), float(i)) for i, name in enumerate(names)}
            foreign.transformer(given, CONFIG | changes)
    for said in ("normalization_type", "positional_embedding_type"):
        with pytest.raises(ValueError, match=rf"do not tell \['{said}'\]: say them, config="):
            config = {name: value for name, value in CONFIG.items() if name != said}
            foreign.transformer({"wte.weight": torch.ones(2, 2)}, config)
    with pytest.raises(ValueError, match=r"model_type is 'bert' but those that can be read are"):
        foreign.transformer({"wte.weight": torch.ones(2, 2)}, {"model_type": "bert"})
    with pytest.raises(ValueError, match=r"no use for the weights \['ln_final.w'\]"):
        foreign.transformer(theirs | {"ln_final.w": torch.ones(14)}, CONFIG)
    with pytest.raises(ValueError, match=r"W_U has 16 outputs and embed.W_E 17 tokens: if"):
        foreign.transformer(
            theirs | {"unembed.W_U": torch.ones(14, 16).double(), "unembed.b_U": torch.zeros(16)},
            CONFIG,
        )
    with pytest.raises(ValueError, match=r"unembed.b_U is \(16,\) but must be \(17\)"):
        foreign.transformer(theirs | {"unembed.b_U": torch.zeros(16)}, CONFIG)
    turned = theirs["blocks.1.attn.W_V"].mT
    with pytest.raises(ValueError, match=r"W_V is \(5, 3, 14\) but must be \(5, 14, 14\)"):
        foreign.transformer(theirs | {"blocks.1.attn.W_V": turned}, CONFIG)
    with pytest.raises(ValueError, match=r"W_Q is \(2,\) but must be \(head, d_model, d_head\)"):
        foreign.transformer(theirs | {"blocks.0.attn.W_Q": torch.ones(2)}, CONFIG)
    with pytest.raises(ValueError, match=r"^embed\.W_E has 1 of 238 numbers that are not finite"):
        broken = theirs["embed.W_E"].clone()
        broken[0, 0] = torch.nan
        foreign.transformer(theirs | {"embed.W_E": broken}, CONFIG)
    with pytest.raises(ValueError, match=r"b_U is torch.int8 but must be of real numbers"):
        foreign.transformer(theirs | {"unembed.b_U": torch.zeros(17).to(torch.int8)}, CONFIG)


def test_biases_change_no_circuit_that_they_are_no_part_of(generator, tokens):
    """W_V W_O, keys, and with them V-scores are those of the same weights without biases."""
    theirs = checkpoint(generator, biases=0.7)
    bare = {name: W for name, W in theirs.items() if ".b_" not in name}
    model, plain = foreign.transformer(theirs, CONFIG), foreign.transformer(bare, CONFIG)
    torch.testing.assert_close(model(tokens), logits(theirs, tokens))
    V = [composition.scores(one, "V", basis="stored") for one in (model, plain)]
    torch.testing.assert_close(*V)
    Q = [composition.scores(one, "Q", basis="stored") for one in (model, plain)]
    torch.testing.assert_close(*Q)
    for head in ((0, 2), (1, 4)):
        ov = [heads.W_OV(one, head).norm() for one in (model, plain)]
        torch.testing.assert_close(*ov)


@pytest.mark.parametrize("norm", ["LN", "LNPre"])
def test_a_checkpoint_of_transformer_lens_keeps_its_layer_norm(generator, tokens, norm):
    config = CONFIG | {"normalization_type": norm, "positional_embedding_type": "standard"}
    theirs = checkpoint(generator, config, biases=0.7)
    for changes in ({}, {"use_attn_scale": False}):
        found = foreign.transformer(theirs, config | changes)(tokens)
        torch.testing.assert_close(found, logits(theirs, tokens, config | changes))
