"""The settings of somebody else's config, by one name each: used, harmless, or refused."""

import math
import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

NAMES: Mapping[str, tuple[str, ...]] = {
    "n_layers": ("n_layer", "num_hidden_layers", "num_layers", "depth"),
    "n_heads": ("n_head", "num_attention_heads", "num_heads", "nhead", "heads"),
    "n_key_value_heads": ("num_key_value_heads", "n_kv_heads", "n_kv_head", "num_kv_heads"),
    "d_model": ("n_embd", "hidden_size", "embed_dim", "dim", "d_embed", "emb_dim", "embedding_dim"),
    "d_head": ("head_dim", "head_size", "d_k", "dim_head"),
    "d_mlp": ("intermediate_size", "n_inner", "d_ff", "ffn_dim", "dim_feedforward", "mlp_dim"),
    "n_ctx": ("n_positions", "max_position_embeddings", "block_size", "context_length", "max_seq_len",
              "seq_len", "max_len"),
    "d_vocab": ("vocab_size", "n_vocab", "num_embeddings", "num_tokens"),
    "d_vocab_out": (),
    "eps": ("layer_norm_epsilon", "layer_norm_eps", "rms_norm_eps", "ln_eps", "norm_eps"),
    "rotary_base": ("rope_theta", "rotary_emb_base", "rope_base"),
    "rotary_share": ("rotary_pct", "partial_rotary_factor"),
    "rotary_dim": (), "rotary_adjacent_pairs": (),
    "normalization_type": ("normalization", "norm_type"),
    "positional_embedding_type": ("position_embedding_type", "pos_type"),
    "tie_word_embeddings": ("tie_weights", "weight_tying", "tie_embeddings"),
    "attn_only": (), "use_attn_scale": (), "attn_scale": (),
    "model_type": (), "architecture": (), "norm_first": (),
}  # fmt: skip
"""Settings that are used, each with its other names."""
CANONICAL = {other: name for name, others in NAMES.items() for other in (name, *others)}
SIZES = ("n_layers", "n_heads", "n_key_value_heads", "d_model", "d_head", "d_mlp", "n_ctx",
         "d_vocab", "d_vocab_out")  # fmt: skip
SWITCHES = ("attn_only", "use_attn_scale", "rotary_adjacent_pairs",
            "tie_word_embeddings", "norm_first")  # fmt: skip
OFF: Mapping[str, tuple] = {
    "attention_dir": ("causal",), "is_causal": (True,), "causal": (True,), "sliding_window": (None,),
    "scale_attn_weights": (True,), "scale_attn_by_inverse_layer_idx": (False,), "final_rms": (False,),
    "alibi": (False,), "qk_layernorm": (False,), "post_embedding_ln": (False,), "norm_first": (True, None),
    "attn_scores_soft_cap": (-1.0, None), "output_logits_soft_cap": (-1.0, None), "num_experts": (None, 0),
    "rmsnorm_uses_offset": (False,), "rotary_scaling_factor": (1.0,), "qk_norm_after_rope": (False,),
    "rotary_interleaved_cos_sin": (False,),
}  # fmt: skip
"""Features that no model here has, each with the values that switch it off; others are off at None."""
SWITCHED_OFF = re.compile(
    r"use_(?:local_attn|qk_norm|.*rope|.*logn_attn|attention_sinks|normalization_before_and_after|alibi)"
    r"|is_encoder_decoder|add_cross_attention|use_sliding_window"
)
"""Pattern of further such features, off where they are false."""
HARMLESS = re.compile(
    # of MLPs, of which there are none, and what shapes and names of weights tell
    r"act_fn|activation(?:_function)?|hidden_act|gated_mlp|parallel_attn_mlp|(?:attention_|mlp_|qkv_|use_)?bias"
    # of a file, a program or a machine
    r"|_.*|.*version|architectures|original_architecture|model_name|name|.*dtype|.*b?float16.*|attn_implementation"
    r"|use_cache|use_hook_.*|use_attn_(?:in|result)|use_split_qkv_input|.*split_attention_weights|flash(?:_attn)?"
    r"|ungroup_grouped_query_attention|from_checkpoint|checkpoint_.*|.*devices?|trust_remote_code|compile"
    r"|load_in_4bit|reorder_and_upcast_attn|layer_norm_folding|uses_rms_norm|n_params|is_.*_?model|is_multimodal|is_stateful"
    # of tokens and of what is done with logits
    r"|.*tokenizer.*|.*_token(?:_id)?|default_p.*|is_decoder|return_dict.*|output_.*|summary_.*"
    r"|task_specific_params|id2label|label2id|temperature|top_[kp]|(?:max|min)_length"
    # of a training
    r"|.*drop.*|.*init(?:ializer)?(?:_.*)?|seed|lr(?:_.*)?|learning_rate|min_lr|decay_lr|betas?|beta[12]"
    r"|weight_decay|grad(?:_norm)?_clip|.*batch.*|warmup_.*|max_(?:tokens|steps|iters)|optimizer|steps"
    r"|tokens_per_step|n_?epochs|epochs|train_.*|dataset.*|debug.*|(?:log|eval|save|wandb).*"
    # of what another setting has switched off
    r"|window_size|max_window_layers|experts_per_token|norm_topk_prob|NTK_.*|yarn_.*"
)
"""Settings that change no logit of an attention-only model, whatever they are."""
NORMS = (None, "LN", "LNPre", "RMS", "RMSPre")
POSITIONS = ("shortformer", "standard", "rotary", "none")
TURNED = ("llama", "mistral", "qwen2", "gpt_neox")
"""Hugging Face's kinds of model whose attention is plain and rotary, in halves; "gpt2" is plain, too,
with a table. Others are refused: what such a name stands for is in no weight."""


def settings(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A config by the names of `NAMES`, and which of its settings are not used.

    Raises:
        ValueError: if a setting is unknown, is of another kind, or has two values under two names.
    """
    given = {name: value for name, value in config.items() if name != "names"}
    kind = given.get("model_type")
    if kind not in (None, "gpt2", *TURNED):
        raise ValueError(
            f"model_type is {kind!r}, and what such models do beside their weights is not known here "
            f"(it is of {['gpt2', *TURNED]}): if attention is plain, leave the setting out"
        )
    rope = {**(given.pop("rope_scaling", None) or {}), **(given.pop("rope_parameters", None) or {})}
    if any(isinstance(value, Mapping) for value in rope.values()):
        said = f"rotary positions differ by kind of layer, {[*rope]}, but here all turn alike"
        raise ValueError(said)
    said = {rope.pop(key, "default") for key in ("rope_type", "type")} - {"default"}
    if said:
        raise ValueError(f"rope_type is {sorted(said)} but all models here have 'default'")
    newer = {*map(CANONICAL.get, rope)} - {None}  # a value that stands beside them is stale
    given = {
        name: value for name, value in given.items() if CANONICAL.get(name) not in newer
    } | rope
    if {*(given.get("layer_types") or ())} <= {"full_attention"}:
        given.pop("layer_types", None)
    if kind == "qwen2" and not given.pop("use_sliding_window", False):
        given.pop("sliding_window", None)
    cfg: dict[str, Any] = {}
    unused, by = [], {}
    for name, value in given.items():
        used = CANONICAL.get(name)
        if used in SIZES and value == -1:  # so TransformerLens says that it is to be computed
            continue
        if used is not None and (value is not None or used == "normalization_type"):
            if used in cfg and cfg[used] != value:
                raise ValueError(f"{by[used]} is {cfg[used]!r} but {name}, the same, is {value!r}")
            cfg[used], by[used] = value, name
        elif used is None:
            off = name in OFF or value is None or (value is False and SWITCHED_OFF.fullmatch(name))
            if not off and not HARMLESS.fullmatch(name):
                raise ValueError(
                    f"nothing here knows {name}, which the config has as {value!r}: if it changes what the "
                    "model computes, the model cannot be read; if it does not, leave it out of the config"
                )
            unused.append(name)
    _checked(cfg, given)
    if by.get("eps") == "rms_norm_eps":
        cfg.setdefault("normalization_type", "RMS")
    if by.get("eps") in ("layer_norm_epsilon", "layer_norm_eps"):
        cfg.setdefault("normalization_type", "LN")
    if kind in TURNED or any(name.startswith("rotary") for name in cfg):
        cfg.setdefault("positional_embedding_type", "rotary")
    if cfg.get("architecture") == "TransformerLensNative":  # whatever its config says
        cfg["rotary_adjacent_pairs"] = True
    elif kind in TURNED:
        cfg.setdefault("rotary_adjacent_pairs", False)
    for name, known in (("normalization_type", NORMS), ("positional_embedding_type", POSITIONS)):
        if name in cfg and cfg[name] not in known:
            raise ValueError(f"{name} is {cfg[name]!r} but must be one of {known}")
    return cfg, sorted(unused)


def _checked(cfg: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    for name, value in cfg.items():
        whole = isinstance(value, int) and not isinstance(value, bool)
        if name in SWITCHES and not isinstance(value, bool):
            raise ValueError(f"{name} is {value!r} in the config but must be true or false")
        least = 0 if name in ("n_layers", "d_mlp") or not cfg.get("n_layers", 1) else 1
        if name in SIZES and not (whole and value >= least):
            needed = f"a whole number, {least} at least"
            raise ValueError(f"{name} is {value!r} in the config but must be {needed}")
    scale = cfg.get("attn_scale", -1)
    if not (scale > 0 or scale == -1):
        raise ValueError(
            f"attn_scale is {scale!r} in the config but must be a number above 0; -1 stands for √d_head"
        )
    for name, off in OFF.items():
        value = given.get(name, off[0])
        if name == "sliding_window" and value and value >= cfg.get("n_ctx", math.inf):
            continue  # every place is within it
        if value not in off:
            raise ValueError(f"{name} is {value!r} but all models here have {off[0]!r}")


def attention_scale(cfg: Mapping[str, Any], d_head: int) -> float:
    """Factor of W_Q with which 1/√d_head does what the config's scale did."""
    scale = cfg.get("attn_scale", -1) if cfg.get("use_attn_scale", True) else 1.0
    return 1.0 if scale in (None, -1) else math.sqrt(d_head) / scale


def require_sizes(cfg: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Compare the sizes that a config names with those of the weights."""
    for name, value in cfg.items():
        if name not in SIZES or value == -1 or (name == "d_mlp" and cfg.get("attn_only")):
            continue
        if not sizes["n_layers"] and name in ("n_heads", "n_key_value_heads", "d_head"):
            continue  # no weight is of these
        if value != sizes[name]:
            has = f"have {sizes[name]}" if name != "d_mlp" else "have no MLPs"
            raise ValueError(f"the config has {name} {value} but the weights {has}")


def rotary(cfg: Mapping[str, Any], n_ctx: int, d_head: int) -> tuple[Tensor, Tensor]:
    """Angles of `GeneralAttention`, and the order in which it has the rows of W_Q and W_K."""
    n = cfg.get("rotary_dim") or int(d_head * cfg.get("rotary_share", 1.0))
    if d_head % 2 or n % 2 or not 0 < n <= d_head:
        said = f"rotary positions turn pairs of rows, but d_head is {d_head}, rotary_dim {n}"
        raise ValueError(said)
    pairs = "true for the pairs 0 and 1, 2 and 3, …, false for 0 and d_head / 2, 1 and …"
    for name, what in (("rotary_adjacent_pairs", pairs), ("rotary_base", "often 10000")):
        if name not in cfg:
            said = f"no weight tells how rotary positions turn: say {name} in the config, {what}"
            raise ValueError(said)
    frequency = float(cfg["rotary_base"]) ** (-torch.arange(0, n, 2, dtype=torch.float64) / n)
    rates = torch.cat([frequency, torch.zeros((d_head - n) // 2, dtype=torch.float64)])
    adjacent = cfg["rotary_adjacent_pairs"]
    turned = torch.arange(n).view(-1, 2).T if adjacent else torch.arange(n).view(2, -1)
    order = torch.cat([turned, torch.arange(n, d_head).view(2, -1)], dim=1).flatten()
    return torch.arange(n_ctx, dtype=torch.float64)[:, None] * rates, order
