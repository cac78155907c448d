"""What the models read: text from pinned packages, cleaned, cut into tokens and windows.

Imports nothing of the house but `files` and `settings`.
"""
