"""A checkpoint as TransformerLens writes it, and its forward pass by hand, in another way than ours."""

import torch
import torch.nn.functional as F  # noqa: N812

CONFIG = {
    "n_layers": 2, "d_model": 14, "n_ctx": 11, "d_head": 3, "n_heads": 5, "d_vocab": 17,
    "attn_only": True, "normalization_type": None, "positional_embedding_type": "shortformer",
    "attention_dir": "causal", "seed": 398, "tokenizer_name": "EleutherAI/gpt-neox-20b",
}  # fmt: skip


def checkpoint(generator, config=CONFIG, dtype=torch.float64, biases=0.0, d_mlp=0):
    """Random weights by TransformerLens's names, with its transposed shapes and its buffers."""
    d, n, d_head = config["d_model"], config["n_heads"], config["d_head"]
    shapes = {"embed.W_E": (config["d_vocab"], d), "pos_embed.W_pos": (config["n_ctx"], d)}
    for layer in range(config["n_layers"]):
        at = f"blocks.{layer}."
        shapes |= {f"{at}attn.W_{x}": (n, d, d_head) for x in "QKV"}
        shapes |= {f"{at}attn.W_O": (n, d_head, d), f"{at}attn.b_O": (d,)}
        shapes |= {f"{at}attn.b_{x}": (n, d_head) for x in "QKV"}
        if d_mlp:
            shapes |= {f"{at}mlp.W_in": (d, d_mlp), f"{at}mlp.W_out": (d_mlp, d)}
            shapes |= {f"{at}mlp.b_in": (d_mlp,), f"{at}mlp.b_out": (d,)}
        if config["normalization_type"] == "LN":
            shapes |= {f"{at}ln1.w": (d,), f"{at}ln1.b": (d,)}
    if config["normalization_type"] == "LN":
        shapes |= {"ln_final.w": (d,), "ln_final.b": (d,)}
    shapes |= {"unembed.W_U": (d, config["d_vocab"]), "unembed.b_U": (config["d_vocab"],)}
    made = {}
    for name, shape in shapes.items():
        is_bias = name.rpartition(".")[2][0] == "b"
        std = biases if is_bias else 1.0 if "embed.W" in name else d**-0.5
        made[name] = (std * torch.randn(shape, generator=generator)).to(dtype)
    for layer in range(config["n_layers"]):
        made[f"blocks.{layer}.attn.mask"] = torch.ones(2 * [config["n_ctx"]]).tril().bool()
        made[f"blocks.{layer}.attn.IGNORE"] = torch.tensor(-torch.inf)
    return made


def logits(weights, tokens, config=CONFIG):
    """What the model of a checkpoint says, head by head, with rows on the left as over there."""
    kind, short = (config[k] for k in ("normalization_type", "positional_embedding_type"))

    def normed(x, name):
        if kind is None:
            return x
        own = [weights[f"{name}.{k}"] if kind == "LN" else None for k in "wb"]
        return F.layer_norm(x, x.shape[-1:], *own, 1e-5)

    places = weights["pos_embed.W_pos"][: tokens.shape[1]]
    x, beside = weights["embed.W_E"][tokens], places
    if short == "standard":
        x, beside = x + places, 0
    for layer in range(config["n_layers"]):
        at, read = f"blocks.{layer}.attn.", normed(x, f"blocks.{layer}.ln1")
        total = weights[at + "b_O"]
        for h in range(config["n_heads"]):
            W = {k: weights[f"{at}W_{k}"][h] for k in "QKVO"}
            b = {k: weights[f"{at}b_{k}"][h] for k in "QKV"}
            q, k = ((read + beside) @ W[k] + b[k] for k in "QK")
            v = read @ W["V"] + b["V"]
            scale = 1.0 if config.get("use_attn_scale", True) else config["d_head"] ** 0.5
            q = q * scale
            total = total + F.scaled_dot_product_attention(q, k, v, is_causal=True) @ W["O"]
        x = x + total
        if f"blocks.{layer}.mlp.W_in" in weights:
            W = {k: weights[f"blocks.{layer}.mlp.{k}"] for k in ("W_in", "b_in", "W_out", "b_out")}
            x = x + F.gelu(x @ W["W_in"] + W["b_in"]) @ W["W_out"] + W["b_out"]
    return normed(x, "ln_final") @ weights["unembed.W_U"] + weights["unembed.b_U"]
