"""The stage: one line of text, what a model does with it, and sentences that can fail.

`two_layers.without("0.2").read("…")` is the line of code below the stage of every page, and the same
call here gives the same numbers and the same picture. It stands beside `claims`: what is said of one
line stands here, what is said of a model there.
"""

from transformer_circuits.stage.marks import likely, looks
from transformer_circuits.stage.paragraphs import stage, step
from transformer_circuits.stage.reading import Model, Reading, one_layer, two_layers, zero_layers

__all__ = [
    "Model",
    "Reading",
    "likely",
    "looks",
    "one_layer",
    "stage",
    "step",
    "two_layers",
    "zero_layers",
]
