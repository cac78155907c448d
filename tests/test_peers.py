"""Our models and scores against TransformerLens, 3 and 4, and in nnsight.

Run by `make test-peers`, which installs each version in an environment of its own.
"""

from importlib.metadata import version

import peers
import pytest
import torch
from peers import to_transformer_lens

from transformer_circuits.analysis import composition, expansion, heads, layer_norm, path_patching
from transformer_circuits.interop import own_model
from transformer_circuits.text import corpus, windows
from transformer_circuits.training import checkpoint

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
MODELS = ("zero-layer", "one-layer", "two-layer")


def agree(state, config, logits_of, tokens):
    """Loaded, it gives the same logits, and its paths sum to them."""
    expected = logits_of(tokens).detach()
    model = own_model.load(state, config)
    size = expected.abs().max()
    assert (model(tokens) - expected).abs().max() < 1e-4 * size
    held = layer_norm.freeze(model, tokens)
    paths = expansion.paths(held, tokens).values()
    assert (held.unembed(sum(paths)) - expected).abs().max() < 1e-4 * size


@pytest.fixture(params=MODELS)
def trained(request):
    """A trained model, the same in TransformerLens, and three windows of held-out text."""
    model = checkpoint.load(request.param)
    text, _ = windows.evenly(corpus.tokens("small", "validation"), 3, model.config, n_ctx=128)
    return model, to_transformer_lens(model), text


@pytest.mark.hooked
def test_logits_and_patterns(trained):
    model, peer, text = trained
    trace = model.trace(text)
    logits, cache = peer.run_with_cache(text)
    torch.testing.assert_close(logits, trace.logits, atol=1e-4, rtol=0)
    for layer, A in enumerate(trace.patterns):
        torch.testing.assert_close(cache[f"blocks.{layer}.attn.hook_pattern"], A, atol=1e-4, rtol=0)


@pytest.mark.hooked
@pytest.mark.parametrize("name", MODELS[1:])
def test_eigenvalues_of_full_circuits(name):
    """FactoredMatrix has rows on the left, so its product is our circuit transposed."""
    from transformer_lens import FactoredMatrix

    model = checkpoint.load(name).double()
    peer = to_transformer_lens(model)
    for h in (0, 3, 5):
        A, B = peer.W_E @ peer.W_V[0, h], peer.W_O[0, h] @ peer.W_U
        theirs = FactoredMatrix(A, B).eigenvalues
        ours = heads.full_ov(model, (0, h)).eigenvalues()
        gap = (ours[:, None] - theirs).abs().min(dim=1).values.max()
        assert gap < 1e-6 * ours.abs().max()


@pytest.mark.hooked
@pytest.mark.parametrize("kind", composition.KINDS)
def test_composition_scores(kind):
    model = checkpoint.load("two-layer")
    theirs = to_transformer_lens(model).all_composition_scores(kind)
    theirs = getattr(theirs, "scores", theirs)[0, :, 1].T
    torch.testing.assert_close(
        composition.scores(model, kind, basis="stored"), theirs, atol=1e-5, rtol=0
    )


@pytest.mark.hooked
def test_patched_edges():
    model = checkpoint.load("two-layer")
    text, right = windows.evenly(corpus.tokens("small", "validation"), 1, model.config, n_ctx=48)
    theirs = peers.loss_increase(peers.hooked(model), text, right)
    ours = path_patching.loss_increase(model, text, right)
    assert ours.abs().max() > 0.01
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


@pytest.mark.hooked
def test_what_we_exported_comes_back_the_same(trained):
    model, peer, text = trained
    back = own_model.load(peer.state_dict(), peer.cfg.to_dict())
    assert torch.equal(back(text), model(text)) and type(back) is type(model)
    assert back.config.d_model == model.config.d_model


SMALL = {"n_layers": 2, "d_model": 32, "n_ctx": 50, "d_head": 8, "n_heads": 4, "d_vocab": 40}
THEIRS = {
    "shortformer": {"positional_embedding_type": "shortformer", "normalization_type": None},
    "stream": {"normalization_type": None},
    "LN": {"normalization_type": "LN"},
    "LNPre": {"normalization_type": "LNPre"},
    "RMS": {"normalization_type": "RMS"},
    "rotary": {"normalization_type": None, "positional_embedding_type": "rotary", "rotary_dim": 4},
    "LN, rotary": {"normalization_type": "LN", "positional_embedding_type": "rotary", "rotary_dim": 6},
    "grouped": {"normalization_type": "LN", "n_key_value_heads": 2},
    "outputs": {"normalization_type": None, "d_vocab_out": 7},
}  # fmt: skip


@torch.no_grad()
def stirred(peer, generator):
    """No gain is one and no bias zero; the larger matrices make patterns that are not flat."""
    for weight in peer.parameters():
        weight.add_(0.2 * torch.randn(weight.shape, generator=generator))
    return peer


def of_transformer_lens_3(form):
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    config = HookedTransformerConfig(**SMALL | {"attn_only": True} | THEIRS[form], seed=0)
    return HookedTransformer(config)


@pytest.mark.hooked
@pytest.mark.parametrize("form", THEIRS)
def test_checkpoints_of_transformer_lens_3(generator, form):
    peer = stirred(of_transformer_lens_3(form), generator)
    tokens = torch.randint(40, (2, 40), generator=generator)
    agree(peer.state_dict(), peer.cfg.to_dict(), peer, tokens)


FOUR = pytest.mark.parametrize(
    "form", ["stream", "LN", "RMS", "rotary", "LN, rotary", "grouped", "outputs"]
)


def of_transformer_lens_4(form):
    from transformer_lens.config import TransformerBridgeConfig
    from transformer_lens.model_bridge import TransformerBridge

    config = TransformerBridgeConfig(**SMALL | {"attn_only": True} | THEIRS[form])
    return TransformerBridge.boot_native(config)


@FOUR
def test_checkpoints_of_transformer_lens_4(generator, form):
    if int(version("transformer-lens").split(".")[0]) < 4:
        return
    peer = stirred(of_transformer_lens_4(form), generator)
    tokens = torch.randint(40, (2, 40), generator=generator)
    agree(peer.state_dict(), peer.cfg.to_dict(), peer, tokens)
    inside = {n: W for n, W in peer.original_model.state_dict().items()}
    agree(inside, peer.cfg.to_dict(), peer, tokens)


def test_nnsight_saves_and_edits_our_modules_as_they_are():
    from nnsight import NNsight

    model = checkpoint.load("two-layer")
    tokens = torch.arange(1, 9)[None]
    wrapped = NNsight(model)
    with wrapped.trace(tokens):
        saved = wrapped.output.save()
    torch.testing.assert_close(saved, model(tokens), atol=1e-5, rtol=0)
