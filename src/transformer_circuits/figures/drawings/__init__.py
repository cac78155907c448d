"""Drawings of the ideas, as SVG that we write ourselves; words, colours and lines mean the same in all.

Data in, as in the other figures: tokens, weights and values of paths, never a model. `canvas`
holds the few things they are drawn with, `page` how they are shown. Every drawing is laid out twice,
for a wide column and for a phone.
"""
