"""Skip-trigrams: read from the weights, found in families and lists, counted in text; what is wrong
with them, and how far a one-layer model is the sum of them.
"""
