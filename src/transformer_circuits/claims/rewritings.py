"""Rewritings of one function of tokens, which a rule must not tell apart.

Each gives another model with the same logits on any tokens. A verdict is about the function, so a
rule names, at its measurement, the rewritings that may move it (`Measurement.moved_by`); all others
must not, which is tested on a trained model (`tests/claims/rewritten.py`).
"""

BASIS = "another basis of the stream"
INSIDE = "another matrix inside each head"
SPLIT = "each head split in two"
EMBEDDED = "a head that looks at the present token written into the embedding"
"""The last is for models with such a head."""
EVERY = (BASIS, INSIDE, SPLIT, EMBEDDED)
