"""Drawings of the ideas; words, colours and lines mean the same in all.

A drawing whose lines take no data is a pair of SVG files in `svg`, which `load` shows. The others are
drawn here, from data as in the other figures: tokens, weights and values of paths, never a model.
`canvas` holds the few things they are drawn with, `page` how they are shown. Every drawing is laid out twice,
for a wide column and for a phone.
"""

from transformer_circuits.figures.drawings.page import load

__all__ = ["load"]
