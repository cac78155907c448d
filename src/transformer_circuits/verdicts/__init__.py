"""Whether a claim about trained models holds: by a rule of `data/claims.toml`, never by hand.

`metrics/` measures, one module for each chapter; `subjects` is what is measured;
`controls`, `planted` and `placebos` are what a rule must fail on, or must find; `rules` is the one function that turns intervals into a verdict; `evaluate`
puts them together. A chapter calls `evaluate.decide("id")`.
"""
