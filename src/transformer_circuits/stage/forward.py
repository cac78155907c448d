"""One forward pass with heads off and edges between heads cut: what every reading rests on.

`website/live/model.js` is the same pass for the browser: whoever changes one changes the other.
"""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import ablation
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
    has a pattern: where it would look. Cuts are `path_patching.patched` with zero, here with the
    patterns that come of them.
    """
    model = ablation.without(model, off)
    x, W_P = model.embed(tokens)
    patterns, outputs, residual = [], [], [x]
    for index, layer in enumerate(model.layers):
        attention, written = [], []
        for head in range(layer.n_heads):
            read = {"Q": x, "K": x, "V": x}
            for kind, later, (from_layer, from_head) in cuts:
                if later == (index, head):
                    read[kind] = read[kind] - outputs[from_layer][:, from_head]
            A = layer.pattern(read["Q"], read["K"], W_P, head=head)[:, 0]  # batch dst src
            r = A @ layer.values(read["V"], head)[:, 0]  # batch dst d_head
            attention.append(A)
            written.append(r @ layer.W_O[head].T)
        patterns.append(torch.stack(attention, dim=1))
        outputs.append(torch.stack(written, dim=1))
        x = x + outputs[-1].sum(dim=1)
        residual.append(x)
    W_U = model.W_U
    return Trace(tuple(patterns), tuple(outputs), tuple(residual), (), model, W_U, W_U._version)


def writers(
    trace: Trace, ids: Int[Tensor, " pos"], at: int, token: int
) -> Float[Tensor, " writer"]:
    """What the token at a place and then every head add to the logit of `token` there, less the mean
    of all logits. [logits]

    Together they are that logit (paper: "direct" paths through W_U).
    """
    direction = trace.W_U[token] - trace.W_U.mean(dim=0)
    outputs = [of_layer[0, :, at] for of_layer in trace.head_outputs]
    return torch.cat([trace.residual[0][0, at][None], *outputs]) @ direction
