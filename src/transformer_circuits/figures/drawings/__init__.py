"""Drawings of the ideas; words, colours and lines mean the same in all.

A drawing whose lines take no data is an SVG file in `chapters/drawings`, or a pair of them, which
`load` shows. The others are drawn here, from data as in the other figures: tokens, weights and
values of paths, never a model. `canvas` holds the shapes they share, `page` shows them. A drawing
has a second layout, for wide columns, where the one for phones does not serve there.
"""

from transformer_circuits.figures.drawings.page import load

__all__ = ["load"]
