"""What tests of several measurements share."""

import pytest
import torch

from transformer_circuits.claims import planted
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model import hand_built


@pytest.fixture(scope="session")
def built():
    """The induction circuit set by hand, on random tokens that come twice."""
    nothing = Subject("", hand_built.induction(n_vocab=2, n_ctx=3), torch.zeros(2).long())
    return planted.built_induction(nothing)
