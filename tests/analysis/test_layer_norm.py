import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from conftest import SHAPE

from transformer_circuits.analysis import layer_norm


@pytest.fixture
def normed(generator):
    """Layer norm, biases and positions, all of them random, in float64."""
    model = layer_norm.NormedTransformer(SHAPE, generator=generator).double().requires_grad_(False)
    model.disturb(generator=generator)
    return model


@pytest.fixture
def folded(normed):
    return layer_norm.fold(normed)


def test_the_first_weights_depend_on_the_generator_alone():
    one, two = (
        layer_norm.NormedTransformer(SHAPE, generator=torch.Generator().manual_seed(5))
        for _ in range(2)
    )
    for name, weight in one.named_parameters():
        assert torch.equal(weight, two.get_parameter(name))


def test_the_unfolded_model_is_what_pytorch_computes(normed, tokens):
    """One layer, head by head, with PyTorch's own layer norm and attention."""
    x = normed.W_E.T[tokens] + normed.W_P[:7]
    layer = normed.layers[0]
    read = F.layer_norm(x, (SHAPE.d_model,), layer.gain, layer.bias)
    total = layer.b_O
    for h in range(SHAPE.n_heads):
        q, k, v = (
            read @ getattr(layer, f"W_{n}")[h].T + getattr(layer, f"b_{n}")[h] for n in "QKV"
        )
        r = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        total = total + r @ layer.W_O[h].T
    torch.testing.assert_close(layer(x), total)


def test_folding_keeps_the_logits(normed, folded, tokens):
    torch.testing.assert_close(folded.run(tokens).logits, normed(tokens))


def test_nothing_is_folded_by_accident(normed, tokens):
    """Gains, biases and means all matter: without any of them the logits are others."""
    before = normed(tokens)
    for name, fill in (("gain", 1.0), ("bias", 0.0)):
        for part in (normed, normed.layers[0]):
            kept = getattr(part, name).clone()
            getattr(part, name).fill_(fill)
            assert (normed(tokens) - before).abs().max() > 1e-3
            getattr(part, name).copy_(kept)
    for name in ("b_Q", "b_V", "b_O"):
        kept = getattr(normed.layers[1], name).clone()
        getattr(normed.layers[1], name).zero_()
        assert (normed(tokens) - before).abs().max() > 1e-3
        getattr(normed.layers[1], name).copy_(kept)


def test_the_last_coordinate_of_the_stream_stays_one(folded, tokens):
    x = folded.embed(tokens)
    assert (x[..., -1] == 1).all()
    for layer in folded.layers:
        assert (layer.W_O[:, -1] == 0).all() and layer.constant[-1] == 0


def test_readers_do_not_see_the_mean(folded):
    """Adding the same number to every coordinate of the stream changes nothing that is read."""
    for layer in folded.layers:
        for weight in (layer.W_Q, layer.W_K, layer.W_V):
            assert weight[..., :-1].sum(dim=-1).abs().max() < 1e-12


def test_paths_with_scales_held_sum_to_the_logits(folded, tokens):
    run = folded.run(tokens)
    terms = folded.paths(tokens, run)
    n = SHAPE.n_heads
    assert len(terms) == (1 + n) + 1 + (2 + n) * n + 1
    torch.testing.assert_close(sum(terms.values()), run.logits)


def test_with_scales_and_patterns_held_the_model_is_linear(folded, tokens):
    """Twice the embedding gives twice the direct path, which the norm would not allow."""
    run = folded.run(tokens)
    x = folded.embed(tokens)
    a, b = layer_norm.scaled(x, run.scales[0]), layer_norm.scaled(2 * x, run.scales[0])
    torch.testing.assert_close(b, 2 * a)
    torch.testing.assert_close(layer_norm.scale(x)[..., 0], (x[..., :-1].var(-1, correction=0) + 1e-5) ** -0.5)  # fmt: skip
