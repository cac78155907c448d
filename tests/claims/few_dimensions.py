"""A hand-built induction circuit of any two-layer shape, which the tests of rules measure."""

import math

import torch
import torch.nn.functional as F  # noqa: N812

from transformer_circuits.model import hand_built
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer


def induction(
    config: ModelConfig, sharpness: float = 60.0, *, generator: torch.Generator
) -> Transformer:
    """Model with the two heads of `hand_built.induction` among random ones, of any two-layer shape, in float32.

    They are the last head of either layer. Tokens are random directions in d_head dimensions, which
    may be far fewer than tokens: the right token wins, but similar ones are raised with it.
    """
    d, half = config.d_head, config.d_head // 2
    at = hand_built.blocks(token=d, previous=d, output=d, place=2 * half)
    model = Transformer(config, generator=generator).requires_grad_(False).eval()
    model.randomise(generator=generator)
    code = F.normalize(torch.randn(config.n_vocab, d, generator=generator), dim=1)
    for weight in (model.W_E, model.W_U):
        weight.mul_(0.01)  # a little of everything, so that no circuit is exactly nothing
    model.W_E[at["token"]], model.W_U[:, at["output"]] = code.T, 20 * code
    speed = math.pi * torch.rand(half, generator=generator)  # radians per token
    angle = torch.arange(config.n_ctx)[:, None] * speed
    model.W_P.zero_()[:, at["place"]] = torch.cat([angle.sin(), angle.cos()], dim=1)
    c, s = speed.cos().diag(), speed.sin().diag()
    one_back = torch.cat([torch.cat([c, -s], dim=1), torch.cat([s, c], dim=1)]) / half
    looks = ((at["place"], at["place"], one_back), (at["token"], at["previous"], torch.eye(d)))
    writes = (at["previous"], at["output"])
    for layer, (reads, sees, M), to in zip(model.layers, looks, writes, strict=True):
        for weight in (layer.W_Q, layer.W_K, layer.W_V, layer.W_O):
            weight[-1] = 0
        layer.W_Q[-1, : len(M), reads] = sharpness * math.sqrt(d) * M
        layer.W_K[-1, : len(M), sees] = torch.eye(len(M))
        layer.W_V[-1, :, at["token"]] = layer.W_O[-1, to] = torch.eye(d)
    return model
