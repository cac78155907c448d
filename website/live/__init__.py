"""The page that runs the models in the reader's browser: weights in eight bits, and its scripts."""
