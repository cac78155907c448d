"""Claims: statements about the models, rules that decide them, measurements, verdicts.

A claim about trained models stands in an `about_…` module, at the function that measures it, with
its controls, its plant (an effect built in for the rule to find) and its sentence
(`measurement.claim`); a chapter calls `about_induction.best_matching.decide()`. All other claims
are rows of `data/claims.toml`. `subjects` are the models that are measured; `controls` are shared
by several modules; `rules` turns intervals into a verdict; `scorecard` gathers the results of the
chapters.
"""
