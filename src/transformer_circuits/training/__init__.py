"""How a model is trained, what its loss is, and trained models on disk.

Imports `text` and `model`.
"""
