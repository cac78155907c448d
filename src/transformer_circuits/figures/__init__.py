"""Arrays and labels in, pictures out: SVG, tables and views, each with its text alternative.

A script lies beside the Python module that writes its data. Of the rest of the package only
`files` is imported: no figure takes a model.
"""
