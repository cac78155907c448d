"""The paper's analyses: facts of the weights, and behaviour of heads on text.

Imports `training`, `text` and `model`. Draws nothing: figures take the results. A head is one
argument, `(layer, head)`; generators are keywords, and last; float64 goes in and comes out.
"""
