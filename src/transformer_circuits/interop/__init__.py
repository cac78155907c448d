"""Models of others as models of the book, and ours as theirs: TransformerLens, hubs, your own model.

Of the package it imports `training`, `model`, `settings` and `files`.
"""
