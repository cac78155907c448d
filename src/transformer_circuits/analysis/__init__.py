"""The paper: what can be read off the weights, and what heads do on text.

Imports `training`, `text` and `model`. Draws nothing: figures take what it returns.
"""
