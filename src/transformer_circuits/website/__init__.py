"""What Sphinx and the browser need: cross-references, scripts, slides, PDFs, the live page.

Imports `book`, `figures`, `training` and below; no analysis.
"""
