"""Copying by a one-layer model's heads, and their attention with every source weighed by itself
(paper: "One-Layer Models", and the objection that a softmax makes sources compete).
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.model.transformer import Transformer, causal_scores
from transformer_circuits.text.tokenizer import BEGIN


def forms(texts: Sequence[str]) -> Int[Tensor, "token form"]:
    """Tokens that are the same word but for capitals and space, for every token; -1 to fill up.

    >>> forms(["", " Two", "two", "2"])
    tensor([[ 0, -1],
            [ 1,  2],
            [ 1,  2],
            [ 3, -1]])
    """
    groups: dict[str | int, list[int]] = {}
    keys = [text.strip().casefold() or token for token, text in enumerate(texts)]
    for token, key in enumerate(keys):
        groups.setdefault(key, []).append(token)
    rows = [groups[key] for key in keys]
    most = max(map(len, rows))
    return torch.tensor([row + [-1] * (most - len(row)) for row in rows])


def copying(
    model: Transformer,
    inputs: Int[Tensor, "batch src"],
    pattern: Float[Tensor, "batch head dst src"],
    forms: Int[Tensor, "token form"],
    outs: Float[Tensor, "head n_vocab d_head"],
) -> Float[Tensor, "batch dst n_vocab"]:
    """Logits that first-layer heads add to the very tokens that they look at, or to their other forms.

    `pattern`: of the places that are asked for. `outs`: W_U W_O of every head, W_U less its mean, so
    that each OV entry counts minus its column's mean.
    """
    model.require()
    added = pattern.new_zeros(len(inputs), pattern.shape[2], model.config.n_vocab)
    x = model.W_E.T[inputs]  # [batch, src, d_model]
    written = [x @ heads.W_OV(model, head).right.T for head in heads.of_layer(model, 0)]
    for k in range(forms.shape[1]):
        out = forms[inputs, k]  # [batch, src]
        index = out.clamp(min=0)
        entries = torch.stack(
            [(w * W_out[index]).sum(dim=-1) for w, W_out in zip(written, outs, strict=True)], dim=1
        ).masked_fill((out < 0)[:, None], 0)  # [batch, head, src]
        paid = (pattern * entries[:, :, None]).sum(dim=1)  # [batch, dst, src]
        added.scatter_add_(2, index[:, None].expand_as(paid), paid)
    return added


def each_by_itself(
    model: Transformer,
    inputs: Int[Tensor, "batch pos"],
    share: Float[Tensor, " n_vocab"],
    keys: Float[Tensor, "head d_head n_vocab"],
    places: slice = slice(None),
) -> Float[Tensor, "batch head place src"]:
    """Attention of first-layer heads if sources did not compete with each other, from some places.

    The softmax divides a source's weight by the sum of the weights of all sources that happen to be
    there. Here it is divided by their sum if every other source were average text: at each place,
    the mean over tokens by their `share` of it; `keys`: W_K W_E, of all tokens. So a destination's attention to a source depends on
    these two tokens and their places alone, as a skip-trigram's strength does. It need not sum to
    one; each head is scaled so that at these places the two sums agree in geometric mean.

    In that sum the present token and BEGIN keep their own scores. The mean over tokens stands for
    every other source, the one that is weighed included.
    """
    model.require()
    layer, config = model.layers[0], model.config
    x, W_P = model.embed(inputs)
    n_pos, rows = inputs.shape[1], []
    asked = torch.arange(n_pos, device=x.device)[places]
    q = layer.queries(x[:, asked], W_P[asked])
    scores = causal_scores(q, layer.keys(x, W_P), asked)
    q = q / math.sqrt(config.d_head)  # [batch, head, dst, d_head]
    future = torch.ones(n_pos, n_pos, dtype=torch.bool).triu(1)[places]
    log_share = share.log()
    for h in range(config.n_heads):
        # One window at a time: the scores of a batch would not fit into the processor's cache.
        of_token = torch.stack(
            [torch.addmm(log_share, queries, keys[h]).logsumexp(dim=-1) for queries in q[:, h]]
        )
        of_place = q[:, h] @ (W_P @ layer.W_K[h].T).T  # [batch, dst, src]
        average = (of_place + of_token[..., None]).masked_fill(future, -math.inf)
        of_head = scores[:, h]
        known = torch.eye(n_pos, dtype=torch.bool)[places] | (inputs == BEGIN)[:, None]
        total = torch.where(known, of_head, average).logsumexp(dim=-1)  # [batch, dst]
        scale = (of_head.logsumexp(dim=-1) - total).mean()
        rows.append((of_head - (total + scale)[..., None]).exp())
    return torch.stack(rows, dim=1)
