"""How much is measured: every size of a sample, in one place, as an interval rests on it.

Windows are evenly spaced over held-out text, and have a model's whole context unless tokens are
given beside them. Whatever does not fit into a context is made as long as it can be.
"""

WINDOWS = 16
"""On which losses, patterns and the worth of paths are measured."""
WINDOWS_OF_BIGRAMS = 32
WINDOWS_OF_STREAMS = 8
WINDOWS_OF_LOOKS = 24
"""For the strongest look of a head at each place."""
WINDOWS_OF_HEADS, TOKENS_OF_HEADS = 32, 256
"""For patterns and outputs of the last layer."""
WINDOWS_OF_EDGES, TOKENS_OF_EDGES, PLACES_OF_EDGES = 24, 256, 6
"""Edges are measured at so many places of each window."""
WINDOWS_SCRUBBED, TOKENS_SCRUBBED = 24, 128
WINDOWS_OF_CONTEXT = 32
"""For what late tokens gain from their context."""
PASSAGES_OF_TEXT, TOKENS_OF_PASSAGES = 64, 128
"""Far apart, for copying and near-by attention."""
PASSAGES = 48
"""Passages that come twice, or chains, of which each is a unit of the interval."""
PASSAGES_OF_A_LENGTH = 12
"""The same, for each of several lengths."""
PASSAGES_CUT = 8
"""The same, where heads or edges are cut one by one."""
TOKENS_OF_CHAINS = 128
