"""Sphinx extensions and files for the browser: cross-references, scripts, slides, the stage.

Outside of the package, so that an installation for a chapter does not bring the printing press.
"""
