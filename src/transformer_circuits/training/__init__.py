"""How a model is trained, what its loss is, and trained models on disk.

Of the package it imports `text`, `model`, `settings` and `files`.
"""
