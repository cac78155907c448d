"""Copy suppression: whether a head lowers what the rest of the model is about to repeat (after
McDougall et al. 2023)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text.tokenizer import BEGIN


@dataclass(frozen=True)
class Effects:
    """What each head adds by itself to the logit of the token that the rest predicts."""

    effect: Float[Tensor, "head batch pos"]
    """[logits] Against the mean over the tokens of the context up to there: below 0, the head
    lowers what is predicted more than what is merely there."""
    repeats: Bool[Tensor, "head batch pos"]
    """Whether what is predicted stands in the context. The places where it does not are the null: a
    head that lowers whatever is predicted, or whatever is common, does so there, too."""

    def of_repeats(self) -> Float[Tensor, " head"]:
        """Mean `effect` where a repeat is predicted, less where none is. [logits]

        Below 0: the head lowers repeats. Where every prediction is a repeat, nothing is taken off;
        not a number where none is.
        """
        where, elsewhere = (
            self.effect.masked_fill(~kept, torch.nan).flatten(1).nanmean(dim=1)
            for kept in (self.repeats, ~self.repeats)
        )
        return where - elsewhere.nan_to_num()


@torch.no_grad()
def effects(
    model: Transformer, inputs: Int[Tensor, "batch pos"], of: Sequence[tuple[int, int]]
) -> Effects:
    """The direct effect of some heads on what the model predicts without that effect.

    Direct: what the head writes, read by W_U, and nothing that later heads make of it. At BEGIN
    nothing has been read yet; there the effect is not a number.

    Raises:
        ValueError: if there is no such head, no head is given, or the model has MLPs.
    """
    model.require_attention_only()
    if not len(of):
        raise ValueError("no head is given but at least one is needed")
    for head in of:
        heads.layer_of(model, head)
    trace = model.trace(inputs)
    token = inputs != BEGIN
    n_before = token.cumsum(dim=1).clamp(min=1)
    W_U_of = model.W_U[inputs]  # [batch, src, d_model]: of the tokens of the context
    rows = []
    for layer, head in of:
        written = trace.head_outputs[layer][:, head]  # [batch, pos, d_model]
        added = written @ model.W_U.T  # [batch, pos, n_vocab]
        predicted = (trace.logits - added).argmax(dim=2)
        own = added.gather(2, predicted[..., None])[..., 0]
        to_context = (written @ W_U_of.mT * token[:, None]).tril().sum(dim=2) / n_before
        effect = (own - to_context).masked_fill(~token, torch.nan)
        there = (predicted[:, :, None] == inputs[:, None, :]) & token[:, None]
        rows.append((effect, there.tril().any(dim=2)))
    found, repeats = (torch.stack(parts) for parts in zip(*rows, strict=True))
    return Effects(found, repeats)
