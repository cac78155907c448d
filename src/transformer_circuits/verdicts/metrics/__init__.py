"""What the rules of `data/claims.toml` measure, one module for each chapter.

A metric takes a `Subject` and returns one value for each independent unit that it was measured on (a
document, a passage, a window), from which the interval follows; a single value, if it is a fact of
the weights alone. Rules name it as `module.function`.
"""
