"""Models of others as models of the book.

Of the package it imports `training`, `model`, `settings` and `files`.
"""
