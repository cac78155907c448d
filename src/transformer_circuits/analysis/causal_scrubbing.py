"""Causal scrubbing: the loss of a model that may use no more than a story allows (Redwood Research
2022), here the plain story of induction heads.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer


@torch.no_grad()
def losses(
    model: Transformer,
    inputs: Int[Tensor, "batch pos"],
    targets: Int[Tensor, "batch pos"],
    induction_heads: Sequence[heads.HeadName],
    previous: heads.HeadName,
    as_token: Sequence[heads.HeadName] = (),
    n_partners: int = 3,
) -> Float[Tensor, "three batch pos"]:
    """Losses under causal scrubbing of the plain story of induction heads. [nats per token]

    Three: of the intact model; with heads of the second layer limited to the story; and with their
    output resampled. The story: queries and values read the embedding, keys read the output of the
    head `previous`. All else in their input comes from the same position of another window of the
    batch. The last two are means over `n_partners` other windows. `as_token`: heads of the first
    layer that count with the embedding, since they look at the present token alone.
    """
    heads.require_two_layers(model)
    finders, early = (
        [heads.one(model, head) for head in some]
        for some in (induction_heads, (previous, *as_token))
    )
    layers = {head.layer for head in finders}, {head.layer for head in early}
    if layers != ({1}, {0}) or n_partners >= len(inputs):
        raise ValueError(
            f"heads {[*induction_heads]} of layer 1 must stand behind {previous} and "
            f"{[*as_token]} of layer 0, in more than {n_partners} windows, not {len(inputs)}"
        )
    trace, layer = model.trace(inputs), model.layers[1]
    token, full = trace.residual[:2]
    token = token + sum(trace.head_outputs[0][:, head] for _, head in early[1:])
    before = trace.head_outputs[0][:, early[0].head]
    W_P = model.W_P[: inputs.shape[1]]
    logits, right = trace.logits.flatten(0, 1), targets.flatten()
    unembed = torch.cat([model.W_U @ layer.W_O[head] for _, head in finders], dim=1)
    intact = cross_entropy.per_token(trace.logits, targets)
    scrubbed, resampled = torch.zeros_like(intact), torch.zeros_like(intact)
    for partner in range(1, n_partners + 1):
        other_full, other_token, other_before = (
            part.roll(partner * len(inputs) // (n_partners + 1), dims=0)
            for part in (full, token, before)
        )
        from_token = token + other_full - other_token
        from_before = before + other_full - other_before
        story, none = [], []  # changes of the heads' results
        for _, head in finders:
            moved = trace.patterns[1][:, head] @ layer.values(full, head)[:, 0]
            A = layer.pattern(from_token, from_before, W_P, head=head)[:, 0]
            story.append(A @ layer.values(from_token, head)[:, 0] - moved)
            none.append(moved.roll(partner * len(inputs) // (n_partners + 1), dims=0) - moved)
        for sums, change in ((scrubbed, story), (resampled, none)):
            change = torch.cat(change, dim=2).flatten(0, 1)
            losses = cross_entropy.changed(logits, change, unembed, right)
            sums += losses.view_as(sums) / n_partners
    return torch.stack([intact, scrubbed, resampled])
