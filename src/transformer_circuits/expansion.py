"""The paths through a transformer whose attention patterns are held fixed (paper: "The Path
Expansion Trick")."""

from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.model import Transformer

Path = tuple[tuple[int, int], ...]
"""The heads a path goes through, (layer, head), earliest first. `()` is the direct path."""


def paths(
    model: Transformer, tokens: Int[Tensor, "batch pos"]
) -> dict[Path, Float[Tensor, "batch pos d_model"]]:
    """What every path adds to the last residual stream; multiply by W_U for its logits.

    One direct path, one per head, one per pair of heads in different layers, and so on: in all
    (1 + n_heads)^n_layers terms, whose sum is the residual stream exactly. Their sizes may not
    be read as importance: terms can cancel.

    Raises:
        ValueError: if the tokens are longer than n_ctx.
    """
    trace = model.trace(tokens)
    terms: dict[Path, Tensor] = {(): trace.residual[0]}
    for index, layer in enumerate(model.layers):
        for path, x in list(terms.items()):
            written = layer.head_outputs(x, trace.patterns[index])
            for head in range(model.config.n_heads):
                terms[(*path, (index, head))] = written[:, head]
    return terms
