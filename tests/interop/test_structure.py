"""What is told apart by structure, what is asked for, and what nobody may guess."""

import json
import re

import pytest
import torch
from safetensors.torch import save_file, save_model
from test_styles import (
    PLAIN,
    TOKENS,
    Bare,
    BareSquare,
    ByHead,
    C,
    D,
    E,
    H,
    LectureHeads,
    Llama,
    MultiheadAttention,
    N,
    NanoGPT,
    Numbered,
    OneLayer,
    Raschka,
    Transposed,
    V,
    agrees,
    drawn,
)
from torch import nn

from transformer_circuits import files
from transformer_circuits.interop import own_model


def renamed(module, *pairs):
    state = module.state_dict()
    for old, new in pairs:
        state = {name.replace(old, new): W for name, W in state.items()}
    return state


def test_three_settings_are_enough_for_attention_by_any_names():
    """That there are no MLPs is in the weights."""
    module = drawn(BareSquare)
    agrees(own_model.load(module.state_dict() | {}, PLAIN, names=BareSquare.names), module)


def test_short_words_for_weights_and_biases_are_read_too():
    module = drawn(Transposed)
    state = renamed(module, (".weight", ".w"), (".bias", ".b"))
    agrees(own_model.load(state, Transposed.config), module)


@pytest.mark.parametrize("style", [NanoGPT, ByHead])
def test_a_tied_model_that_has_one_of_both_names_loads(tmp_path, style):
    module = drawn(style)
    if style is NanoGPT:
        save_model(module, str(tmp_path / "w.safetensors"))  # which leaves one name out
    else:
        module.gpt_neox.embed_in.weight.data = module.embed_out.weight.data
        state = {name: W for name, W in module.state_dict().items() if "embed_in" not in name}
        save_file(state, tmp_path / "w.safetensors")
    agrees(
        own_model.load(tmp_path / "w.safetensors", style.config | {"tie_word_embeddings": True}),
        module,
    )
    with pytest.raises(files.UserError, match="tie_word_embeddings is False"):
        own_model.load(tmp_path / "w.safetensors", style.config | {"tie_word_embeddings": False})


def test_shards_are_read_together_by_folder_index_or_any_of_them(tmp_path):
    module = drawn(Llama)
    state = module.state_dict()
    names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    where = {name: names[i % 2] for i, name in enumerate(state)}
    for shard in names:
        save_file({n: W for n, W in state.items() if where[n] == shard}, tmp_path / shard)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": where}))
    (tmp_path / "config.json").write_text(json.dumps(Llama.config))
    for source in (tmp_path, index, tmp_path / names[1]):
        agrees(own_model.load(source), module)
    (tmp_path / names[0]).rename(tmp_path / "elsewhere")
    with pytest.raises(
        files.UserError, match=rf"names 2 shards, but \['{names[0]}'\] are not there"
    ):
        own_model.load(index)
    index.unlink()
    with pytest.raises(files.UserError, match="is one of several shards, and their index"):
        own_model.load(tmp_path / names[1])


SIZES = {
    "n_layers": 12, "num_hidden_layers": 12, "n_head": 8, "num_key_value_heads": 2, "n_kv_heads": 2,
    "d_model": 32, "hidden_size": 32, "head_dim": 8, "d_mlp": 64, "intermediate_size": 64,
    "vocab_size": 50257, "d_vocab_out": 7, "block_size": 1024, "max_position_embeddings": 1024,
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_a_size_is_compared_with_the_weights_under_every_name(name):
    module, settings = drawn(MultiheadAttention), MultiheadAttention.config
    right = {"n_layers": N, "num_hidden_layers": N, "n_head": H, "d_model": D, "hidden_size": D,
             "vocab_size": V, "block_size": C, "max_position_embeddings": C}  # fmt: skip
    if name in right:
        agrees(own_model.load(module.state_dict(), settings | {name: right[name]}), module)
    with pytest.raises(files.UserError, match=f"{SIZES[name]}|cannot be|no use"):
        own_model.load(module.state_dict(), settings | {name: SIZES[name]})


UNDECIDED = {
    "joined, packed somehow": (NanoGPT, [("c_attn", "mixing_qkv")], "2 layouts", "(head qkv d_head) d_model"),
    "bare and square": (BareSquare, [], "2 layouts", "d_model (head d_head)"),
    "keys and values, packed somehow": (Numbered, [], "2 layouts", "(head qkv d_head) d_model"),
    "one layer, packed somehow": (OneLayer, [], "2 layouts", "(head qkv d_head) d_model"),
    "an odd vector": (LectureHeads, [("ln1.weight", "ln1.sigma"), ("ln1.bias", "ln1.mu")], "nothing tells", '"blocks.{layer}.ln1.w"'),
    "tokens and outputs alike": (Raschka, [("tok_emb", "first"), ("out_head", "second")], "does not tell", "W_E"),
    "letters of no kind": (Raschka, [("W_query", "m1"), ("W_key", "m2"), ("W_value", "m3")], "for sure", "W_Q"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNDECIDED)
def test_what_is_not_decided_is_refused_with_every_tensor_and_a_line_that_settles_it(case):
    style, pairs, said, line = UNDECIDED[case]
    module = drawn(style)
    state = renamed(module, *pairs)
    with pytest.raises(files.UserError) as refused:
        own_model.load(state, style.config)
    message = str(refused.value)
    assert said in message.splitlines()[0] and line in message.partition("settles it")[2], message
    for name in state:
        pattern = re.escape(re.sub(r"\d+", "#", name)).replace(r"\#", r"[\w{}]+")
        assert (
            re.search(pattern, message) or "mask" in name or "tril" in name or "attn.bias" in name
        )


@pytest.mark.parametrize(
    ("style", "pairs", "without", "said"),
    [
        (LectureHeads, [("sa.heads", "sa.parts")], "", "several tensors are W_K"),
        (Raschka, [], "n_heads", "no shape says how many heads there are: config="),
        (Llama, [], "rms_norm_eps", "norms have gains without biases.*'RMS', 'LN'"),
        (ByHead, [], "rotary_adjacent_pairs", 'say rotary_adjacent_pairs in the config, true for the'),
        (BareSquare, [], "normalization_type", "whether there is a norm without gains"),
        (Bare, [], "positional_embedding_type", "'standard', 'shortformer'"),
        (OneLayer, [], "positional_embedding_type", "'none', 'rotary'"),
        (Numbered, [], "norm_first", "they could stand behind attention as well"),
    ],
)  # fmt: skip
def test_what_no_weight_tells_is_asked_for(style, pairs, without, said):
    config = {name: value for name, value in style.config.items() if name != without}
    with pytest.raises(files.UserError, match=said):
        own_model.load(renamed(drawn(style), *pairs), config, names=getattr(style, "names", None))


class WithMlp(nn.Module):
    def __init__(self, names, wide):
        super().__init__()
        up, down = names
        for i in range(N):
            self.add_module(
                f"{i}", nn.ModuleDict({up: nn.Linear(D, wide), down: nn.Linear(wide, D)})
            )


@pytest.mark.parametrize(
    "names", [("fc1", "fc2"), ("lin_in", "lin_back"), ("up_proj", "down_proj")]
)
def test_mlps_are_refused_and_what_can_be_asked_is_named(names):
    state = drawn(Raschka).state_dict()
    for name, W in drawn(lambda: WithMlp(names, 4 * D)).state_dict().items():
        layer, _, rest = name.partition(".")
        state[f"trf_blocks.{layer}.{rest}"] = W
    with pytest.raises(files.UserError, match=r"(?s)MLPs, .*analysis.repeats.predictions"):
        own_model.load(state, Raschka.config)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"trf_blocks.{}.att.q_norm.weight": (4,)}, "is a norm of queries or keys"),
        (
            {"trf_blocks.{}.norm2.scale": (D,), "trf_blocks.{}.norm2.shift": (D,)},
            "there are 2 norms",
        ),
        ({"trf_blocks.{}.att.temperature": (1,)}, "nothing tells"),
        ({"emb_norm.scale": (D,), "emb_norm.shift": (D,)}, "there are 2 norms"),
        ({"token_type.weight": (2, D)}, "several tensors are W_E|does not tell"),
    ],
)
def test_what_no_model_here_has_is_refused(extra, said):
    state = drawn(Raschka).state_dict()
    for name, shape in extra.items():
        state |= {name.format(i): torch.ones(shape) for i in range(N)}
    with pytest.raises(files.UserError, match=said):
        own_model.load(state, Raschka.config)


def test_a_layer_that_lacks_a_tensor_is_named():
    state = drawn(Raschka).state_dict()
    del state["trf_blocks.1.att.W_key.weight"]
    with pytest.raises(
        files.UserError, match=r"layers are \[0, 1\], but .*W_key.weight is there for"
    ):
        own_model.load(state, Raschka.config)


def test_a_module_that_is_called_after_rotary_positions_is_no_table_of_them():
    module = drawn(Llama)
    state = renamed(module, ("self_attn", "rotary_attention"))
    agrees(own_model.load(state, Llama.config), module)


def test_masks_counts_and_angles_are_no_weights():
    module = drawn(ByHead)
    more = {"position_ids": torch.arange(C), "freqs_cis": torch.ones(C, 2) + 0j, "rope.cos_cached": torch.ones(C, E), "gpt_neox.layers.0.attention.masked_bias": torch.tensor(-1e9),
            "gpt_neox.layers.0.attention.bias": torch.ones(1, 1, C, C).tril().bool(),
            "causal": torch.full((C, C), -torch.inf).triu(1)}  # fmt: skip
    agrees(own_model.load(module.state_dict() | more, ByHead.config), module)
    with pytest.raises(files.UserError, match=r"W is torch.int8 but must be of real numbers"):
        own_model.load(module.state_dict() | {"W": torch.ones(D, D).to(torch.int8)}, ByHead.config)


def wrong(module, layer):
    """The reading with one layer's outputs negated, as if that matrix were another."""
    state = {name: W.clone() for name, W in module.state_dict().items()}
    state[f"trf_blocks.{layer}.att.out_proj.weight"] *= -1
    return state


@torch.no_grad()
def test_a_check_confirms_a_reading_or_says_where_it_leaves():
    module = drawn(Raschka)
    logits = module(TOKENS)
    stream = [module.tok_emb(TOKENS) + module.pos_emb(torch.arange(C))]
    for block in module.trf_blocks:
        stream.append(block(stream[-1]))
    own_model.load(module.state_dict(), Raschka.config, check=(TOKENS, logits, stream))
    for layer in range(N):
        with pytest.raises(
            files.UserError, match=f"the stream leaves the check's after layer {layer}"
        ):
            own_model.load(wrong(module, layer), Raschka.config, check=(TOKENS, logits, stream))
    with pytest.raises(files.UserError, match=r"logits are off by .*: a third of the check"):
        own_model.load(wrong(module, 0), Raschka.config, check=(TOKENS, logits))


def test_names_may_come_in_a_file_or_in_the_config(tmp_path):
    (tmp_path / "names.json").write_text(json.dumps(BareSquare.names))
    module = drawn(BareSquare)
    agrees(own_model.load(module.state_dict(), PLAIN, names=tmp_path / "names.json"), module)
    agrees(own_model.load(module.state_dict(), PLAIN | {"names": BareSquare.names}), module)
    with pytest.raises(
        files.UserError, match=r"names has nothing for .*, but no tensor is called so"
    ):
        own_model.load(module.state_dict(), PLAIN, names={"embed.W_E": "nothing"})
    with pytest.raises(files.UserError, match="names has 'embedding', but parts are called"):
        own_model.load(module.state_dict(), PLAIN, names={"embedding": "embedding"})
