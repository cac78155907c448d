"""Tiny models that learn to copy what comes again, by their own library's code, and what is asked of them."""

import re

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from transformer_circuits.analysis import by_length, expansion, head_roles, layer_norm
from transformer_circuits.claims import card
from transformer_circuits.interop import own_model

N_VOCAB, N_CTX = 40, 50


class Block(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attn = nn.MultiheadAttention(d_model, n_heads, batch_first=True)

    def forward(self, x):
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        y = self.norm1(x)
        return x + self.attn(y, y, y, attn_mask=later, need_weights=False)[0]


class Plain(nn.Module):
    """A model as people write it with torch.nn."""

    def __init__(self, d_model=32, n_heads=2):
        super().__init__()
        self.embed = nn.Embedding(N_VOCAB, d_model)
        self.pos = nn.Embedding(N_CTX, d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_heads) for _ in range(2))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, N_VOCAB)
        self.settings = {"n_heads": n_heads}

    def forward(self, tokens):
        x = self.embed(tokens) + self.pos(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def passages(n, generator):
    """BEGIN and passages without a token twice, each again and again, and where tokens are copies.

    Lengths differ, so that nothing but the tokens says how far back a copy is. Of the first copied
    token nothing says that it is one; it is not counted.
    """
    length = torch.randint(4, N_CTX // 2, (n, 1), generator=generator)
    passage = torch.rand(n, N_VOCAB - 1, generator=generator).argsort(dim=1) + 1
    tokens = passage.gather(1, torch.arange(N_CTX) % length)
    tokens = torch.cat([torch.zeros(n, 1, dtype=torch.long), tokens], dim=1)
    return tokens, torch.arange(N_CTX) > length


@torch.no_grad()
def draw(named, generator):
    """All matrices that can learn, drawn anew: tokens and positions large, so that all begin alike."""
    for name, W in named:
        if name.endswith("bias"):
            W.zero_()
        elif W.ndim > 1 and W.requires_grad:
            large = re.search(r"(?<!un)embed(?!_out)|wte|wpe|^pos", name)
            W.normal_(std=0.5 if large else 0.1, generator=generator)


def learn(logits_of, parameters, generator, *, n_out=N_VOCAB, steps=400, copies=True):
    """Train until it copies; how often the right output is first then, on fresh passages. 0 to 1.

    Without `copies`, it learns to name the token before, at every place.
    """

    def asked():
        tokens, again = passages(16, generator)
        if not copies:
            return tokens[:, 1:], tokens[:, :-1], torch.ones_like(again)
        return tokens[:, :-1], tokens[:, 1:] % n_out, again

    lr = 1e-2
    optimizer = torch.optim.Adam(parameters, lr=lr, betas=(0.9, 0.98))
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1, (step + 1) / 50, 2 * (1 - step / steps) + 0.05)
        inputs, targets, counted = asked()
        loss = F.cross_entropy(logits_of(inputs)[counted], targets[counted])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    inputs, targets, counted = asked()
    with torch.no_grad():
        return float((logits_of(inputs).argmax(dim=2) == targets)[counted].double().mean())


def agree(state, config, logits_of, tokens):
    """Loaded, it gives the same logits, and its paths sum to them."""
    expected = logits_of(tokens).detach()
    model = own_model.load(state, config)
    size = expected.abs().max()
    assert (model(tokens) - expected).abs().max() < 1e-4 * size
    held = layer_norm.freeze(model, tokens)
    paths = expansion.paths(held, tokens).values()
    assert (held.unembed(sum(paths)) - expected).abs().max() < 1e-4 * size
    return model


def headline(model):
    return card.does_induction(model, by_length.measured(model))


def has_none(model):
    assert headline(model).startswith("no head does induction")
    assert "induction" not in {row.role for row in head_roles.census(model)}


def learns(peer, logits_of, written, generator, **options):
    """It is said to have no induction head; it learns to copy; then heads of its second layer are
    said to be such, and one of its first to look back.

    Learnt positions let it look around the place before, not at it alone, so that its share stays
    below what the role takes; of chance, it is three times as much. `written`: what makes the state
    dict or folder, and the config, of the weights as they are.
    """
    draw(peer.named_parameters(), generator)
    tokens, _ = passages(3, generator)
    tokens = tokens[:, :-1]
    has_none(agree(*written(), logits_of, tokens))
    weights = [W for W in peer.parameters() if W.requires_grad]
    assert learn(logits_of, weights, generator, **options) > 0.9
    model = agree(*written(), logits_of, tokens)
    assert headline(model).startswith("induction heads: 1.")
    rows = head_roles.census(model)
    assert {row.head.layer for row in rows if row.role == "induction"} == {1}
    first, second = (max(r.one_back for r in rows if r.head.layer == i) for i in (0, 1))
    assert first > 0.24 > second
