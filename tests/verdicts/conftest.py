"""A small subject: random weights, and a text of twenty documents."""

import pytest
import torch

from transformer_circuits.text import tokenizer
from transformer_circuits.verdicts.subjects import Subject


@pytest.fixture
def subject(model, generator):
    text = torch.randint(1, model.config.n_vocab, (400,), generator=generator)
    text[::20] = tokenizer.BEGIN
    return Subject("small", model, text)
