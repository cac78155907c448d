"""What checkpoints of other libraries call their weights and settings, as TransformerLens 3 calls them.

Two tables of names are all that is known of a library: `PARTS`, of weights, and `SETTINGS`. They have
the names of Hugging Face's GPT-2, GPT-NeoX and Llama, of TransformerLens 4, and of modules that people
write with torch.nn.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from transformer_circuits.model import weights as tensors

LAYER = re.compile(r"(?:.*\.)?(?:h|layers|blocks)\.(\d+)\.(.*)")
"""Where a name says which layer it is of."""
ATTENTION = r"(?:attn|self_attn|attention|self_attention)\."
PARTS: Mapping[str, str] = {
    "attn.W_Q": ATTENTION + r"(?:q|q_proj|query|W_Q|to_q)",
    "attn.W_K": ATTENTION + r"(?:k|k_proj|key|W_K|to_k)",
    "attn.W_V": ATTENTION + r"(?:v|v_proj|value|W_V|to_v)",
    "attn.W_O": ATTENTION + r"(?:o|o_proj|out_proj|c_proj|dense|proj|W_O|to_out)",
    "attn.qkv": ATTENTION + r"(?:in_proj|c_attn|qkv|qkv_proj|Wqkv)",
    "attn.qkv of heads": ATTENTION + r"query_key_value",
    "ln1": r"ln1|ln_1|norm1|norm_1|input_layernorm|attn_norm",
    "ln2": r"ln2|ln_2|norm2|norm_2|post_attention_layernorm|mlp_norm",
    "mlp.W_in": r"(?:mlp\.)?(?:c_fc|dense_h_to_4h|up_proj|linear1|in|fc1|W_in|fc_in)",
    "mlp.W_gate": r"mlp\.(?:gate_proj|gate|W_gate)",
    "mlp.W_out": r"(?:mlp\.)?(?:c_proj|dense_4h_to_h|down_proj|linear2|out|fc2|W_out|fc_out)",
}
"""Of a layer, without ".weight" or ".bias"."""
OUTSIDE: Mapping[str, str] = {
    "embed.W_E": r"(?:.*\.)?(?:wte|embed|embedding|embeddings|tok_embed|token_embedding|tok_emb|embed_tokens|embed_in)",
    "pos_embed.W_pos": r"(?:.*\.)?(?:wpe|pos|pos_embed|pos_emb|position_embedding|position_embeddings|positions)",
    "ln_final": r"(?:.*\.)?(?:ln_f|ln_final|ln_out|final_layer_norm|final_norm|norm|norm_f)",
    "unembed.W_U": r"(?:.*\.)?(?:lm_head|head|unembed|unembedding|embed_out|output)",
}
IGNORED = re.compile(
    r"(?:.*\.)?(?:mask|IGNORE|tril|causal_mask|attn_mask|masked_bias|inv_freq|(?:h|layers)\.\d+\.(?:attn|attention)\.bias)"
)
"""What is no weight, but saved with them."""
SETTINGS: Mapping[str, str] = {
    "n_head": "n_heads", "num_attention_heads": "n_heads", "num_heads": "n_heads", "nhead": "n_heads",
    "n_embd": "d_model", "hidden_size": "d_model", "head_dim": "d_head", "vocab_size": "d_vocab",
    "layer_norm_epsilon": "eps", "layer_norm_eps": "eps", "rms_norm_eps": "eps",
    "activation_function": "act_fn", "hidden_act": "act_fn", "rope_theta": "rotary_base",
    "rotary_emb_base": "rotary_base", "rotary_pct": "rotary_share",
    "partial_rotary_factor": "rotary_share", "use_parallel_residual": "parallel_attn_mlp",
    "num_key_value_heads": "n_key_value_heads", "n_positions": "n_ctx",
    "max_position_embeddings": "n_ctx", "block_size": "n_ctx", "n_layer": "n_layers",
    "num_hidden_layers": "n_layers", "num_layers": "n_layers", "ln_eps": "eps",
}  # fmt: skip
LLAMA = {"normalization_type": "RMS", "positional_embedding_type": "rotary"}
KINDS: Mapping[str, Mapping[str, Any]] = {
    "gpt2": {"normalization_type": "LN", "positional_embedding_type": "standard",
             "tie_word_embeddings": True, "activation_function": "gelu_new"},
    "gpt_neox": {"normalization_type": "LN", "positional_embedding_type": "rotary",
                 "use_parallel_residual": True, "hidden_act": "gelu", "layer_norm_eps": 1e-5,
                 "rotary_pct": 0.25},
    "llama": LLAMA, "mistral": LLAMA, "qwen2": LLAMA,
}  # fmt: skip
"""What the `model_type` of a Hugging Face config stands for, where the config does not say more."""


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config under TransformerLens's names."""
    kind = config.get("model_type")
    if kind is not None and kind not in KINDS:
        raise ValueError(f"model_type is {kind!r} but those that can be read are {[*KINDS]}")
    cfg = {**(KINDS[kind] if kind else {}), **config}
    for name in ("rope_scaling", "rope_parameters"):  # the second, which is newer, wins
        rope = {**(cfg.pop(name, None) or {})}
        if any(isinstance(value, Mapping) for value in rope.values()):
            raise ValueError(
                f"{name} differ by kind of layer, {[*rope]}, but all layers of a model here turn alike"
            )
        said = {rope.pop(key, "default") for key in ("rope_type", "type")} - {"default"}
        if said:
            raise ValueError(f"rope_type is {sorted(said)} but all models here have 'default'")
        cfg |= rope
    if {*(cfg.get("layer_types") or ())} <= {"full_attention"}:
        cfg.pop("layer_types", None)
    if cfg.get("architecture") == "TransformerLensNative":  # whatever its config says
        cfg["rotary_adjacent_pairs"] = True
    elif kind:
        cfg["rotary_adjacent_pairs"] = False
    if kind == "qwen2" and not cfg.pop("use_sliding_window", False):
        cfg.pop("sliding_window", None)
    said = {name: value for name, value in cfg.items() if value is not None or name not in SETTINGS}
    return {SETTINGS.get(name, name): value for name, value in said.items()}


def is_theirs(weights: Mapping[str, Tensor]) -> bool:
    """Whether the names are TransformerLens's up to version 3 already."""
    return "embed.W_E" in weights


def _place(name: str) -> tuple[str, str, str]:
    """Which layer, as the start of a TransformerLens name; which part; and "weight" or "bias"."""
    stem, _, last = name.rpartition(".")
    if last not in ("weight", "bias"):
        for ending in ("weight", "bias"):  # of nn.MultiheadAttention, and of bare parameters
            if name.endswith("_" + ending):
                stem, last = name.removesuffix("_" + ending), ending
        if last not in ("weight", "bias"):
            stem, last = name, "weight"
    of_layer = LAYER.fullmatch(stem)
    table, where = (PARTS, of_layer[2]) if of_layer else (OUTSIDE, stem)
    for part, pattern in table.items():
        if re.fullmatch(pattern, where):
            return (f"blocks.{of_layer[1]}." if of_layer else ""), part, last
    raise ValueError(f"there is no use for {name}: no part of a model here is called so")


def weights(given: Mapping[str, Tensor], cfg: Mapping[str, Any]) -> dict[str, Tensor]:
    """Weights by TransformerLens's names and in its shapes, without what is no weight.

    `cfg`: the `settings`, which say how many heads there are.
    """
    given = {re.sub(r"_original_component\.|_orig_mod\.", "", n): W for n, W in given.items()}
    given = {name: W for name, W in given.items() if not IGNORED.fullmatch(name)}
    if not given or is_theirs(given):
        return given
    tensors.require_numbers(given)
    placed: dict[tuple[str, str, str], Tensor] = {}
    for name, W in given.items():
        if not torch.equal(placed.setdefault(place := _place(name), W), W):
            raise ValueError(f"{name} is a second {''.join(place[:2])}, and has other numbers")
    n_heads = cfg.get("n_heads")
    if n_heads is None and any(at for at, _, _ in placed):
        raise ValueError("no shape says how many heads there are: config={'n_heads': …, …}")
    turned = any(  # as in GPT-2 over there, whose matrices have what they read first
        part == "attn.qkv" and last == "weight" and W.ndim == 2 and W.shape[1] == 3 * W.shape[0]
        for (_, part, last), W in placed.items()
    )
    of_queries = [len(W) for (_, part, _), W in placed.items() if part == "attn.W_Q"]
    cfg = {"d_head": of_queries[0] // (n_heads or 1) if of_queries else None} | dict(cfg)
    made: dict[str, Tensor] = {}
    for (at, part, last), W in placed.items():
        W = W.mT if turned and W.ndim == 2 and at and last == "weight" else W
        for name, matrix in _parts(part, W, n_heads or 1):
            made[_name(at, name, last)] = _shaped(name, matrix, cfg, last)
    if "unembed.W_U" not in made and cfg.get("tie_word_embeddings"):
        made["unembed.W_U"] = made["embed.W_E"].mT
    return made


def _parts(part: str, W: Tensor, n_heads: int) -> list[tuple[str, Tensor]]:
    if not part.startswith("attn.qkv"):
        return [(part, W)]
    if len(W) % (3 * n_heads):
        raise ValueError(f"{part} has {len(W)} rows, which are not those of 3 × {n_heads} heads")
    if part == "attn.qkv":
        matrices = W.chunk(3)
    else:
        matrices = [x.flatten(0, 1) for x in W.unflatten(0, (n_heads, 3, -1)).unbind(1)]
    return [(f"attn.W_{x}", w) for x, w in zip("QKV", matrices, strict=True)]


def _name(at: str, part: str, last: str) -> str:
    if part.startswith("ln"):
        return f"{at}{part}.{last[0]}"
    if last == "bias":
        part = part.replace("W_", "b_")
    return at + part


def _shaped(part: str, W: Tensor, cfg: Mapping[str, Any], last: str) -> Tensor:
    if part in ("attn.W_Q", "attn.W_K", "attn.W_V"):
        d_head = cfg["d_head"] or max(1, len(W) // cfg["n_heads"])
        if len(W) % d_head:
            raise ValueError(f"{part} has {len(W)} rows, which are not heads of {d_head} each")
        W = W.unflatten(0, (-1, d_head))
        return W.mT if last == "weight" else W
    if part == "attn.W_O" and last == "weight":
        return W.mT.unflatten(0, (cfg["n_heads"], -1))
    return W.mT if W.ndim == 2 and part.partition(".")[0] in ("mlp", "unembed") else W


def rotary(cfg: Mapping[str, Any], n_ctx: int, d_head: int) -> tuple[Tensor, Tensor]:
    """The angles of `GeneralAttention`, and in which order it has the rows of W_Q and W_K."""
    n = cfg.get("rotary_dim") or int(d_head * cfg.get("rotary_share", 1.0))
    if d_head % 2 or n % 2 or not 0 < n <= d_head:
        raise ValueError(
            f"rotary positions turn pairs of rows, but d_head is {d_head}, rotary_dim {n}"
        )
    base = float(cfg.get("rotary_base", 10000.0))
    frequency = base ** (-torch.arange(0, n, 2, dtype=torch.float64) / n)
    rates = torch.cat([frequency, torch.zeros((d_head - n) // 2, dtype=torch.float64)])
    adjacent = cfg.get("rotary_adjacent_pairs", False)
    turned = torch.arange(n).view(-1, 2).T if adjacent else torch.arange(n).view(2, -1)
    order = torch.cat([turned, torch.arange(n, d_head).view(2, -1)], dim=1).flatten()
    return torch.arange(n_ctx, dtype=torch.float64)[:, None] * rates, order
