"""Arrays and labels in, pictures out: SVG, tables and views, each with its text alternative.

What moves them lies in `scripts`. Of the rest of the package only
`files` is imported: no figure takes a model.
"""
