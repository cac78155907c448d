"""Cost of skip-trigram bugs (paper: "Skip-Trigram Bugs").

A head gives [a]…[b]→[c] the strength f₁(b, a) · f₂(c, a). Three tokens form three pairs; the pair
(b, c), the present token and its successor, is the one the product cannot see. So a head that
raises c for the sake of one destination raises it after every destination it attends from.

`veto` forbids the heads to raise a successor that never followed the present token in training
text, fully or in part, and measures the loss saved. It sees plain bugs only, and every raise that
was right counts against it.
"""

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_circuits.analysis.patterns import of_all_layers
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Pattern, Transformer
from transformer_circuits.text import windows
from transformer_circuits.text.tokenizer import BEGIN


def never_seen(counts: Float[Tensor, "out dst"], expected: float = 3.0) -> Bool[Tensor, "out dst"]:
    """Bigrams with a count of zero that independent tokens would have at least `expected` times.

    `counts`: how often `out` follows `dst` in a text (`bigrams.counts`). Independent tokens would have
    count(out) · count(dst) / total.
    """
    chance = counts.sum(dim=1, keepdim=True) * counts.sum(dim=0) / counts.sum()
    return (counts == 0) & (chance >= expected)


class Split(NamedTuple):
    """Logits in two parts that sum to them."""

    present: Float[Tensor, "batch pos out"]
    """From the present token: the direct path, and moves by heads from that token and from BEGIN."""
    earlier: Float[Tensor, "batch pos out"]
    """From the earlier tokens: moves by heads from all others, minus their mean over outputs, which
    is left with the first part.
    """


def from_earlier(
    inputs: Int[Tensor, "batch pos"], pattern: Pattern, places: slice = slice(None)
) -> Pattern:
    """Attention, from some places, to earlier tokens alone: none to the present one, nor to BEGIN."""
    itself = torch.eye(inputs.shape[1], dtype=torch.bool, device=inputs.device)[places]
    return pattern.masked_fill(itself | (inputs == BEGIN)[:, None, None], 0)


def split(model: Transformer, inputs: Int[Tensor, "batch pos"]) -> Split:
    """Logits of a one-layer model by their origin: the present token, or earlier ones."""
    model.require()
    if model.config.n_layers != 1:
        raise ValueError(f"the model has {model.config.n_layers} layers but must have 1")
    trace = model.trace(inputs)
    patterns = from_earlier(inputs, trace.patterns[0])
    moved = model.layers[0].head_outputs(trace.residual[0], patterns).sum(dim=1)
    earlier = F.linear(moved, model.W_U - model.W_U.mean(dim=0))
    return Split(trace.logits - earlier, earlier)


KEPT = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Part of the forbidden raises that is kept: 0 is a full veto, 1 the model as it is."""


@dataclass(frozen=True)
class Veto:
    """Effect of `veto` on a text: heads of a one-layer model may not raise bigrams that its training
    text never has."""

    losses: tuple[float, ...]
    """Loss for every part in KEPT. [nats per token]"""
    mass: float
    """Mean probability, over positions, of never-seen successors that the model's heads raise."""
    mass_vetoed: float
    """Mean probability of the same successors under a full veto, which takes these raises away."""
    frequency: float
    """Share of positions whose next token is one of them."""

    @property
    def cost(self) -> float:
        """Cost of a full veto; negative if it saves. [nats per token]"""
        return self.losses[0] - self.losses[-1]


@torch.no_grad()
def veto(
    model: Transformer,
    stream: Int[Tensor, " n_tokens"],
    never: Bool[Tensor, "out dst"],
    n_windows: int = 64,
) -> Veto:
    """Measure the plain bugs of a one-layer model on evenly spaced windows of a text."""
    pair = windows.evenly(stream, n_windows, model.config)
    pair, never = [part.to(model.W_E.device) for part in pair], never.to(model.W_E.device)
    losses = torch.zeros(len(KEPT), dtype=torch.float64)
    masses = torch.zeros(3, dtype=model.W_E.dtype)
    for inputs, targets in cross_entropy.batches(*pair, size=1):
        present, earlier = split(model, inputs)
        bugs = never.T[inputs] & (earlier > 0)
        raised = earlier.masked_fill(~bugs, 0)
        vetoed = present + earlier - raised
        for i, kept in enumerate(KEPT):
            losses[i] += float(cross_entropy.mean(vetoed + kept * raised, targets))
        on_bugs = [
            (logits.softmax(dim=-1) * bugs).sum(dim=-1).mean()
            for logits in (vetoed + raised, vetoed)
        ]
        in_fact = bugs.gather(-1, targets[..., None]).to(vetoed).mean()
        masses += torch.stack([*on_bugs, in_fact]).cpu()
    return Veto(tuple((losses / n_windows).tolist()), *(masses / n_windows).tolist())


def apart(
    counts: Float[Tensor, "out dst"], forms: Int[Tensor, "token form"], least: int = 5
) -> dict[tuple[int, int], tuple[Bool[Tensor, " dst"], Bool[Tensor, " dst"]]]:
    """Pairs of forms of a word that follow different tokens in a text: there heads that copy make bugs.

    For every ordered pair of forms (b, b′) of a word, such as with a space before it and without,
    two sets of destinations: those after which the text has b at least `least` times and b′ never,
    and the reverse. Pairs where one of the sets is empty are left out.
    """
    kept_apart = {}
    for row in forms.unique(dim=0).tolist():
        tokens = [token for token in row if token > 0]
        for first in tokens:
            for second in tokens:
                n_first, n_second = counts[first], counts[second]
                sets = (n_first >= least) & (n_second == 0), (n_second >= least) & (n_first == 0)
                if first != second and sets[0].any() and sets[1].any():
                    kept_apart[first, second] = sets
    return kept_apart


def raised_together(
    model: Transformer,
    inputs: Int[Tensor, "batch pos"],
    kept_apart: dict[tuple[int, int], tuple[Bool[Tensor, " dst"], Bool[Tensor, " dst"]]],
) -> Float[Tensor, "pair four"]:
    """Additions of a source, by all heads of one layer, to two right outputs and two bugs. [logits]

    The source is the form b, which must occur in the inputs. Right are b after its own destinations
    and b′ after those of b′; the bugs are b′ after those of b, and b after those of b′. Each is the
    mean over all places of the inputs where source and destination stand, whatever follows; not a
    number where there is none.
    """
    model.require()
    # [batch, src, head, dst], so that what one source is paid lies side by side
    by_source = of_all_layers(model, inputs)[0].permute(0, 3, 1, 2).contiguous()
    layer, W_U, rows = model.layers[0], model.W_U - model.W_U.mean(dim=0), []
    for src, pairs in itertools.groupby(kept_apart, key=lambda pair: pair[0]):
        there = inputs == src
        batches = there.any(dim=1).nonzero()[:, 0]
        paid = torch.stack([by_source[b][there[b]].sum(dim=0) for b in batches])
        seen = there[batches].cumsum(dim=1) > there[batches].int()  # before the destination
        dst = inputs[batches]
        written = torch.einsum("hmd,hd->hm", layer.W_O, layer.W_V @ model.W_E[:, src])
        for _, other in pairs:
            f2 = written @ W_U[[src, other]].T  # [head, two]
            added = torch.einsum("bhp,ho->bpo", paid, f2)
            of_src, of_other = (
                added[seen & destinations[dst]].mean(dim=0)
                for destinations in kept_apart[src, other]
            )
            rows.append(torch.stack([of_src[0], of_other[1], of_src[1], of_other[0]]))
    return torch.stack(rows) if rows else inputs.new_zeros(0, 4).to(W_U)
