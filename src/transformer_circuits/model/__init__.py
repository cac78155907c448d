"""The mathematics: the transformer, products of thin matrices, weights set by hand.

Imports nothing of the house but `files` and `settings`.
"""
