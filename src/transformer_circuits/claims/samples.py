"""Sizes of all samples, in one place, as every interval rests on them.

Windows are evenly spaced over held-out text, and have a model's whole context unless a number of
tokens is given. A window too long for the context is cut to it.
"""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

Sample = tuple[int, int | None]
"""Number of windows, and tokens of each; None for as many as a context has."""
MANY: Sample = (128, 256)
"""Windows wherever documents decide, but for `WHOLE`: with fewer, intervals straddle thresholds."""
EVERY = 4
"""Spacing of the targets in `MANY`, where predictions cost the most."""
PLACES = slice(EVERY - 1, None, EVERY)
"""Places of these targets: the last of every `EVERY`."""
WHOLE: Sample = (64, None)
"""Whole contexts, where the value depends on their length: as many tokens as `MANY` has."""
WINDOWS = 16
"""Whole contexts on which figures of losses and of the worth of paths are measured."""
SHORT: Sample = (128, 128)
"""Windows for streams, values and scrubbing."""
OF_CONTEXT: Sample = (128, None)
"""Windows for the gain of late tokens from their context."""
OF_EDGES: Sample = MANY
PLACES_OF_EDGES = 4
"""Places of each window at which edges are measured."""
OF_WORDS: Sample = (256, 64)
OF_PASSAGES: Sample = (64, 128)
"""Windows far apart, for copying and near-by attention."""
OF_EFFECTS: Sample = (8, 256)
"""Windows for the total that each head adds to the logits."""
PASSAGES = 48
"""Passages that come twice, or chains, each a unit of the interval."""
PASSAGES_OF_A_LENGTH = 12
"""Passages that come twice, for each of several lengths."""
PASSAGES_CUT = 8
"""Passages that come twice, where heads or edges are cut one by one."""
TOKENS_OF_CHAINS = 128


def by_group(
    values: Float[Tensor, "*unit"], group: Int[Tensor, "*unit"]
) -> Float[Tensor, " group"]:
    """Mean of each group, in the order of their numbers: units of one group are not independent.

    Values that are not a number are left out; a group without any other is not a number itself.
    """
    index = group.unique(return_inverse=True)[1]
    there = ~values.isnan()
    sums = values.new_zeros(int(index.max()) + 1).index_add_(0, index[there], values[there])
    return sums / index[there].bincount(minlength=len(sums))


def at_targets(values: Shaped[Tensor, "*rows"], dim: int = 1) -> Shaped[Tensor, "*fewer"]:
    """Values at the target `PLACES` along a dimension."""
    return values[(slice(None),) * dim + (PLACES,)]


def spread(values: Float[Tensor, "n target"], n_ctx: int) -> Float[Tensor, "n n_ctx"]:
    """Values at the target `PLACES`, among all places; the others are not a number."""
    everywhere = torch.full((len(values), n_ctx), torch.nan, dtype=values.dtype)
    everywhere[:, PLACES] = values
    return everywhere
