"""Whether a claim about trained models holds: by a rule of `data/claims.toml`, never by hand.

`metrics/` measures, one module for each chapter; `subjects` is what is measured, and the controls on
which a rule must fail; `rules` is the one function that turns intervals into a verdict; `evaluate`
puts them together. A chapter calls `evaluate.decide("id")`.
"""
