"""What is said of the models, when it counts, how it is measured, and what came out.

`registry` reads the words and thresholds of `data/claims.toml`. A claim about trained models is
decided in an `about_…` module, by a function that `measurement.decides` binds to the claim with its
controls, and a chapter says `about_induction.best_matching.decide()`. `subjects` is what is
measured; `controls`, `placebos` and `planted` are what a rule must fail on, or must find; `rules` is
the one function that turns intervals into a verdict; `scorecard` gathers what the chapters found.
"""
