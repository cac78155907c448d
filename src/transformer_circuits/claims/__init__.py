"""What is said of the models, when it counts, how it is measured, and what came out.

A claim about trained models stands in an `about_…` module, at the function that measures it, with its
controls, what is planted for it to find, and its sentence (`measurement.claim`), and a chapter says
`about_induction.best_matching.decide()`; all other claims are rows of `data/claims.toml`. `subjects`
is what is measured; `controls` has what several modules have a rule fail on, or find;
`rules` has the one function that turns intervals into a verdict; `scorecard` gathers what the
chapters found.
"""
