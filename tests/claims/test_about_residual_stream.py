"""The rule of few dimensions counts dimensions: all of them if spread evenly, few if few are used."""

import copy
import dataclasses

import pytest
import torch

from transformer_circuits.claims import about_residual_stream


def test_few_dimensions_are_told_from_many(subject):
    d, model = subject.model.config.d_model, copy.deepcopy(subject.model)
    spread = torch.cat([torch.eye(d), -torch.eye(d)]).double()  # [n_vocab, d_model]
    model.W_E.data, model.W_U.data = spread.T.clone(), spread.clone()
    even = dataclasses.replace(subject, model=model)
    whole = float(about_residual_stream.dimensions_used(even))
    assert whole == pytest.approx(1, abs=1 / d)
    model.W_E.data[2:] = 0
    assert float(about_residual_stream.dimensions_used(even)) == whole  # W_U needs more
    model.W_U.data[:, 3:] = 0
    assert float(about_residual_stream.dimensions_used(even)) == pytest.approx(3 / (0.9 * d))
