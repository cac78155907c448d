"""What others have added to the paper since 2021, where our models can test it.

The framework in features, why a head looks where it looks, composition in few directions, credit by
path, edges that matter only together; heads over all of a text, Markov chains, copy suppression.
"""
