import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from conftest import SHAPE

from transformer_circuits import files
from transformer_circuits.analysis import expansion, layer_norm


@pytest.fixture
def normed(generator):
    """Layer norm, biases and positions, all of them random, in float64."""
    model = layer_norm.NormedTransformer(SHAPE, generator=generator).double().requires_grad_(False)
    model.disturb(generator=generator)
    return model


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


def test_folded_it_has_the_same_logits_and_its_paths_sum_to_them(normed, tokens):
    folded = layer_norm.fold(normed)
    torch.testing.assert_close(folded(tokens), normed(tokens))
    held = layer_norm.freeze(folded, tokens)
    paths = expansion.paths(held, tokens)
    torch.testing.assert_close(held.unembed(sum(paths.values())), normed(tokens))


def test_before_it_is_folded_it_says_how_to_fold_it(normed, tokens):
    """What analyses ask a model for; the types of their arguments are checked in tests alone."""
    for ask in (normed.trace, normed.embed, normed.require, normed.require_attention_only):
        with pytest.raises(files.UserError, match=r"layer_norm\.fold\(model\)"):
            ask(tokens)
