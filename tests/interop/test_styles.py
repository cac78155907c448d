# ruff: noqa: RUF012
"""Models as people write them, in many styles of names and packing, each with its own forward pass."""

import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from transformer_circuits.interop import own_model

V, D, H, C, N = 29, 16, 4, 12, 2
E = D // H
PLAIN = {"n_heads": H, "normalization_type": None, "positional_embedding_type": "standard"}


def heads(x, n=H):
    return x.unflatten(-1, (n, -1)).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).flatten(2)


def attend(q, k, v):
    """[…, pos, d_head] each."""
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


def made(**children):
    """A module with these, as if it had a class; shapes are of bare parameters."""
    module = nn.Module()
    for name, child in children.items():
        bare = isinstance(child, tuple)
        setattr(module, name, nn.Parameter(torch.empty(child)) if bare else child)
    return module


def stack(of):
    return nn.ModuleList(of() for _ in range(N))


class NanoGPT(nn.Module):
    """Joined, layer norms, tied, with a saved mask."""

    config = {
        "n_head": H,
        "n_embd": D,
        "block_size": C,
        "vocab_size": V,
        "n_layer": N,
        "bias": True,
    }

    def __init__(self):
        super().__init__()

        def block():
            attn = made(c_attn=nn.Linear(D, 3 * D), c_proj=nn.Linear(D, D))
            attn.register_buffer("bias", torch.ones(C, C).tril().view(1, 1, C, C))
            return made(ln_1=nn.LayerNorm(D), attn=attn)

        self.transformer = made(
            wte=nn.Embedding(V, D), wpe=nn.Embedding(C, D), h=stack(block), ln_f=nn.LayerNorm(D)
        )
        self.lm_head = nn.Linear(D, V, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, t):
        m = self.transformer
        x = m.wte(t) + m.wpe(torch.arange(t.shape[1]))
        for block in m.h:
            x = x + block.attn.c_proj(mixed(*block.attn.c_attn(block.ln_1(x)).split(D, dim=2)))
        return self.lm_head(m.ln_f(x))


class LectureHeads(nn.Module):
    """One module a head, after Karpathy's lecture, without its MLPs."""

    config = {"n_layer": N}

    def __init__(self):
        super().__init__()

        def head():
            one = made(**{x: nn.Linear(D, E, bias=False) for x in ("key", "query", "value")})
            one.register_buffer("tril", torch.ones(C, C).tril())
            return one

        def block():
            of_heads = nn.ModuleList(head() for _ in range(H))
            return made(sa=made(heads=of_heads, proj=nn.Linear(D, D)), ln1=nn.LayerNorm(D))

        self.token_embedding_table = nn.Embedding(V, D)
        self.position_embedding_table = nn.Embedding(C, D)
        self.blocks = stack(block)
        self.ln_f, self.lm_head = nn.LayerNorm(D), nn.Linear(D, V)

    def forward(self, t):
        x = self.token_embedding_table(t)
        x = x + self.position_embedding_table(torch.arange(t.shape[1]))
        for block in self.blocks:
            y = block.ln1(x)
            each = [attend(h.query(y), h.key(y), h.value(y)) for h in block.sa.heads]
            x = x + block.sa.proj(torch.cat(each, -1))
        return self.lm_head(self.ln_f(x))


class Raschka(nn.Module):
    """After *Build a Large Language Model (From Scratch)*, chapter 4, without its MLPs."""

    config = {"vocab_size": V, "context_length": C, "emb_dim": D, "n_heads": H, "n_layers": N,
              "drop_rate": 0.1, "qkv_bias": False}  # fmt: skip

    class LayerNorm(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.shift = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))

        def forward(self, x):
            return F.layer_norm(x, (D,), self.scale, self.shift)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            names = ("W_query", "W_key", "W_value")
            self.att = made(
                **{x: nn.Linear(D, D, bias=False) for x in names}, out_proj=nn.Linear(D, D)
            )
            self.att.register_buffer("mask", torch.ones(C, C).triu(1))
            self.norm1 = Raschka.LayerNorm()

        def forward(self, x):
            a, y = self.att, self.norm1(x)
            return x + a.out_proj(mixed(a.W_query(y), a.W_key(y), a.W_value(y)))

    def __init__(self):
        super().__init__()
        self.tok_emb, self.pos_emb = nn.Embedding(V, D), nn.Embedding(C, D)
        self.trf_blocks = nn.Sequential(*(self.Block() for _ in range(N)))
        self.final_norm, self.out_head = self.LayerNorm(), nn.Linear(D, V, bias=False)

    def forward(self, t):
        x = self.tok_emb(t) + self.pos_emb(torch.arange(t.shape[1]))
        return self.out_head(self.final_norm(self.trf_blocks(x)))


class Transposed(nn.Module):
    """As in GPT-2 of Hugging Face: every matrix of the layers is [in, out]."""

    config = {"n_head": H}

    def __init__(self):
        super().__init__()

        def conv1d(n):
            return made(weight=(D, n), bias=(n,))

        def block():
            attn = made(c_attn=conv1d(3 * D), c_proj=conv1d(D))
            return made(ln_1=nn.LayerNorm(D), attn=attn)

        self.wte, self.wpe = nn.Embedding(V, D), nn.Embedding(C, D)
        self.h, self.ln_f = stack(block), nn.LayerNorm(D)

    def forward(self, t):
        x = self.wte(t) + self.wpe(torch.arange(t.shape[1]))
        for b in self.h:
            c = b.attn.c_attn
            z = mixed(*(b.ln_1(x) @ c.weight + c.bias).chunk(3, -1))
            x = x + z @ b.attn.c_proj.weight + b.attn.c_proj.bias
        return self.ln_f(x) @ self.wte.weight.T


class Bare(nn.Module):
    """Bare parameters, one of each for all heads, positions for queries and keys alone, no norm."""

    config = {"positional_embedding_type": "shortformer", "normalization_type": None}

    def __init__(self):
        super().__init__()
        self.W_E, self.W_pos = nn.Parameter(torch.empty(V, D)), nn.Parameter(torch.empty(C, D))
        for name in ("wq", "wk", "wv", "wo"):
            shape = (H, D, 5) if name == "wo" else (H, 5, D)
            each = nn.ParameterList(nn.Parameter(torch.empty(shape)) for _ in range(N))
            setattr(self, name, each)
        self.W_U = nn.Parameter(torch.empty(D, V))

    def forward(self, t):
        x, p = self.W_E[t], self.W_pos[: t.shape[1]]
        for q, k, v, o in zip(self.wq, self.wk, self.wv, self.wo, strict=True):
            pairs = ((x + p, q), (x + p, k), (x, v))
            read = [torch.einsum("bpd,hed->bhpe", y, W) for y, W in pairs]
            x = x + torch.einsum("bhpe,hde->bpd", attend(*read), o)
        return x @ self.W_U


class BareSquare(nn.Module):
    """Bare square parameters, used as x @ W: nothing tells that but one line."""

    config = PLAIN
    names = {
        f"blocks.{{layer}}.attn.W_{x.upper()}": f"W_{x}.{{layer}} d_model (head d_head)"
        for x in "qkv"
    } | {"blocks.{layer}.attn.W_O": "W_o.{layer} (head d_head) d_model"}

    def __init__(self):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(V, D))
        self.positions = nn.Parameter(torch.empty(C, D))
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.ParameterList(nn.Parameter(torch.empty(D, D)) for _ in range(N)))
        self.unembedding = nn.Parameter(torch.empty(D, V))

    def forward(self, t):
        x = self.embedding[t] + self.positions[: t.shape[1]]
        for q, k, v, o in zip(self.W_q, self.W_k, self.W_v, self.W_o, strict=True):
            x = x + mixed(x @ q, x @ k, x @ v) @ o
        return x @ self.unembedding


class MultiheadAttention(nn.Module):
    """torch.nn's own attention."""

    config = {"num_heads": H}

    def __init__(self):
        super().__init__()
        self.embed, self.pos = nn.Embedding(V, D), nn.Parameter(torch.empty(1, C, D))

        def layer():
            attention = nn.MultiheadAttention(D, H, batch_first=True)
            return made(self_attn=attention, norm1=nn.LayerNorm(D))

        self.layers = stack(layer)
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, V)

    def forward(self, t):
        x = self.embed(t) + self.pos[:, : t.shape[1]]
        later = torch.ones(t.shape[1], t.shape[1]).triu(1).bool()
        for layer in self.layers:
            y = layer.norm1(x)
            x = x + layer.self_attn(y, y, y, attn_mask=later, need_weights=False)[0]
        return self.head(self.norm(x))


class ByHead(nn.Module):
    """Interleaved as in GPT-NeoX, rotary in halves, with a saved table of angles."""

    config = {"num_attention_heads": H, "rotary_adjacent_pairs": False, "rotary_emb_base": 10000,
              "layer_norm_eps": 1e-5}  # fmt: skip

    def __init__(self):
        super().__init__()

        def layer():
            attention = made(query_key_value=nn.Linear(D, 3 * D), dense=nn.Linear(D, D))
            attention.rotary_emb = nn.Module()
            attention.rotary_emb.register_buffer("inv_freq", torch.ones(E // 2))
            return made(input_layernorm=nn.LayerNorm(D), attention=attention)

        self.gpt_neox = made(
            embed_in=nn.Embedding(V, D), layers=stack(layer), final_layer_norm=nn.LayerNorm(D)
        )
        self.embed_out = nn.Linear(D, V, bias=False)

    def forward(self, t):
        x = self.gpt_neox.embed_in(t)
        for layer in self.gpt_neox.layers:
            a = layer.attention
            q, k, v = heads(a.query_key_value(layer.input_layernorm(x))).chunk(3, -1)
            x = x + a.dense(joined(attend(turned(q, False), turned(k, False), v)))
        return self.embed_out(self.gpt_neox.final_layer_norm(x))


class Llama(nn.Module):
    """Grouped keys, RMS norms, rotary in halves, sharded."""

    config = {"num_attention_heads": H, "num_key_value_heads": 2, "rms_norm_eps": 1e-3, "model_type": "llama",
              "rope_theta": 500.0, "tie_word_embeddings": False, "max_position_embeddings": C}  # fmt: skip

    def __init__(self):
        super().__init__()

        def layer():
            sizes = {"q_proj": D, "k_proj": 2 * E, "v_proj": 2 * E, "o_proj": D}
            matrices = {name: nn.Linear(D, n, bias=False) for name, n in sizes.items()}
            return made(self_attn=made(**matrices), input_layernorm=nn.RMSNorm(D, eps=1e-3))

        norm = nn.RMSNorm(D, eps=1e-3)
        self.model = made(embed_tokens=nn.Embedding(V, D), layers=stack(layer), norm=norm)
        self.lm_head = nn.Linear(D, V, bias=False)

    def forward(self, t):
        x = self.model.embed_tokens(t)
        for layer in self.model.layers:
            a, y = layer.self_attn, layer.input_layernorm(x)
            q, k, v = heads(a.q_proj(y)), heads(a.k_proj(y), 2), heads(a.v_proj(y), 2)
            k, v = (z.repeat_interleave(2, 1) for z in (turned(k, False, 500.0), v))
            x = x + a.o_proj(joined(attend(turned(q, False, 500.0), k, v)))
        return self.lm_head(self.model.norm(x))


class TransformerLens(nn.Module):
    """Its names and shapes, buffers and biases."""

    config = {"n_layers": N, "n_heads": H, "d_model": D, "d_head": E, "n_ctx": C, "d_vocab": V, "attn_only": True,
              "normalization_type": "LNPre", "positional_embedding_type": "standard", "eps": 1e-5}  # fmt: skip

    def __init__(self):
        super().__init__()

        def block():
            shapes = {f"W_{x}": (H, D, E) for x in "QKV"} | {f"b_{x}": (H, E) for x in "QKV"}
            attn = made(**shapes, W_O=(H, E, D), b_O=(D,))
            attn.register_buffer("mask", torch.ones(C, C).tril().bool())
            attn.register_buffer("IGNORE", torch.tensor(-torch.inf))
            return made(attn=attn)

        self.embed, self.pos_embed = made(W_E=(V, D)), made(W_pos=(C, D))
        self.blocks, self.unembed = stack(block), made(W_U=(D, V), b_U=(V,))

    def forward(self, t):
        x = self.embed.W_E[t] + self.pos_embed.W_pos[: t.shape[1]]
        for block in self.blocks:
            a, y = block.attn, F.layer_norm(x, (D,))
            pairs = ((a.W_Q, a.b_Q), (a.W_K, a.b_K), (a.W_V, a.b_V))
            q, k, v = (torch.einsum("bpd,hde->bhpe", y, W) + b[:, None] for W, b in pairs)
            x = x + torch.einsum("bhpe,hed->bpd", attend(q, k, v), a.W_O) + a.b_O
        return F.layer_norm(x, (D,)) @ self.unembed.W_U + self.unembed.b_U


class OneLayer(nn.Module):
    """No number in any name, no position, three letters in another order, packed in blocks; wide heads."""

    config = {"heads": 2, "normalization_type": None, "positional_embedding_type": "none"}
    names = {"blocks.{layer}.attn.W_KQV": "mix.kqv.weight (qkv head d_head) d_model"}

    def __init__(self):
        super().__init__()
        self.lookup, self.to_logits = nn.Embedding(V, D), nn.Linear(D, V)
        self.mix = made(kqv=nn.Linear(D, 3 * 24), combine=nn.Linear(24, D, bias=False))

    def forward(self, t):
        x = self.lookup(t)
        k, q, v = self.mix.kqv(x).chunk(3, -1)
        return self.to_logits(x + self.mix.combine(mixed(q, k, v, 2)))


class Numbered(nn.Module):
    """Numbers at the ends of words, from one; a joined matrix of keys and values; no last norm."""

    config = {"n_head": H, "norm_first": True, "eps": 1e-5}
    names = {"blocks.{layer}.attn.W_KV": "attn{layer}.kv.weight (qkv head d_head) d_model"}

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(V, D), nn.Parameter(torch.empty(C, D))
        for i in (1, 2):
            attn = made(q=nn.Linear(D, 20), kv=nn.Linear(D, 40), out=nn.Linear(20, D))
            setattr(self, f"attn{i}", attn)
            setattr(self, f"norm{i}", nn.LayerNorm(D))
        self.readout = nn.Linear(D, V)

    def forward(self, t):
        x = self.tokens(t) + self.places[: t.shape[1]]
        for i in (1, 2):
            a, y = getattr(self, f"attn{i}"), getattr(self, f"norm{i}")(x)
            x = x + a.out(mixed(a.q(y), *a.kv(y).chunk(2, -1)))
        return self.readout(x)


class Kernels(nn.Module):
    """As Flax names and shapes them: kernels [in, head, d_head] and [head, d_head, out]."""

    config = PLAIN

    def __init__(self):
        super().__init__()
        shapes = {
            "token_embed/embedding": (V, D),
            "pos_embed/embedding": (C, D),
            "logits/kernel": (D, V),
        }
        for i in range(N):
            at = f"layer_{i}/attention/"
            for x in ("query", "key", "value"):
                shapes |= {f"{at}{x}/kernel": (D, H, 6), f"{at}{x}/bias": (H, 6)}
            shapes |= {f"{at}out/kernel": (H, 6, D), f"{at}out/bias": (D,)}
        self.flat = nn.ParameterDict({name: torch.empty(shape) for name, shape in shapes.items()})

    def state_dict(self):
        return {name.removeprefix("flat."): W for name, W in super().state_dict().items()}

    def forward(self, t):
        p = self.flat
        x = p["token_embed/embedding"][t] + p["pos_embed/embedding"][: t.shape[1]]
        for i in range(N):
            at = f"layer_{i}/attention/"
            q, k, v = (
                torch.einsum("bpd,dhe->bhpe", x, p[f"{at}{n}/kernel"]) + p[f"{at}{n}/bias"][:, None]
                for n in ("query", "key", "value")
            )
            z = torch.einsum("bhpe,hed->bpd", attend(q, k, v), p[at + "out/kernel"])
            x = x + z + p[at + "out/bias"]
        return x @ p["logits/kernel"]


class Stacked(nn.Module):
    """One tensor for all layers, heads inside, rotary in pairs, RMS norm before heads and at the end."""

    config = {"n_layers": N, "rope_theta": 10000.0, "rotary_adjacent_pairs": True, "eps": 1e-6}

    def __init__(self):
        super().__init__()
        for name, shape in (("wq", (N, H, D, 6)), ("wk", (N, H, D, 6)), ("wv", (N, H, D, 6)), ("wo", (N, H, 6, D)),
                            ("rms_g", (N, D)), ("final_rms_g", (D,)), ("tok_emb", (V, D)), ("head", (V, D))):  # fmt: skip
            self.register_parameter(name, nn.Parameter(torch.empty(shape)))

    def forward(self, t):
        x = self.tok_emb[t]
        for q, k, v, o, g in zip(self.wq, self.wk, self.wv, self.wo, self.rms_g, strict=True):
            y = F.rms_norm(x, (D,), g, 1e-6)
            q, k, v = (torch.einsum("bpd,hde->bhpe", y, W) for W in (q, k, v))
            x = x + torch.einsum("bhpe,hed->bpd", attend(turned(q, True), turned(k, True), v), o)
        return F.rms_norm(x, (D,), self.final_rms_g, 1e-6) @ self.head.T


STYLES = [NanoGPT, LectureHeads, Raschka, Transposed, Bare, BareSquare, MultiheadAttention, ByHead, Llama,
          TransformerLens, OneLayer, Numbered, Kernels, Stacked]  # fmt: skip
TOKENS = torch.randint(0, V, (3, C), generator=torch.Generator().manual_seed(2))


def drawn(style, seed=0):
    """A module with no bias zero and no gain one, and patterns that are not flat."""
    generator = torch.Generator().manual_seed(seed)
    module = style()
    with torch.no_grad():
        for W in module.parameters():
            vector = W.ndim < 2
            W.copy_(
                torch.randn(W.shape, generator=generator) * (0.3 if vector else 0.5) + vector * 0.5
            )
    return module.eval()


def agrees(model, module):
    with torch.no_grad():
        expected = module(TOKENS)
        off = (model(TOKENS) - expected).abs().max()
    assert off < 1e-4 * expected.abs().max(), off


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("prefix", ["", "_orig_mod.", "net.inner."])
def test_a_module_as_its_author_wrote_it_loads_exactly_with_at_most_eight_lines(style, prefix):
    module = drawn(style)
    names = {part: prefix + name for part, name in getattr(style, "names", {}).items()}
    state = {prefix + name: W for name, W in module.state_dict().items()}
    agrees(own_model.load(state, style.config, names=names), module)
    assert len(names) <= 8
