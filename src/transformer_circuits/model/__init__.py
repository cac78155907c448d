"""The mathematics: the transformer, products of thin matrices, weights set by hand.

Of the package it imports `settings` and `files` alone.
"""
