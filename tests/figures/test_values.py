import numpy as np
import pytest
import torch

from transformer_circuits.figures.values import array

NESTED = [[1.0, 2.0], [3.0, 4.5]]


@pytest.mark.parametrize(
    "values",
    [
        NESTED,
        (range(1, 3), [3, 4.5]),
        np.array(NESTED, dtype=np.float32),
        torch.tensor(NESTED),
        torch.tensor(NESTED, dtype=torch.bfloat16).double(),
        torch.tensor(NESTED, requires_grad=True),
        [torch.tensor([1, 2]), [torch.tensor(3), torch.tensor(4.5, requires_grad=True)]],
    ],
)
def test_numbers_are_taken_from_wherever_they_are(values):
    made = array(values)
    assert made.dtype == float and made.tolist() == NESTED


def test_complex_numbers_are_taken_if_asked_for():
    made = array([torch.tensor(1 + 2j), -1], complex)
    assert made.dtype == complex and made.tolist() == [1 + 2j, -1]
    with pytest.raises(TypeError):
        array([1 + 2j])
