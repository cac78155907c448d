"""A trace with heads off and edges between heads cut: what every reading rests on.

`website/live/model.js` is the same pass for the browser: whoever changes one changes the other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import ablation
from transformer_circuits.analysis.composition import KINDS
from transformer_circuits.analysis.path_patching import EdgeName
from transformer_circuits.model.trace import Trace
from transformer_circuits.model.transformer import Transformer


@torch.no_grad()
def trace(
    model: Transformer,
    tokens: Int[Tensor, "batch pos"],
    off: Iterable[tuple[int, int]] = (),
    cuts: Sequence[EdgeName] = (),
) -> Trace:
    """The trace of a pass in which heads in `off` write nothing, and edges in `cuts` carry nothing.

    With one of its readings (its queries, keys or values) the later head of an edge reads the stream
    less what the earlier head wrote in this very pass; its other readings, and all other heads, read
    it as it is. So to cut what a head in `off` wrote changes nothing, and a head that is off still
    has a pattern: where it would look. Cuts are `path_patching.patched` with zero: only heads that read
    otherwise are computed anew, here with their patterns.
    """
    model = ablation.without(model, off)
    whole = model.trace(tokens)
    if not cuts:
        return whole
    x, first = whole.residual[1], whole.head_outputs[0]
    A, second = whole.patterns[1].clone(), whole.head_outputs[1].clone()
    layer, W_P = model.layers[1], model.W_P[: tokens.shape[1]]
    for head in {head for _, (_, head), _ in cuts}:
        read = dict.fromkeys(KINDS, x)
        for kind, later, (_, earlier) in cuts:
            if later == (1, head):
                read[kind] = read[kind] - first[:, earlier]
        A[:, head] = layer.pattern(read["Q"], read["K"], W_P, head=head)[:, 0]
        r = A[:, head] @ layer.values(read["V"], head)[:, 0]  # batch dst d_head
        second[:, head] = r @ layer.W_O[head].T
    residual = (*whole.residual[:2], x + second.sum(dim=1))
    patterns, outputs = (whole.patterns[0], A), (first, second)
    return replace(whole, patterns=patterns, head_outputs=outputs, residual=residual)


def writers(
    trace: Trace, ids: Int[Tensor, " pos"], at: int, token: int
) -> Float[Tensor, " writer"]:
    """Logits that the token at a place and then every head add to `token` there, less the mean over all.
    [logits]

    Together they are that logit (paper: "direct" paths through W_U).
    """
    direction = trace.W_U[token] - trace.W_U.mean(dim=0)
    outputs = [of_layer[0, :, at] for of_layer in trace.head_outputs]
    return torch.cat([trace.residual[0][0, at][None], *outputs]) @ direction
