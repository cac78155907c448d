"""Models of others as models of the book, and ours as theirs: TransformerLens, hubs, your own model.

Of the package it imports `analysis.layer_norm`, `training`, `model`, `settings` and `files`.
"""
