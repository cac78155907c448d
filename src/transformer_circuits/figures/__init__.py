"""Arrays and labels in, pictures out: SVG, tables and views, each with its text alternative.

A script lies beside the Python that writes its data. Imports nothing of the house but `files`:
no figure takes a model.
"""
