"""QK attributions and head loadings on one text: reasons for a score, and the heads by which a
token reaches a logit (Kamath et al. 2025, "Tracing Attention Computation Through Feature
Interactions").

A score is bilinear: one vector of the query, one of the key. So if both inputs are sums, the score
is a sum over pairs: its *QK attributions*. And an edge from a token to a later logit is a sum over
the heads that carried it: its *head loadings*. In that work features are found by a dictionary that
leaves an error; ours are those of `features`, and leave none.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.expansion import HeadPath
from transformer_circuits.analysis.later_work import credit, features
from transformer_circuits.analysis.later_work.features import POSITION, TOKEN, Maker
from transformer_circuits.model.transformer import Transformer


class Part(NamedTuple):
    """A part of the input of a query or key."""

    maker: Maker
    at: int
    """Position of the token that it is about; for `POSITION`, that position itself."""


@dataclass(frozen=True)
class Attribution:
    """The attention score of one destination and one source, by the makers of query and key."""

    of_query: tuple[Part, ...]
    of_key: tuple[Part, ...]
    terms: Float[Tensor, "query_part key_part"]
    """Terms whose sum is the score, 1/√d_head included."""

    def top(self, n: int) -> list[tuple[Part, Part, float]]:
        """Terms of the n largest sizes, whatever their sign: query's part, key's part, value."""
        order = self.terms.abs().flatten().topk(min(n, self.terms.numel())).indices.tolist()
        places = (divmod(index, len(self.of_key)) for index in order)
        return [(self.of_query[q], self.of_key[k], float(self.terms[q, k])) for q, k in places]


@torch.no_grad()
def _parts(
    model: Transformer, tokens: Int[Tensor, " pos"], layer: int, at: int
) -> tuple[tuple[Part, ...], Float[Tensor, "part d_model"]]:
    """Parts of the input of a query or key of this layer at one position, with their vectors."""
    model.require()
    x, W_P = model.embed(tokens[None])
    parts, vectors = [Part(TOKEN, at), Part(POSITION, at)], [x[0, at], W_P[at]]
    for earlier in heads.of_layer(model, 0) if layer else ():
        A = model.layers[0].pattern(x, x, W_P, head=earlier.head)[0, 0, at]
        moved = heads.W_OV(model, earlier)
        written = A[: at + 1, None] * ((x[0, : at + 1] @ moved.right.T) @ moved.left.T)
        parts += [Part(earlier, source) for source in range(at + 1)]
        vectors += [*written]
    return tuple(parts), torch.stack(vectors)


def of_score(
    model: Transformer, tokens: Int[Tensor, " pos"], head: heads.HeadName, dst: int, src: int
) -> Attribution:
    """Score of one head, split over all pairs of parts of query and key.

    The output of a first-layer head is one part for every token that it moved.
    """
    head = heads.one(model, head)
    if not 0 <= src <= dst < len(tokens):
        raise ValueError(f"no score from {dst} to {src} among {len(tokens)} tokens")
    W_QK = heads.W_QK(model, head)
    of_query, queries = _parts(model, tokens, head.layer, dst)
    of_key, keys = _parts(model, tokens, head.layer, src)
    terms = (queries @ W_QK.left) @ (keys @ W_QK.right.T).T / math.sqrt(model.config.d_head)
    return Attribution(of_query, of_key, terms)


@torch.no_grad()
def by_maker(
    model: Transformer, tokens: Int[Tensor, " pos"], head: heads.HeadName, dst: int
) -> Float[Tensor, "query_maker key_maker src"]:
    """Scores of one destination with all sources up to it, by the makers of query and key.

    Makers come in the order of `features.makers`. The softmax ignores any addition shared by all
    sources, so read a term as its excess over the mean of its row: that is why one source is
    preferred.
    """
    head = heads.one(model, head)
    layer, who = model.layers[head.layer], features.makers(model, head.layer)
    model.require()
    x, W_P = model.embed(tokens[None])
    parts = [x[0], W_P]
    if len(who) > 2:
        first = model.layers[0]
        parts += [*first.head_outputs(x, first.pattern(x, x, W_P))[0]]
    read = torch.stack(parts)[:, : dst + 1]  # [maker, src, d_model]
    queries, keys = read[:, dst] @ layer.W_Q[head.head].T, read @ layer.W_K[head.head].T
    return torch.einsum("qd,ksd->qks", queries, keys) / math.sqrt(model.config.d_head)


@torch.no_grad()
def loadings(
    model: Transformer, tokens: Int[Tensor, " pos"], dst: int, out: int
) -> dict[HeadPath, Float[Tensor, " src"]]:
    """Logit of token `out` after position `dst`, by the token it came from and the heads it took.

    With patterns held fixed; all loadings of all paths sum to the logit exactly. `()` is the direct
    path, which brings the present token alone. [logits]
    """
    model.require()
    x = model.embed(tokens[None])[0][0]
    by_values = credit.paths(model, tokens, dst, out, kinds="V")
    return {tuple(step.head for step in path): (g * x).sum(dim=-1) for path, g in by_values.items()}
