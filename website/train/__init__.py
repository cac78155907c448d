"""The page on which a small model learns in the reader's browser: its scripts, and its style."""
