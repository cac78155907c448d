"""Training of models, and trained models on disk.

Of the package it imports `text`, `model`, `settings` and `files`.
"""
