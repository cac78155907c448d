# ruff: noqa: E741, N803, N806
"""Models as people write them: names and packing of many hands, each with its author's own forward pass.

An author asks for tensors by name and shape, and gives what a layer adds to the stream.
"""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from einops import rearrange
from torch import nn

V, D, H, C, N = 29, 16, 4, 12, 2
E = D // H
PLAIN = {"n_heads": H, "normalization_type": None, "positional_embedding_type": "standard"}
BY_ROWS, BY_HEAD = "(qkv head d_head) d_model", "(head qkv d_head) d_model"
TOKENS = torch.randint(0, V, (3, C), generator=torch.Generator().manual_seed(2))


class Author:
    """A state dict in the making: no bias is zero, no gain one, and patterns are not flat."""

    def __init__(self, seed=0):
        self.generator, self.state = torch.Generator().manual_seed(seed), {}

    def __call__(self, name, *shape):
        scale = 0.3 if len(shape) == 1 else 0.5
        W = scale * torch.randn(shape, generator=self.generator) + 0.5 * (len(shape) == 1)
        return self.state.setdefault(name, W)

    def linear(self, name, n_out, n_in, bias=True):
        W, b = self(name + ".weight", n_out, n_in), self(name + ".bias", n_out) if bias else None
        return lambda x: F.linear(x, W, b)

    def layer_norm(self, name, gain="weight", bias="bias", eps=1e-5):
        name = name if name[-1] == "/" else name + "."
        g, b = self(name + gain, D), self(name + bias, D)
        return lambda x: F.layer_norm(x, (D,), g, b, eps)

    def rms_norm(self, name, eps):
        g = self(name, D)
        return lambda x: x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * g

    def added(self, tokens, places, *leading):
        E, P = self(tokens, V, D), self(places, *leading, C, D)
        return lambda t: E[t] + P.view(C, D)[: t.shape[1]]


def runs(tokens, layers, last):
    def forward(t):
        x = tokens(t)
        for layer in layers:
            x = x + layer(x)
        return last(x)

    return forward


def reads(norm, qkv, out, n=H):
    """A layer that reads through a norm and has a function for queries, keys and values at once."""
    return lambda x: out(mixed(*qkv(norm(x)), n))


def each(*matrices):
    return lambda x: [W(x) for W in matrices]


def bare_of_norm(x):
    return x


def logits(norm, U, b=0):
    return lambda x: norm(x) @ U.T + b


def heads(x, n=H):
    return x.unflatten(-1, (n, -1)).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).flatten(2)


def attend(q, k, v):
    """[…, pos, d_head] each; keys and values may be fewer, then neighbours share them."""
    k, v = (z.repeat_interleave(q.shape[1] // z.shape[1], 1) if z.ndim > 3 else z for z in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    future = torch.ones(scores.shape[-2:]).triu(1).bool()
    return scores.masked_fill(future, -math.inf).softmax(-1) @ v


def mixed(q, k, v, n=H):
    """[batch, pos, head · d_head] each: heads side by side."""
    return joined(attend(heads(q, n), heads(k, n), heads(v, n)))


def turned(x, adjacent, base=10000.0):
    d = x.shape[-1]
    angle = torch.arange(x.shape[-2])[:, None] * base ** (-torch.arange(0, d, 2) / d)
    cos, sin = angle.cos(), angle.sin()
    a, b = (x[..., ::2], x[..., 1::2]) if adjacent else x.chunk(2, -1)
    a, b = a * cos - b * sin, b * cos + a * sin
    return torch.stack([a, b], -1).flatten(-2) if adjacent else torch.cat([a, b], -1)


def of_heads(x, W):
    return torch.einsum("bpd,hde->bhpe", x, W)


def attention(W):
    """How all lines of `names` for attention begin."""
    return f"blocks.{{layer}}.attn.W_{W}"


def nanogpt(a):
    """Joined, layer norms, tied, with a saved mask."""
    tokens, layers = a.added("transformer.wte.weight", "transformer.wpe.weight"), []
    for i in range(N):
        at = f"transformer.h.{i}."
        norm, qkv = a.layer_norm(at + "ln_1"), a.linear(at + "attn.c_attn", 3 * D, D)
        out = a.linear(at + "attn.c_proj", D, D)
        a.state[at + "attn.bias"] = torch.ones(C, C).tril().view(1, 1, C, C)
        layers.append(reads(norm, lambda y, W=qkv: W(y).split(D, dim=2), out))
    U = a.state["lm_head.weight"] = a.state["transformer.wte.weight"]
    config = {
        "n_head": H,
        "n_embd": D,
        "block_size": C,
        "vocab_size": V,
        "n_layer": N,
        "bias": True,
    }
    return runs(tokens, layers, logits(a.layer_norm("transformer.ln_f"), U)), config, {}


def lecture(a):
    """One module a head, after Karpathy's lecture, without its MLPs."""
    tokens, layers = a.added("token_embedding_table.weight", "position_embedding_table.weight"), []
    for i in range(N):
        of = []
        for h in range(H):
            at = f"blocks.{i}.sa.heads.{h}."
            of.append(each(*(a.linear(at + x, E, D, False) for x in ("query", "key", "value"))))
            a.state[at + "tril"] = torch.ones(C, C).tril()
        norm, out = a.layer_norm(f"blocks.{i}.ln1"), a.linear(f"blocks.{i}.sa.proj", D, D)
        layers.append(
            lambda x, of=of, norm=norm, out=out: out(
                torch.cat([attend(*h(norm(x))) for h in of], -1)
            )
        )
    norm, head = a.layer_norm("ln_f"), a.linear("lm_head", V, D)
    return runs(tokens, layers, lambda x: head(norm(x))), {"n_layer": N}, {}


def raschka(a):
    """After *Build a Large Language Model (From Scratch)*, chapter 4, without its MLPs."""
    tokens, layers, gain = a.added("tok_emb.weight", "pos_emb.weight"), [], ("scale", "shift")
    for i in range(N):
        at = f"trf_blocks.{i}."
        qkv = [a.linear(f"{at}att.W_{x}", D, D, bias=False) for x in ("query", "key", "value")]
        out, norm = a.linear(at + "att.out_proj", D, D), a.layer_norm(at + "norm1", *gain)
        a.state[at + "att.mask"] = torch.ones(C, C).triu(1)
        layers.append(reads(norm, each(*qkv), out))
    config = {"vocab_size": V, "context_length": C, "emb_dim": D, "n_heads": H, "n_layers": N,
              "drop_rate": 0.1, "qkv_bias": False, "eps": 1e-5}  # fmt: skip
    last = logits(a.layer_norm("final_norm", *gain), a("out_head.weight", V, D))
    return runs(tokens, layers, last), config, {}


def transposed(a):
    """As in GPT-2 of Hugging Face: every matrix of the layers is [in, out]."""

    def conv1d(name, n_out):
        W, b = a(name + ".weight", D, n_out), a(name + ".bias", n_out)
        return lambda x: x @ W + b

    tokens, layers = a.added("wte.weight", "wpe.weight"), []
    for i in range(N):
        qkv, out = conv1d(f"h.{i}.attn.c_attn", 3 * D), conv1d(f"h.{i}.attn.c_proj", D)
        norm = a.layer_norm(f"h.{i}.ln_1")
        layers.append(reads(norm, lambda y, W=qkv: W(y).chunk(3, -1), out))
    config = {"n_head": H, "layer_norm_epsilon": 1e-5}
    return runs(tokens, layers, logits(a.layer_norm("ln_f"), a.state["wte.weight"])), config, {}


def bare(a):
    """Bare parameters, one of each for all heads, positions for queries and keys alone, no norm."""
    E, P, layers = a("W_E", V, D), a("W_pos", C, D), []
    for i in range(N):
        q, k, v = (a(f"w{x}.{i}", H, 5, D) for x in "qkv")
        layers.append((q.mT, k.mT, v.mT, a(f"wo.{i}", H, D, 5)))
    U = a("W_U", D, V)

    def forward(t):
        x, p = E[t], P[: t.shape[1]]
        for q, k, v, o in layers:
            z = attend(of_heads(x + p, q), of_heads(x + p, k), of_heads(x, v))
            x = x + torch.einsum("bhpe,hde->bpd", z, o)
        return x @ U

    return forward, {"positional_embedding_type": "shortformer", "normalization_type": None}, {}


def bare_square(a):
    """Bare square parameters, used as x @ W: nothing tells that but one line each."""
    tokens, layers = a.added("embedding", "positions"), []
    for i in range(N):
        q, k, v, o = (a(f"W_{x}.{i}", D, D) for x in "qkvo")
        layers.append(lambda x, q=q, k=k, v=v, o=o: mixed(x @ q, x @ k, x @ v) @ o)
    names = {attention(x.upper()): f"W_{x}.{{layer}} d_model (head d_head)" for x in "qkv"}
    names |= {attention("O"): "W_o.{layer} (head d_head) d_model"}
    return runs(tokens, layers, logits(bare_of_norm, a("unembedding", D, V).T)), PLAIN, names


def by_number(a):
    """The numbers of layer and head at the end of each name."""
    tokens, layers = a.added("embed", "pos"), []
    for i in range(N):
        of = [[a(f"W_{x}_{i}_{h}", D, E) for x in "qkv"] for h in range(H)]
        W_O = torch.cat([a(f"W_o_{i}_{h}", E, D) for h in range(H)])
        layers.append(
            lambda x, of=of, W_O=W_O: torch.cat([attend(*(x @ W for W in h)) for h in of], -1) @ W_O
        )
    names = {attention(x.upper()): f"W_{x}_{{layer}}_{{head}}" for x in "qkvo"}
    return runs(tokens, layers, logits(bare_of_norm, a("unembed", D, V).T)), PLAIN, names


def multihead(a, **options):
    """torch.nn's own attention."""
    tokens, layers = a.added("embed.weight", "pos", 1), []
    for i in range(N):
        of, at = nn.MultiheadAttention(D, H, batch_first=True, **options), f"layers.{i}."
        norm = a.layer_norm(at + "norm1")
        for name, W in of.named_parameters():
            W.data = a(f"{at}self_attn.{name}", *W.shape)

        def layer(x, of=of, norm=norm):
            later, y = torch.ones(x.shape[1], x.shape[1]).triu(1).bool(), norm(x)
            return of(y, y, y, attn_mask=later, need_weights=False)[0]

        layers.append(layer)
    norm, head = a.layer_norm("norm"), a.linear("head", V, D)
    return runs(tokens, layers, lambda x: head(norm(x))), {"num_heads": H}, {}


def by_head(a, packing="(h k d)", line=BY_HEAD):
    """Interleaved as in GPT-NeoX, or in rows under the same name, rotary in halves, angles saved."""
    W_E, layers = a("gpt_neox.embed_in.weight", V, D), []
    for i in range(N):
        at = f"gpt_neox.layers.{i}."
        norm = a.layer_norm(at + "input_layernorm")
        qkv, out = (
            a.linear(f"{at}attention.{x}", n, D)
            for x, n in (("query_key_value", 3 * D), ("dense", D))
        )
        a.state[at + "attention.rotary_emb.inv_freq"] = torch.ones(E // 2)

        def layer(x, norm=norm, qkv=qkv, out=out):
            q, k, v = rearrange(qkv(norm(x)), f"b n {packing} -> k b h n d", k=3, h=H)
            return out(joined(attend(turned(q, False), turned(k, False), v)))

        layers.append(layer)
    last = logits(a.layer_norm("gpt_neox.final_layer_norm"), a("embed_out.weight", V, D))
    config = {"num_attention_heads": H, "rotary_adjacent_pairs": False, "rotary_emb_base": 10000,
              "layer_norm_eps": 1e-5}  # fmt: skip
    names = {attention("QKV"): f"gpt_neox.layers.{{layer}}.attention.query_key_value.weight {line}"}
    return runs(lambda t: W_E[t], layers, last), config, names


def in_rows(a):
    return by_head(a, "(k h d)", BY_ROWS)


def llama(a, pack=False):
    """Grouped keys, RMS norms, rotary in halves."""
    W_E, layers, sizes = a("model.embed_tokens.weight", V, D), [], (D, 2 * E, 2 * E)
    for i in range(N):
        at = f"model.layers.{i}."
        W = a(at + "self_attn.qkv_proj.weight", D + 4 * E, D)
        if not pack:
            del a.state[at + "self_attn.qkv_proj.weight"]
            of = zip("qkv", W.split(sizes), strict=True)
            a.state |= {f"{at}self_attn.{x}_proj.weight": part for x, part in of}
        norm = a.rms_norm(at + "input_layernorm.weight", 1e-3)
        out = a.linear(at + "self_attn.o_proj", D, D, bias=False)

        def layer(x, W=W, norm=norm, out=out):
            q, k, v = (heads(z, z.shape[-1] // E) for z in (norm(x) @ W.T).split(sizes, -1))
            return out(joined(attend(turned(q, False, 500.0), turned(k, False, 500.0), v)))

        layers.append(layer)
    norm, U = a.rms_norm("model.norm.weight", 1e-3), a("lm_head.weight", V, D)
    config = {"num_attention_heads": H, "num_key_value_heads": 2, "rms_norm_eps": 1e-3, "model_type": "llama",
              "rope_theta": 500.0, "tie_word_embeddings": False, "max_position_embeddings": C}  # fmt: skip
    names = {attention("QKV"): f"model.layers.{{layer}}.self_attn.qkv_proj.weight {BY_ROWS}"}
    return runs(lambda t: W_E[t], layers, lambda x: norm(x) @ U.T), config, names if pack else {}


def phi(a):
    """The same with queries and grouped keys in one matrix."""
    return llama(a, pack=True)


def numbered(a):
    """Numbers at the ends of words, from one; a joined matrix of keys and values; no last norm."""
    tokens, layers = a.added("tokens.weight", "places"), []
    for i in (1, 2):
        q, kv = a.linear(f"attn{i}.q", 20, D), a.linear(f"attn{i}.kv", 40, D)
        out, norm = a.linear(f"attn{i}.out", D, 20), a.layer_norm(f"norm{i}")
        layers.append(reads(norm, lambda y, q=q, kv=kv: (q(y), *kv(y).chunk(2, -1)), out))
    config = {"n_head": H, "norm_first": True, "eps": 1e-5}
    names = {attention("KV"): f"attn{{layer}}.kv.weight {BY_ROWS}"}
    return runs(tokens, layers, a.linear("readout", V, D)), config, names


def kernels(a):
    """As Flax names and shapes them: kernels [in, head, d_head] and [head, d_head, out], eps 1e-6."""
    tokens, layers = a.added("Embed_0/embedding", "Embed_1/embedding"), []
    for i in range(N):
        at = f"Block_{i}/CausalSelfAttention_0/"
        W = [
            (a(f"{at}{x}/kernel", D, H, 6), a(f"{at}{x}/bias", H, 6))
            for x in ("query", "key", "value")
        ]
        O, b = a(at + "out/kernel", H, 6, D), a(at + "out/bias", D)
        norm = a.layer_norm(f"Block_{i}/LayerNorm_0/", "scale", eps=1e-6)

        def layer(x, W=W, O=O, b=b, norm=norm):
            qkv = (of_heads(norm(x), M.transpose(0, 1)) + c[:, None] for M, c in W)
            return torch.einsum("bhpe,hed->bpd", attend(*qkv), O) + b

        layers.append(layer)
    U = a("Dense_0/kernel", D, V)
    names = {"embed.W_E": "Embed_0/embedding", "pos_embed.W_pos": "Embed_1/embedding"}
    return runs(tokens, layers, lambda x: x @ U), {"eps": 1e-6, "norm_first": True}, names


def stacked(a):
    """One tensor for all layers, heads inside, rotary in pairs, RMS norm before heads and at the end."""
    W_E, W = a("tok_emb", V, D), [a(f"w{x}", N, H, D, 6) for x in "qkv"] + [a("wo", N, H, 6, D)]
    gains, last, U, layers = a("rms_g", N, D), a.rms_norm("final_rms_g", 1e-6), a("head", V, D), []
    for q, k, v, o, g in zip(*W, gains, strict=True):

        def layer(x, q=q, k=k, v=v, o=o, g=g):
            q, k, v = (of_heads(F.rms_norm(x, (D,), g, 1e-6), W) for W in (q, k, v))
            return torch.einsum("bhpe,hed->bpd", attend(turned(q, True), turned(k, True), v), o)

        layers.append(layer)
    config = {"n_layers": N, "rope_theta": 10000.0, "rotary_adjacent_pairs": True, "eps": 1e-6}
    names = {attention(x.upper()): f"w{x} layer head d_model d_head" for x in "qkv"}
    names |= {attention("O"): "wo layer head d_head d_model", "ln1.w": "rms_g layer d_model"}
    return runs(lambda t: W_E[t], layers, lambda x: last(x) @ U.T), config, names


def one_layer(a):
    """No number in any name, no position, three letters in another order, packed in rows; wide heads."""
    W_E, head = a("lookup.weight", V, D), a.linear("to_logits", V, D)
    kqv, out = a.linear("mix.kqv", 72, D), a.linear("mix.combine", D, 24, bias=False)
    layer = reads(bare_of_norm, lambda x: [kqv(x).chunk(3, -1)[i] for i in (1, 0, 2)], out, 2)
    config = {"heads": 2, "normalization_type": None, "positional_embedding_type": "none"}
    names = {attention("KQV"): f"mix.kqv.weight {BY_ROWS}"}
    return runs(lambda t: W_E[t], [layer], head), config, names


STYLES = [nanogpt, lecture, raschka, transposed, bare, bare_square, by_number, multihead, by_head, in_rows, llama,
          phi, one_layer, numbered, kernels, stacked]  # fmt: skip


def written(style, seed=0):
    """The state dict, the author's forward pass, the config, and the lines of names."""
    author = Author(seed)
    forward, config, names = style(author)
    return author.state, forward, config, names


def agrees(model, forward):
    expected = forward(TOKENS).detach()
    off = (model(TOKENS) - expected).abs().max()
    assert off < 1e-4 * expected.abs().max(), off
