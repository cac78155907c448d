"""Text for the models: from pinned packages, cleaned, cut into tokens and windows.

Of the package it imports `files` alone.
"""
