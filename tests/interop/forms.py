"""Models of every form, drawn at random, and their forward pass in NumPy alone, in another way than ours.

Weights have TransformerLens's names and shapes. Nothing of the package is imported here.
"""

import numpy as np

PLAIN = {
    "n_layers": 2, "n_heads": 4, "d_model": 14, "d_head": 6, "n_ctx": 11, "d_vocab": 17,
    "attn_only": True, "normalization_type": None, "positional_embedding_type": "shortformer",
}  # fmt: skip
STREAM = {"positional_embedding_type": "standard"}
ROTARY = {
    "positional_embedding_type": "rotary",
    "rotary_adjacent_pairs": False,
    "rotary_base": 10000.0,
}
LN, RMS = {"normalization_type": "LN", "eps": 1e-5}, {"normalization_type": "RMS"}
FORMS = {
    "as in the paper": {},
    "positions in the stream": STREAM,
    "no positions": {"positional_embedding_type": "none"},
    "rotary": ROTARY,
    "rotary in part, adjacent": ROTARY | {"rotary_dim": 4, "rotary_adjacent_pairs": True},
    "layer norm": STREAM | LN,
    "layer norm without gains": STREAM | {"normalization_type": "LNPre", "eps": 1e-5},
    "layer norm, rotary": ROTARY | LN,
    "RMS norm": STREAM | RMS | {"eps": 1e-3},
    "RMS norm, rotary, grouped": ROTARY | RMS | {"n_key_value_heads": 2, "eps": 1e-5},
    "grouped": {"n_key_value_heads": 2},
    "outputs of its own": STREAM | {"d_vocab_out": 5},
    "one head, odd stream": STREAM | {"n_heads": 1, "d_model": 13},
    "one layer, scaled": {"n_layers": 1, "attn_scale": 1.5},
    "three layers": STREAM | LN | {"n_layers": 3},
    "a norm at the end alone": STREAM | RMS | {"eps": 1e-3, "norms": "last"},
    "layer norm before heads alone": STREAM | LN | {"norm_first": True, "norms": "layers"},
}
"""What each changes of `PLAIN`."""


def config(name):
    return PLAIN | FORMS[name]


def said(c):
    """What a loader is told: all but what only `forward` needs."""
    return {name: value for name, value in c.items() if name != "norms"}


def draw(c, seed=0, bias=0.5):
    """Random weights of a form, and no bias zero, nor any gain one."""
    rng = np.random.default_rng(seed)
    d, n, e = c["d_model"], c["n_heads"], c["d_head"]
    kv, out = c.get("n_key_value_heads", n), c.get("d_vocab_out", c["d_vocab"])
    shapes = {"embed.W_E": (c["d_vocab"], d), "unembed.W_U": (d, out), "unembed.b_U": (out,)}
    if c["positional_embedding_type"] in ("standard", "shortformer"):
        shapes["pos_embed.W_pos"] = (c["n_ctx"], d)
    norms = ["ln_final"]
    for i in range(c["n_layers"]):
        a = f"blocks.{i}.attn."
        shapes |= {a + "W_Q": (n, d, e), a + "W_K": (kv, d, e), a + "W_V": (kv, d, e)}
        shapes |= {a + "b_Q": (n, e), a + "b_K": (kv, e), a + "b_V": (kv, e)}
        shapes |= {a + "W_O": (n, e, d), a + "b_O": (d,)}
        norms.append(f"blocks.{i}.ln1")
    if c["normalization_type"] in ("LN", "RMS"):
        for name in norms:
            if c.get("norms") == ("layers" if name == "ln_final" else "last"):
                continue
            shapes[name + ".w"] = (d,)
            shapes |= {name + ".b": (d,)} if c["normalization_type"] == "LN" else {}
    made = {}
    for name, shape in shapes.items():
        last = name.rpartition(".")[2]
        scale = 1.0 if "embed.W" in name and last != "W_U" else d**-0.5 if last[0] == "W" else bias
        made[name] = scale * rng.standard_normal(shape) + (last == "w")
    return made


def as_tensors(weights):
    import torch  # for nothing else, so that a program without it can use the rest

    return {name: torch.from_numpy(W) for name, W in weights.items()}


def normed(w, c, name, x):
    kind, eps = c["normalization_type"], c.get("eps", 1e-5)
    if kind is None or c.get("norms") == ("layers" if name == "ln_final" else "last"):
        return x
    if kind[:2] == "LN":
        x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    return x * w.get(name + ".w", 1.0) + w.get(name + ".b", 0.0)


def turned(c, x):
    """Rotary positions, as complex numbers."""
    n = c.get("rotary_dim", c["d_head"])
    pairs = (
        [(2 * i, 2 * i + 1) for i in range(n // 2)]
        if c.get("rotary_adjacent_pairs")
        else [(i, i + n // 2) for i in range(n // 2)]
    )
    x = x.copy()
    for i, (one, two) in enumerate(pairs):
        angle = np.arange(x.shape[-2]) * 10000.0 ** (-2 * i / n)
        z = (x[..., one] + 1j * x[..., two]) * np.exp(1j * angle)
        x[..., one], x[..., two] = z.real, z.imag
    return x


def forward(w, c, tokens, instead=(), unread=(), keep=None):
    """Logits [batch, pos, out]. `instead`: what heads write in place of their own, by layer and head.
    `unread`: edges (kind, later, earlier) that are cut. `keep`: a dictionary for patterns and what
    heads write, by layer and head.
    """
    n_pos, kind = tokens.shape[1], c["positional_embedding_type"]
    places = w["pos_embed.W_pos"][:n_pos] if "pos_embed.W_pos" in w else 0
    x = w["embed.W_E"][tokens] + (places if kind == "standard" else 0)
    wrote = {}
    for i in range(c["n_layers"]):
        a, total = f"blocks.{i}.attn.", w[f"blocks.{i}.attn.b_O"]
        for h in range(c["n_heads"]):
            share = h * len(w[a + "W_K"]) // c["n_heads"]
            made = {}
            for k, at in (("Q", h), ("K", share), ("V", share)):
                cut = sum(wrote[e] for z, late, e in unread if (z, late) == (k, (i, h)))
                read = normed(w, c, f"blocks.{i}.ln1", x - cut)
                if kind == "shortformer" and k != "V":
                    read = read + places
                made[k] = read @ w[f"{a}W_{k}"][at] + w[f"{a}b_{k}"][at]
            q, key = (turned(c, made[k]) if kind == "rotary" else made[k] for k in "QK")
            scores = q @ key.swapaxes(1, 2) / c.get("attn_scale", np.sqrt(c["d_head"]))
            scores = np.where(np.tril(np.ones((n_pos, n_pos))) > 0, scores, -np.inf)
            A = np.exp(scores - scores.max(-1, keepdims=True))
            A /= A.sum(-1, keepdims=True)
            out = A @ made["V"] @ w[a + "W_O"][h]
            out = out if (i, h) not in instead else instead[i, h] + np.zeros_like(out)
            wrote[i, h], total = out, total + out
            if keep is not None:
                keep[i, h] = A, out
        x = x + total
    return normed(w, c, "ln_final", x) @ w["unembed.W_U"] + w["unembed.b_U"]


def losses(logits, targets):
    """The cross-entropy at every position. [nats]"""
    top = logits.max(-1, keepdims=True)
    total = np.log(np.exp(logits - top).sum(-1)) + top[..., 0]
    return total - np.take_along_axis(logits, targets[..., None], -1)[..., 0]
