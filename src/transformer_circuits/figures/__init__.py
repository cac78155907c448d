"""Arrays and labels in, pictures out: SVG, tables and views, each with its text alternative.

What moves them lies in `scripts`. Each leaves a `record` of its numbers. Of the rest of the package
only that and `files` are imported: no figure takes a model.
"""
