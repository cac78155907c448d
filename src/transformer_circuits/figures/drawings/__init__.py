"""Drawings of the ideas; words, colours and lines mean the same in all.

Most are SVG files in `chapters/drawings`, or pairs of them, which `load` fills in and shows. The others
are drawn here, from data as in the other figures: tokens, weights and values of paths, never a model.
`canvas` holds the shapes they share, `page` shows them. A drawing has a second layout, for wide columns,
where the one for phones does not serve there.
"""

from transformer_circuits.figures.drawings.page import load

__all__ = ["load"]
