"""What is told apart by structure, what is asked for, and what nobody may guess."""

import json
import re

import pytest
import styles
import torch
from safetensors.torch import save_file
from styles import PLAIN, TOKENS, C, D, E, H, N, V, agrees, written

from transformer_circuits import files
from transformer_circuits.interop import own_model


def renamed(state, *pairs):
    for old, new in pairs:
        state = {name.replace(old, new): W for name, W in state.items()}
    return state


def refused(said, state, config, **how):
    with pytest.raises(files.UserError, match=said) as refusal:
        own_model.load(state, config, **how)
    return str(refusal.value)


@pytest.mark.parametrize("style", styles.STYLES)
@pytest.mark.parametrize("prefix", ["", "module._orig_mod.", "net.inner."])
def test_a_model_as_its_author_wrote_it_loads_exactly_with_at_most_eight_lines(style, prefix):
    state, forward, config, names = written(style)
    named = {part: prefix + name for part, name in names.items()}
    state = {prefix + name: W for name, W in state.items()}
    agrees(own_model.load(state, config, names=named), forward)
    assert len(names) <= 8
    if names:
        assert "names = {" in refused("(?s)The tensors:.*settles it", state, config)


@pytest.mark.parametrize(
    ("style", "pairs"),
    [
        (styles.transposed, [(".weight", ".w"), (".bias", ".b")]),
        (styles.llama, [("self_attn", "rotary_attention")]),
        (styles.raschka, [("att.", "causal_mask_attention.")]),
        (styles.llama, [("model.layers.", "blk."), ("self_attn", "attn"), ("input_layernorm", "attn_norm")]),
        (styles.nanogpt, [("h.1.", "h.11."), ("h.0.", "h.10.")]),
    ],
)  # fmt: skip
def test_other_words_for_the_same_are_read_too(style, pairs):
    state, forward, config, _ = written(style)
    agrees(own_model.load(renamed(state, *pairs), config | {"n_layers": N}), forward)


@pytest.mark.parametrize("style", [styles.nanogpt, styles.by_head])
def test_a_tied_model_that_has_one_of_both_names_loads(style):
    state, forward, config, names = written(style)
    if style is styles.nanogpt:
        del state["transformer.wte.weight"]
    else:
        state["gpt_neox.embed_in.weight"].copy_(state.pop("embed_out.weight"))
        state["embed_out.weight"] = state.pop("gpt_neox.embed_in.weight")
    tied = {"tie_word_embeddings": True}
    agrees(own_model.load(state, config | tied, names=names), forward)
    refused("_embeddings is False", state, config | {"tie_word_embeddings": False}, names=names)


def test_shards_are_read_together_by_folder_index_or_any_of_them(tmp_path):
    state, forward, config, _ = written(styles.llama)
    names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    where = {name: names[i % 2] for i, name in enumerate(state)}
    for shard in names:
        part = {n: W.clone() for n, W in state.items() if where[n] == shard}
        save_file(part, tmp_path / shard)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": where}))
    (tmp_path / "config.json").write_text(json.dumps(config))
    for source in (tmp_path, index, tmp_path / names[1]):
        agrees(own_model.load(source), forward)
    (tmp_path / names[0]).rename(tmp_path / "elsewhere")
    refused(rf"names 2 shards, but \['{names[0]}'\] are not there", index, None)
    index.unlink()
    refused("is one of several shards, and their index", tmp_path / names[1], None)


SIZES = {
    "n_layers": 12, "num_hidden_layers": 12, "n_head": 8, "num_key_value_heads": 2, "n_kv_heads": 2,
    "d_model": 32, "hidden_size": 32, "head_dim": 8, "d_mlp": 64, "intermediate_size": 64,
    "vocab_size": 50257, "d_vocab_out": 7, "block_size": 1024, "max_position_embeddings": 1024,
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_a_size_is_compared_with_the_weights_under_every_name(name):
    state, forward, config, _ = written(styles.multihead)
    right = {"n_layers": N, "num_hidden_layers": N, "n_head": H, "d_model": D, "hidden_size": D,
             "vocab_size": V, "block_size": C, "max_position_embeddings": C}  # fmt: skip
    if name in right:
        agrees(own_model.load(state, config | {name: right[name]}), forward)
    refused(f"{SIZES[name]}|cannot be|no use|layouts", state, config | {name: SIZES[name]})


UNDECIDED = {
    "joined, packed somehow": (styles.nanogpt, [("c_attn", "mixing_qkv")], "2 layouts", "(head qkv d_head) d_model"),
    "bare and square": (styles.bare_square, [], "2 layouts", "d_model (head d_head)"),
    "keys and values, packed somehow": (styles.numbered, [], "2 layouts", "(head qkv d_head) d_model"),
    "grouped, packed somehow": (styles.phi, [], "2 layouts", "(qkv head d_head) d_model"),
    "heads by number": (styles.by_number, [], "several tensors are W_Q", "W_q_{layer}_{head}"),
    "an odd vector": (styles.lecture, [("ln1.weight", "ln1.sigma"), ("ln1.bias", "ln1.mu")], "nothing tells", '"blocks.{layer}.ln1.w"'),
    "tokens and outputs alike": (styles.raschka, [("tok_emb", "first"), ("out_head", "second")], "nothing tells", "W_E"),
    "letters of no kind": (styles.raschka, [("W_query", "m1"), ("W_key", "m2"), ("W_value", "m3")], "for sure", "W_Q"),
    "queries and keys as one": (styles.bare_square, [("W_k.", "W_qk."), ("W_q.", "other.")], "W_K for sure", "W_Q"),
    "a norm behind": (styles.raschka, [("norm1", "post_norm")], "nothing tells", '"blocks.{layer}.ln1.w"'),
    "a norm of tokens": (styles.raschka, [("final_norm", "emb_norm")], "nothing tells", '"ln_final.w"'),
    "a gain without a norm": (styles.raschka, [("norm1.scale", "ls1.gamma"), ("norm1.shift", "ls1.beta")], "nothing tells", "ln1.w"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNDECIDED)
def test_what_is_not_decided_is_refused_with_every_tensor_and_a_line_that_settles_it(case):
    style, pairs, said, line = UNDECIDED[case]
    state, _, config, _ = written(style)
    state = renamed(state, *pairs)
    message = refused("The tensors:", state, config)
    assert said in message.splitlines()[0] and line in message.partition("settles it")[2], message
    for name in state:
        pattern = re.escape(re.sub(r"\d+", "#", name)).replace(r"\#", r"[\w{}]+")
        assert re.search(pattern, message) or re.search(r"mask|tril|attn\.bias", name)


@pytest.mark.parametrize(
    ("style", "without", "said"),
    [
        (styles.raschka, "n_heads", "no shape says how many heads there are: config="),
        (styles.raschka, "eps", "what is added before the root: say eps"),
        (styles.llama, "rms_norm_eps", "norms have gains without biases.*'RMS', 'LN'"),
        (styles.by_head, "rotary_adjacent_pairs", "say rotary_adjacent_pairs in the config, true for the"),
        (styles.bare_square, "normalization_type", "whether there is a norm without gains"),
        (styles.bare, "positional_embedding_type", "'standard', 'shortformer'"),
        (styles.one_layer, "positional_embedding_type", "'none', 'rotary'"),
        (styles.numbered, "norm_first", "they could stand behind attention as well"),
    ],
)  # fmt: skip
def test_what_no_weight_tells_is_asked_for(style, without, said):
    state, _, config, names = written(style)
    refused(said, state, {k: v for k, v in config.items() if k != without}, names=names)


ODD = {
    "query norms": ({"trf_blocks.{}.att.q_norm.weight": (4,)}, "q_norm.weight .*nothing tells"),
    "query norms of all": ({"trf_blocks.{}.att.q_norm.weight": (D,)}, "q_norm.weight .*nothing tells"),
    "a second norm": ({"trf_blocks.{}.norm2.scale": (D,)}, "several tensors are ln1.w"),
    "a temperature": ({"trf_blocks.{}.att.temperature": (1,)}, "nothing tells"),
    "sinks": ({"trf_blocks.{}.att.sinks": (H,)}, "nothing tells"),
    "a norm of tokens": ({"emb_norm.scale": (D,), "emb_norm.shift": (D,)}, "emb_norm.* nothing tells"),
    "types": ({"token_type.weight": (2, D)}, "several tensors are W_E|nothing tells"),
    "values of tokens": ({"value_embeds.weight": (V, D)}, "several tensors are W_E"),
    "distances": ({"trf_blocks.{}.att.rel_bias": (H, C, C)}, "W_O for sure"),
    "angles": ({"rotary.inv_freq": (2,)}, "'standard' but the weights have .*inv_freq"),
    "a key more": ({"trf_blocks.{}.att.bias_k": (1, 1, D)}, "bias_k .*nothing tells"),
    "a mask of weights": ({"trf_blocks.{}.att.local_mask": (C, C)}, "not the one with which"),
    "MLPs": ({"trf_blocks.{}.fc1.weight": (64, D), "trf_blocks.{}.fc2.weight": (D, 64)}, r"(?s)MLPs, .*repeats.predictions"),
    "MLPs by other names": ({"trf_blocks.{}.in.weight": (64, D), "trf_blocks.{}.back.weight": (D, 64)}, "MLPs, "),
    "a gate": ({"trf_blocks.{}.gate.weight": (D, D)}, "MLPs, "),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_what_no_model_here_has_is_refused(case):
    state, _, config, _ = written(styles.raschka)
    extra, said = ODD[case]
    for name, shape in extra.items():
        state |= {name.format(i): torch.randn(shape) for i in range(N)}
    refused(said, state, config)


def test_a_weight_that_nothing_would_read_is_refused():
    state, _, config, _ = written(styles.raschka)
    del state["final_norm.scale"]
    refused(r"nothing reads \['ln_final.b'\]", state, config | {"norm_first": True})


@pytest.mark.parametrize("mask", [torch.ones(C, C), torch.ones(C, C).triu(-2).tril()])
def test_a_mask_that_is_not_causal_is_refused(mask):
    state, _, config, _ = written(styles.nanogpt)
    refused("is a mask, but not", state | {"transformer.h.1.attn.bias": mask.bool()[None]}, config)


def test_layers_that_are_missing_are_named():
    state, forward, config, _ = written(styles.multihead)
    later = renamed(state, ("layers.1", "layers.2"))
    refused(r"layers are \[0, 2\] by their names, and there may be others", later, config)
    agrees(own_model.load(later, config | {"n_layers": N}), forward)
    del state["layers.1.self_attn.in_proj_weight"]
    refused(r"layers are \[0, 1\], but .*in_proj_weight is there for", state, config)


def test_masks_counts_and_angles_are_no_weights():
    state, forward, config, names = written(styles.by_head)
    at = "gpt_neox.layers.0.attention."
    more = {"position_ids": torch.arange(C), "freqs_cis": torch.ones(C, 2) + 0j, "rope.cos_cached": torch.ones(C, E),
            at + "masked_bias": torch.tensor(-1e9), at + "bias": torch.ones(1, 1, C, C).tril().bool(),
            "causal": torch.full((C, C), -torch.inf).triu(1)}  # fmt: skip
    agrees(own_model.load(state | more, config, names=names), forward)
    odd = state | {"W": torch.ones(D, D).to(torch.int8)}
    refused(r"W is torch.int8 but must be of real numbers", odd, config, names=names)


def test_a_check_confirms_a_reading_or_says_where_it_leaves():
    state, forward, config, _ = written(styles.raschka)
    own = own_model.load(state, config)
    logits, stream = forward(TOKENS), own.trace(TOKENS).residual
    own_model.load(state, config, check=(TOKENS, logits, stream))
    for layer in range(N):
        name = f"trf_blocks.{layer}.att.out_proj.weight"
        wrong = state | {name: -state[name]}  # as if it were another matrix
        left = f"the stream leaves the check's after layer {layer}"
        refused(left, wrong, config, check=(TOKENS, logits, stream))
    refused("logits are off by .*: a third of the check", wrong, config, check=(TOKENS, logits))


def test_names_may_come_in_a_file_or_in_the_config(tmp_path):
    state, forward, _, names = written(styles.bare_square)
    (tmp_path / "names.json").write_text(json.dumps(names))
    agrees(own_model.load(state, PLAIN, names=tmp_path / "names.json"), forward)
    agrees(own_model.load(state, PLAIN | {"names": names}), forward)
    refused(
        "names has x for .*, but no tensor is called so", state, PLAIN, names={"embed.W_E": "x"}
    )
    refused("names has 'e', but parts are called", state, PLAIN, names={"e": "embedding"})
    twice = {"blocks.{layer}.attn.W_Q": ["W_q.0", "W_q.1"]}
    refused("several tensors for W_Q", state, PLAIN, names=twice)
