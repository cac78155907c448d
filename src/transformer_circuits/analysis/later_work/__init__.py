"""Later work since 2021, where our models can test it.

The framework in features, QK attributions, composition in few directions, credit by path, edges
that matter only together; heads over all of a text, Markov chains, copy suppression.
"""
