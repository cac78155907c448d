"""The mathematics: the transformer, its loss, products of thin matrices, weights set by hand.

Of the package it imports `text`, `settings` and `files` alone.
"""
