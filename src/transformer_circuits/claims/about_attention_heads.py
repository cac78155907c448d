"""What is claimed of trained heads: where they rest, and which one looks at the previous token."""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import composition
from transformer_circuits.claims import samples
from transformer_circuits.claims.controls import ordinary_begin, shuffled_heads, untrained
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model.attention import Pattern
from transformer_circuits.text.tokenizer import BEGIN

Tokens = Int[Tensor, "window pos"]


@decides("resting-place", controls=[untrained, ordinary_begin])
def attention_to_begin(subject: Subject) -> Float[Tensor, " window"]:
    """Attention to the begin token, by the head that gives it most: a probability, 0 to 1.

    It opens each window, and parts documents within it. The head is chosen on every fourth window
    and measured on the others, so that the choice does not flatter it. Above 0.5, it rests there:
    the begin token gets more than all of the text together. Mean over all places but the first,
    which has nothing else to look at. Paper: "Model Details".
    """
    each = []
    for tokens, found in _patterns(subject):
        begin = (tokens == BEGIN).to(found[0])[:, None, :, None]  # [window, 1, src, 1]
        each.append(torch.cat([(A @ begin)[:, :, 1:, 0].mean(dim=-1) for A in found], dim=1))
    to_begin = torch.cat(each)  # [window, head]
    chosen = torch.arange(samples.WINDOWS) % 4 == 0
    return to_begin[~chosen, int(to_begin[chosen].mean(dim=0).argmax())]


@decides("previous-token-head", controls=[untrained, shuffled_heads])
def attention_one_back(subject: Subject) -> Float[Tensor, " document"]:
    """Attention to the previous token, by the first-layer head that is composed with: 0 to 1.

    It is the head of the pair with the largest K-composition score, so it is chosen by its weights
    and measured by its attention. Above 0.5, every other place gets less, the present and the one
    two back among them. Places after the first two. Paper: "Analyzing a Two-Layer Model".
    """
    _, (layer, head) = composition.top_pairs(
        composition.scores(subject.model, "K", basis="stored")
    )[0]
    patterns = (every[layer][:, head] for _, every in _patterns(subject, layer + 1))
    back = torch.cat([A.diagonal(-1, dim1=1, dim2=2) for A in patterns])  # [window, dst - 1]
    measured = F.pad(back, (1, 0), value=math.nan)
    measured[:, 1] = math.nan
    return subject.by_document(measured)


def _patterns(
    subject: Subject, n_layers: int | None = None
) -> Iterator[tuple[Tokens, list[Pattern]]]:
    """A few windows at a time, with the patterns of the first layers; of all, if not given."""
    model, (inputs, _) = subject.model, subject.windows(samples.WINDOWS)
    for part in inputs.split(4):
        x, W_P = model.embed(part)
        found = []
        for index, layer in enumerate(model.layers[:n_layers]):
            found.append(layer.pattern(x, x, W_P))
            x = x + layer(x, W_P, found[-1])
            x = x + model.mlps[index](x) if model.mlps else x
        yield part, found
