"""Numbers for figures, as Python, NumPy or torch have them.

Callers pass their results as they are, on any device and with or without a gradient.
"""

from collections.abc import Sequence
from typing import Any, SupportsFloat

import numpy as np

Number = SupportsFloat
"""Number of Python, or in a 0-dim NumPy array or torch tensor."""
Numbers = Any
"""Many numbers: a list (of 0-dim tensors, if you like), a NumPy array or a torch tensor."""


def array(values: Numbers, dtype: type = float) -> np.ndarray:
    """NumPy array of `float` or `complex`, in the shape of the values."""
    if hasattr(values, "detach"):  # a tensor
        values = values.detach().cpu()
    elif isinstance(values, Sequence) and not isinstance(values, str):
        values = [array(value, dtype) for value in values]  # it may hold tensors
    return np.asarray(values, dtype=dtype)


def number(value: Number) -> float:
    """Number as a Python float."""
    return array(value).item()


NOTHING = 1e-9
"""Size below which a number comes from rounding, and is shown as zero."""


def percent(share: Number) -> str:
    """Text of a share of one, in per cent.

    >>> percent(0.876), percent(0.004), percent(0)
    ('88\xa0%', '<\xa01\xa0%', '0\xa0%')
    """
    share = number(share)
    return "<\u00a01\u00a0%" if 0 < share < 0.005 else f"{100 * share:.0f}\u00a0%"


def written(value: Number, form: str) -> str:
    """Text of a number in a form of `format` (".2f", "+.2f", ".3g"), with a minus, and no hyphen.

    No zero has a sign.

    >>> written(-0.5, ".2f"), written(-1e-21, ".3g"), written(-0.0004, "+.3f")
    ('−0.50', '0', '+0.000')
    """
    value, sign = number(value), form[: form[:1] == "+"]
    shown = format(0.0 if abs(value) < NOTHING else value, f"{sign}z{form.removeprefix(sign)}")
    return shown.replace("-", "\u2212")
