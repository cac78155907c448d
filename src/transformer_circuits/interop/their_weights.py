"""The weights and settings of a checkpoint under the names of `names`, those of TransformerLens 3."""

import math
import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_circuits.interop import names
from transformer_circuits.model import weights as tensors

DEFAULTS: dict[str, Any] = {
    "normalization_type": "LN", "positional_embedding_type": "standard", "attn_only": False,
    "act_fn": None, "use_attn_scale": True, "attn_scale": -1.0, "eps": 1e-5,
}  # fmt: skip
"""What TransformerLens takes for a setting that a config leaves out, of those that matter here."""
PLAIN: dict[str, tuple] = {
    "attention_dir": ("causal",), "use_local_attn": (False,), "sliding_window": (None,),
    "scale_attn_by_inverse_layer_idx": (False,), "use_qk_norm": (False,), "num_experts": (None,),
    "final_rms": (False,), "use_yarn_rope": (False,), "use_NTK_by_parts_rope": (False,),
    "use_attention_sinks": (False,), "use_logn_attn": (False,), "clip_qkv": (None,),
    "rmsnorm_uses_offset": (False,), "scale_embedding": (None, False),
    "post_embedding_ln": (False,), "use_normalization_before_and_after": (False,),
    "attn_scores_soft_cap": (-1.0, None), "output_logits_soft_cap": (-1.0, None),
    "attn_logit_softcapping": (None,), "final_logit_softcapping": (None,), "layer_types": (None,),
    "scale_attn_weights": (True,), "norm_first": (True,), "add_cross_attention": (False,),
    "is_encoder_decoder": (False,), "qk_layernorm": (False,), "alibi": (False,),
    "use_sliding_window": (False,), "use_dynamic_ntk_rope": (False,), "rotary_scaling_factor": (1.0,),
    "rotary_interleaved_cos_sin": (False,), "qk_norm_after_rope": (False,),
}  # fmt: skip
"""Settings that no model here can have, each with the values that switch it off."""
NORMS = (None, "LN", "LNPre", "RMS", "RMSPre")
POSITIONS = ("shortformer", "standard", "rotary", "none")
SIZES = ("n_layers", "n_heads", "d_model", "d_head", "n_ctx", "d_vocab", "d_vocab_out")
SWITCHES = ("attn_only", "use_attn_scale", "shortformer_pos")
OTHERS = (
    "normalization", "n_key_value_heads", "rotary_dim", "rotary_share", "rotary_base",
    "rotary_adjacent_pairs", "parallel_attn_mlp", "tie_word_embeddings", "model_type", "architecture",
)  # fmt: skip
"""What is read besides, here or in `names` and `conversion`."""
HARMLESS = re.compile(
    # what shapes and names of weights tell
    r"d_mlp|d_value|d_ff|n_inner|intermediate_size|gated_mlp|(?:attention_|mlp_|qkv_)?bias"
    # of a file, a program or a machine
    r"|_.*|.*version|architectures|original_architecture|model_name|.*dtype|.*b?float16.*|attn_implementation"
    r"|use_cache|use_hook_.*|use_attn_(?:in|result)|use_split_qkv_input|.*split_attention_weights"
    r"|ungroup_grouped_query_attention|from_checkpoint|checkpoint_.*|.*devices?|trust_remote_code"
    r"|load_in_4bit|reorder_and_upcast_attn|pretraining_tp|chunk_size_feed_forward|torchscript"
    r"|gradient_checkpointing|layer_norm_folding|uses_rms_norm|n_params|is_stateful|is_.*_?model|is_multimodal"
    # of tokens and of what is done with logits
    r"|.*tokenizer.*|.*_token(?:_id)?|default_p.*|is_decoder|tie_encoder_decoder|return_dict.*"
    r"|output_(?:attentions|hidden_states|scores)|summary_.*|task_specific_params|id2label|label2id"
    r"|problem_type|finetuning_task|num_(?:labels|beams|beam_groups|return_sequences)|do_sample|early_stopping"
    r"|temperature|top_[kp]|typical_p|(?:max|min)_length|.*_penalty|.*no_repeat_ngram_size"
    # of a training
    r"|.*dropout.*|.*pdrop|.*init(?:ializer)?(?:_.*)?|seed|lr(?:_.*)?|learning_rate|min_lr|decay_lr|betas?|beta[12]"
    r"|weight_decay|grad(?:_norm)?_clip|.*batch.*|warmup_.*|max_(?:tokens|steps|iters)"
    r"|tokens_per_step|truncate_tokens|n_?epochs|epochs|train_.*|dataset.*|shuffled_data|debug.*|log_(?:every|interval).*"
    r"|(?:save|take)_checkpoints|eval_.*|wandb.*"
    # of what another setting has switched off
    r"|window_size|max_window_layers|experts_per_token|norm_topk_prob|NTK_.*|yarn_.*|neuron_.*"
)
"""Settings that change no logit, whatever they are."""


def settings(config: Mapping[str, Any], *, theirs: bool = True) -> dict[str, Any]:
    """A config with what TransformerLens takes for what it leaves out, and under its present names.

    `theirs`: whether the weights have its names; else the config must say what these do not tell.
    """
    named = names.settings(config)
    cfg = DEFAULTS | named
    if not theirs:
        cfg["attn_only"] = named.get("attn_only", False)
        needed = {"normalization_type", "positional_embedding_type"}
        if named.get("positional_embedding_type") == "rotary":
            needed.add("rotary_adjacent_pairs")
        unsaid = needed - {*named}
        if unsaid:
            raise ValueError(
                f"the names of the weights do not tell {sorted(unsaid)}: say them, "
                f"config={{'normalization_type': one of {NORMS}, 'positional_embedding_type': one of "
                f"{POSITIONS}, 'n_heads': …}}; a norm is one before every read from the stream"
            )
    read = {*DEFAULTS, *PLAIN, *SIZES, *SWITCHES, *OTHERS}
    for name, value in named.items():
        if value is not None and name not in read and not HARMLESS.fullmatch(name):
            raise ValueError(
                f"nothing here knows {name}, which the config has as {value!r}: if it changes what the "
                "model computes, the model cannot be read; if it does not, leave it out of the config"
            )
    _require(cfg, SWITCHES, lambda v: isinstance(v, bool), "true or false")

    def is_number(value: Any) -> bool:
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        return real and bool(math.isfinite(value))

    def is_scale(value: Any) -> bool:
        return value is None or (is_number(value) and bool(value > 0 or value == -1))

    def is_whole(value: Any) -> bool:
        return value is None or (is_number(value) and bool(value == int(value)))

    _require(cfg, ("attn_scale",), is_scale, "a number above 0; -1 stands for √d_head")
    _require(cfg, SIZES, is_whole, "a whole number")
    if "normalization" in cfg:  # so the configs of Neel Nanda's models say it
        cfg["normalization_type"] = cfg["normalization"]
    if "shortformer_pos" in cfg:
        short = cfg["shortformer_pos"]
        cfg["positional_embedding_type"] = "shortformer" if short else "standard"
    if cfg["positional_embedding_type"] is None:
        cfg["positional_embedding_type"] = "none"
    window, n_ctx = (cfg.get(name, -1) for name in ("sliding_window", "n_ctx"))
    if is_number(window) and is_number(n_ctx) and window >= n_ctx > 0:
        cfg["sliding_window"] = None  # every place is within it
    for name, plain in PLAIN.items():
        if cfg.get(name, plain[0]) not in plain:
            raise ValueError(f"{name} is {cfg[name]!r} but all models here have {plain[0]!r}")
    for name, known in (("normalization_type", NORMS), ("positional_embedding_type", POSITIONS)):
        if cfg[name] not in known:
            raise ValueError(f"{name} is {cfg[name]!r} but must be one of {known}")
    return cfg


def _require(
    cfg: Mapping[str, Any], which: Sequence[str], holds: Callable[[Any], bool], must: str
) -> None:
    for name in which:
        if name in cfg and not holds(cfg[name]):
            raise ValueError(f"{name} is {cfg[name]!r} in the config but must be {must}")


class Weights:
    """The weights of a checkpoint by TransformerLens's names; each must be taken, and only once.

    Half precision becomes float32, float64 stays.
    """

    def __init__(self, weights: Mapping[str, Tensor]):
        self.left = {
            n.replace("attn._", "attn."): W  # so it calls grouped keys and values
            for n, W in weights.items() if not n.endswith(tensors.BUFFERS)
        }  # fmt: skip
        whole = self.peek("embed.W_E").dtype  # first of all: whose names are they?
        tensors.require_numbers(self.left)
        self.dtype = whole if whole == torch.float64 else torch.float32
        self.n_layers = len({name.split(".")[1] for name in self.left if name[:7] == "blocks."})

    def take(self, name: str, *sizes: int | None) -> Tensor:
        """One weight, transposed as TransformerLens has it.

        `sizes`: how large it must be along each axis; None where any size will do.
        """
        W = self.peek(name).detach().to(self.dtype)
        fits = len(sizes) == W.ndim and all(
            size in (None, own) for size, own in zip(sizes, W.shape, strict=True)
        )
        if not fits:
            must = ", ".join("any" if size is None else str(size) for size in sizes)
            raise ValueError(f"{name} is {tuple(W.shape)} but must be ({must})")
        del self.left[name]
        return W

    def shape(self, name: str) -> tuple[int, int, int]:
        """The shape of a weight of heads."""
        if (W := self.peek(name)).ndim != 3:
            raise ValueError(f"{name} is {tuple(W.shape)} but must be (head, d_model, d_head)")
        return W.shape[0], W.shape[1], W.shape[2]

    def bias(self, name: str, *sizes: int) -> Tensor:
        """A bias, flat; zeros if it is not there."""
        if name not in self.left:
            return torch.zeros(math.prod(sizes), dtype=self.dtype)
        return self.take(name, *sizes).flatten()

    def require_all_taken(self) -> None:
        """Raise a ValueError that names the weights that were not taken, if there are any."""
        if self.left:
            raise ValueError(
                f"the config has no use for the weights {sorted(self.left)[:6]}: it is not theirs"
            )

    def peek(self, name: str) -> Tensor:
        """One weight as it is, which is not taken by this."""
        if name not in self.left:
            there = sorted(self.left)[:6]
            raise ValueError(f"there is no {name} among the weights, whose first are {there}")
        return self.left[name]


def attention_scale(cfg: Mapping[str, Any], d_head: int) -> float:
    """What W_Q must be multiplied with, so that 1/√d_head does what the config's scale did."""
    scale = cfg["attn_scale"] if cfg["use_attn_scale"] else 1.0
    return 1.0 if scale in (None, -1) else math.sqrt(d_head) / scale


def require_sizes(config: Mapping[str, Any], sizes: Mapping[str, int | float]) -> None:
    """Compare the sizes that a config names, by whatever names, with those of the weights, by ours."""
    known = {"d_vocab": sizes["n_vocab"], "d_vocab_out": sizes["n_vocab"]} | dict(sizes)
    of_heads = () if known["n_layers"] else ("n_heads", "d_head")  # no weight is of these then
    for name, value in config.items():
        size = names.SETTINGS.get(name, name)
        if size in SIZES and size not in of_heads and value not in (None, -1, known[size]):
            raise ValueError(f"the config has {name} {value} but the weights have {known[size]}")
