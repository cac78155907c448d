import dataclasses

import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import composition, heads
from transformer_circuits.model.lowrank import LowRank
from transformer_circuits.model.transformer import Transformer


def close(left, right):
    torch.testing.assert_close(left, right, rtol=0, atol=1e-9)


@pytest.mark.parametrize("d_head", [4, 16])
def test_chance_is_one_over_the_root_of_d_model(generator, d_head):
    found = composition.null(100, d_head, 300, generator=generator)
    assert float(found.mean()) == pytest.approx(0.1, rel=0.05)


def test_another_basis_is_the_same_function_with_other_scores(model, tokens, generator):
    T = torch.randn(SHAPE.d_model, SHAPE.d_model, generator=generator, dtype=torch.float64)
    with_mlps = Transformer(dataclasses.replace(SHAPE, d_mlp=23)).double().requires_grad_(False)
    with_mlps.randomise(generator=generator)
    turned = composition.change_basis(with_mlps, T)
    torch.testing.assert_close(turned(tokens), with_mlps(tokens), rtol=1e-8, atol=1e-8)
    other = composition.change_basis(model, T)
    close(other(tokens), model(tokens))
    close(heads.full_ov(other, (1, 2)).dense(), heads.full_ov(model, (1, 2)).dense())
    close(heads.full_qk(other, (0, 2)).dense(), heads.full_qk(model, (0, 2)).dense())
    stored = composition.scores(model, "K", basis="stored")
    change = (composition.scores(other, "K", basis="stored") - stored).abs().max()
    assert float(change) > 0.05
    turned = composition.change_basis(model, torch.linalg.qr(T).Q)
    torch.testing.assert_close(composition.scores(turned, "K", basis="stored"), stored)


@pytest.mark.parametrize("kind", composition.KINDS)
def test_scores_in_a_basis_are_those_of_the_model_in_it(model, generator, kind):
    """Without a copy of the model, and as exact as the basis."""
    T = torch.randn(SHAPE.d_model, SHAPE.d_model, generator=generator, dtype=torch.float64)
    stored = composition.scores(composition.change_basis(model, T), kind, basis="stored")
    close(composition.scores(model, kind, basis=T), stored)
    layers = (1, 1)
    same = composition.apart(composition.scores(model, kind, *layers, basis=T), layers)
    close(composition.impossible(model, kind, basis=T)[layers], same)
    assert composition.scores(model.float(), kind, basis=T).dtype == torch.float64
    identity = torch.eye(SHAPE.d_model, dtype=torch.float64)
    of_identity = composition.scores(model, kind, basis=identity)
    close(of_identity, composition.scores(model.double(), kind, basis="stored"))


def test_rotations_keep_the_singular_values_of_a_pair(model, generator):
    """As rotations of the whole stream, drawn one by one, give them."""
    later, earlier = heads.W_QK(model, (1, 2)), heads.W_OV(model, (0, 3))
    turned = []
    for _ in range(300):
        shape = SHAPE.d_model, SHAPE.d_model
        Q = torch.linalg.qr(torch.randn(shape, generator=generator, dtype=torch.float64)).Q
        turned.append(composition.score(later, LowRank(Q @ earlier.left, earlier.right)))
    turned = torch.tensor(turned)
    found = composition.rotated(later, earlier, 300, generator=generator)
    assert float(found.mean()) == pytest.approx(float(turned.mean()), rel=0.05)
    assert float(found.std()) == pytest.approx(float(turned.std()), rel=0.2)


def test_the_stream_is_white_in_the_white_basis_and_no_logit_changes(model, generator):
    tokens = torch.randint(SHAPE.n_vocab, (8, SHAPE.n_ctx), generator=generator)
    model.W_E.mul_(torch.logspace(-1, 1, SHAPE.d_model, dtype=torch.float64)[:, None])
    white = composition.change_basis(model, composition.white_basis(model, tokens))
    x = white.trace(tokens).residual[1].flatten(0, 1)
    close(x.T @ x / len(x), torch.eye(SHAPE.d_model, dtype=torch.float64))
    torch.testing.assert_close(white(tokens), model(tokens), rtol=1e-7, atol=1e-7)


def test_shares_are_what_a_loop_over_places_finds_in_any_basis(model, tokens, generator):
    trace, later, earlier = model.trace(tokens), (1, 2), 3
    x, r = trace.residual[1].flatten(0, 1), trace.head_outputs[0][:, earlier].flatten(0, 1)
    W_U = model.W_U - model.W_U.mean(dim=0)
    found = composition.shares(model, tokens)
    for k, kind in enumerate(composition.KINDS):
        R = composition.reader(model, kind, later).dense()
        one, whole = (
            sum(((W_U @ R @ y).square() if kind == "V" else (x @ R @ y).square()).sum() for y in ys)
            for ys in (r, x)
        )
        close(found[k, 2, earlier], one / whole)
    T = torch.randn(SHAPE.d_model, SHAPE.d_model, generator=generator, dtype=torch.float64)
    close(composition.shares(composition.change_basis(model, T), tokens), found)
    assert found.dtype == torch.float64
