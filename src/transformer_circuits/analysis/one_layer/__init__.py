"""Skip-trigrams: read from the weights, found in families and lists, counted in text; their bugs,
and a one-layer model as their sum.
"""
