"""What Sphinx and the browser need: cross-references, scripts, slides, PDFs, the stage.

Outside of the package, so that who installs that for a chapter does not get the printing press.
"""
