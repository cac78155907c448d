"""How much is measured: every size of a sample, in one place, as an interval rests on it.

Windows are evenly spaced over held-out text, and have a model's whole context unless tokens are
given beside them. Whatever does not fit into a context is made as long as it can be.
"""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

Sample = tuple[int, int | None]
"""How many windows, and their tokens; as many as a context has, if not given."""
MANY: Sample = (128, 256)
"""Wherever documents decide, but for `WHOLE`: of fewer, whole intervals lie across a threshold for
want of text."""
EVERY = 4
"""Where predictions cost the most, every so many-th place of `MANY` is a target."""
PLACES = slice(EVERY - 1, None, EVERY)
"""These places: the last of each so many."""
WHOLE: Sample = (64, None)
"""Whole contexts, where what is measured depends on their length: as many tokens as `MANY` has."""
WINDOWS = 16
"""Whole contexts on which figures of losses and of the worth of paths are measured."""
SHORT: Sample = (128, 128)
"""For streams, values and scrubbing."""
OF_CONTEXT: Sample = (128, None)
"""For what late tokens gain from their context."""
OF_EDGES: Sample = MANY
PLACES_OF_EDGES = 4
"""Edges are measured at so many places of each window."""
OF_WORDS: Sample = (256, 64)
OF_PASSAGES: Sample = (64, 128)
"""Far apart, for copying and near-by attention."""
OF_EFFECTS: Sample = (8, 256)
"""For what each head adds to the logits at all."""
PASSAGES = 48
"""Passages that come twice, or chains, of which each is a unit of the interval."""
PASSAGES_OF_A_LENGTH = 12
"""The same, for each of several lengths."""
PASSAGES_CUT = 8
"""The same, where heads or edges are cut one by one."""
TOKENS_OF_CHAINS = 128


def by_group(
    values: Float[Tensor, "*unit"], group: Int[Tensor, "*unit"]
) -> Float[Tensor, " group"]:
    """The mean of each group, in the order of their numbers: units of one group are not independent.

    Values that are not a number are left out; a group without any other is not a number itself.
    """
    index = group.unique(return_inverse=True)[1]
    there = ~values.isnan()
    sums = values.new_zeros(int(index.max()) + 1).index_add_(0, index[there], values[there])
    return sums / index[there].bincount(minlength=len(sums))


def at_targets(values: Shaped[Tensor, "*rows"], dim: int = 1) -> Shaped[Tensor, "*fewer"]:
    """Every so many-th place along a dimension: those that are targets."""
    return values[(slice(None),) * dim + (PLACES,)]


def spread(values: Float[Tensor, "n target"], n_ctx: int) -> Float[Tensor, "n n_ctx"]:
    """What was measured at such places, among all places; the others are not a number."""
    everywhere = torch.full((len(values), n_ctx), torch.nan, dtype=values.dtype)
    everywhere[:, PLACES] = values
    return everywhere
