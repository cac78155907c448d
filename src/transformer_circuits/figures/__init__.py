"""Figures from arrays and labels: SVG, tables and views, each with its text alternative.

The scripts that move them lie in `scripts`. Each leaves a `record` of its numbers. Of the rest of
the package only `record` and `files` are imported: no figure takes a model.
"""
