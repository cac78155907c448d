"""Interactive views for pointer, keyboard and touch.

As in `plots`: arrays and labels, never a model. Each view is an HTML output that holds its data
and works in the built book and in a notebook, without a network; where scripts do not run it is a
picture or a table. Its script, and `views.js` that all share, lie in
`figures/scripts`.
"""

from transformer_circuits.figures.views.circuits import head_circuits
from transformer_circuits.figures.views.text import attention, tokens
from transformer_circuits.figures.views.view import MOST_BYTES, View

__all__ = ["MOST_BYTES", "View", "attention", "head_circuits", "tokens"]
