"""Our models and scores against TransformerLens, 3 and 4, and in nnsight.

Run by `make test-peers`, which installs each version in an environment of its own.
"""

import dataclasses
from importlib.metadata import version

import pytest
import torch
from conftest import SHAPE

from tools import peers
from transformer_circuits.analysis import composition, heads, path_patching
from transformer_circuits.interop import foreign
from transformer_circuits.interop.transformer_lens import to_transformer_lens
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus, windows
from transformer_circuits.training import checkpoint

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
MODELS = ("zero-layer", "one-layer", "two-layer")


def doubled():
    """Whether the stream over there is twice as wide, and W_Q and W_K stand in it twice."""
    return int(version("transformer-lens").split(".")[0]) >= 4


@pytest.fixture(params=MODELS)
def trained(request):
    """A trained model, the same in TransformerLens, and three windows of held-out text."""
    model = checkpoint.load(request.param)
    text, _ = windows.evenly(corpus.tokens("small", "validation"), 3, model.config, n_ctx=128)
    return model, to_transformer_lens(model), text


def test_logits_and_patterns(trained):
    model, peer, text = trained
    trace = model.trace(text)
    logits, cache = peer.run_with_cache(text)
    torch.testing.assert_close(logits, trace.logits, atol=1e-4, rtol=0)
    for layer, A in enumerate(trace.patterns):
        torch.testing.assert_close(cache[f"blocks.{layer}.attn.hook_pattern"], A, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", MODELS[1:])
def test_eigenvalues_of_full_circuits(name):
    """FactoredMatrix has rows on the left, so its product is our circuit transposed."""
    from transformer_lens import FactoredMatrix

    model = checkpoint.load(name).double()
    peer = to_transformer_lens(model)
    for h in (0, 4, 7):
        A, B = peer.W_E @ peer.W_V[0, h], peer.W_O[0, h] @ peer.W_U
        theirs = FactoredMatrix(A, B).eigenvalues
        ours = heads.full_ov(model, (0, h)).eigenvalues()
        gap = (ours[:, None] - theirs).abs().min(dim=1).values.max()
        assert gap < 1e-6 * ours.abs().max()


@pytest.mark.parametrize("kind", composition.KINDS)
def test_composition_scores(kind):
    model = checkpoint.load("two-layer")
    theirs = to_transformer_lens(model).all_composition_scores(kind)
    theirs = getattr(theirs, "scores", theirs)[0, :, 1].T
    factor = 2**-0.5 if doubled() and kind != "V" else 1.0
    torch.testing.assert_close(
        factor * composition.scores(model, kind, basis="stored"), theirs, atol=1e-5, rtol=0
    )


@pytest.mark.hooked
def test_patched_edges():
    model = checkpoint.load("two-layer")
    text, right = windows.evenly(corpus.tokens("small", "validation"), 1, model.config, n_ctx=48)
    theirs = peers.loss_increase(peers.hooked(model), text, right)
    ours = path_patching.loss_increase(model, text, right)
    assert ours.abs().max() > 0.01
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


def test_random_models_too(generator):
    model = Transformer(dataclasses.replace(SHAPE, n_ctx=32)).requires_grad_(False)
    model.randomise(generator=generator)
    tokens = torch.randint(SHAPE.n_vocab, (2, 32), generator=generator)
    peer = to_transformer_lens(model)
    torch.testing.assert_close(peer(tokens), model(tokens), atol=1e-4, rtol=0)


def test_models_with_mlps_are_refused():
    with pytest.raises(ValueError, match=r"exact without MLPs only, but d_mlp is \d+"):
        to_transformer_lens(checkpoint.load("two-layer-mlp"))


@pytest.mark.hooked
def test_what_we_exported_comes_back_the_same(trained):
    model, peer, text = trained
    back = foreign.transformer(peer.state_dict(), peer.cfg.to_dict())
    assert torch.equal(back(text), model(text))


@pytest.mark.hooked
@pytest.mark.parametrize("norm", ["LN", "LNPre", None])
@pytest.mark.parametrize("d_mlp", [None, 40])
def test_checkpoints_with_layer_norm_biases_or_mlps(generator, norm, d_mlp):
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    shape = {"n_layers": 2, "d_model": 24, "n_ctx": 50, "d_head": 5, "n_heads": 3, "d_vocab": 31}
    config = HookedTransformerConfig(
        **shape, attn_only=not d_mlp, d_mlp=d_mlp, act_fn="gelu", seed=0, normalization_type=norm,
        positional_embedding_type="standard" if norm else "shortformer",
    )  # fmt: skip
    peer = HookedTransformer(config).requires_grad_(False)
    for weight in peer.parameters():
        weight.add_(0.2 * torch.randn(weight.shape, generator=generator))
    load = foreign.normed_transformer if norm else foreign.transformer
    if norm and d_mlp:
        with pytest.raises(ValueError, match="attn_only"):
            load(peer.state_dict(), peer.cfg.to_dict())
        return
    tokens = torch.randint(31, (2, 40), generator=generator)
    found = load(peer.state_dict(), peer.cfg.to_dict())(tokens)
    torch.testing.assert_close(found, peer(tokens), atol=1e-3, rtol=1e-3)


def test_nnsight_saves_and_edits_our_modules_as_they_are():
    from nnsight import NNsight

    model = checkpoint.load("two-layer")
    tokens = torch.arange(1, 9)[None]
    wrapped = NNsight(model)
    with wrapped.trace(tokens):
        saved = wrapped.output.save()
    torch.testing.assert_close(saved, model(tokens), atol=1e-5, rtol=0)
