"""The paper's analyses: what can be read off the weights, and what heads do on text.

Imports `training`, `text` and `model`. Draws nothing: figures take what it returns. A head is one
argument, `(layer, head)`; generators are keywords, and last; float64 goes in and comes out.
"""
