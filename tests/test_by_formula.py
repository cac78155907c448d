"""The paper's formulas once more, in plain NumPy, written from the formulas alone.

Nothing here uses the package but to hand over weights and to compare: heads are loops, layers are
loops, every matrix is dense.
"""

import numpy as np
import pytest

from transformer_circuits.analysis import composition, expansion
from transformer_circuits.text import corpus, windows
from transformer_circuits.training import checkpoint


def weights(model):
    """[(W_Q, W_K, W_V, W_O) per head] per layer, W_E, W_U and W_P, as arrays."""
    layers = [
        [
            tuple(getattr(layer, f"W_{name}")[h].detach().double().numpy() for name in "QKVO")
            for h in range(model.config.n_heads)
        ]
        for layer in model.layers
    ]
    others = (w.detach().double().numpy() for w in (model.W_E, model.W_U, model.W_P))
    return layers, *others


def pattern(x, W_P, W_Q, W_K):
    """A = softmax((x + p)ᵀ W_Qᵀ W_K (x + p) / √d_head), no source later than its destination."""
    A = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        q = W_Q @ (x[i] + W_P[i])
        scores = np.array([q @ (W_K @ (x[j] + W_P[j])) for j in range(i + 1)])
        powers = np.exp((scores - scores.max()) / np.sqrt(len(q)))
        A[i, : i + 1] = powers / powers.sum()
    return A


def forward(tokens, layers, W_E, W_U, W_P):
    """Logits, the patterns of every layer, and the stream before every layer."""
    x, patterns, streams = W_E[:, tokens].T, [], []
    for layer in layers:
        streams.append(x)
        patterns.append([pattern(x, W_P, W_Q, W_K) for W_Q, W_K, _, _ in layer])
        x = x + sum(
            A @ x @ (W_O @ W_V).T for A, (_, _, W_V, W_O) in zip(patterns[-1], layer, strict=True)
        )
    return x @ W_U.T, patterns, streams


@pytest.fixture(params=["random", "trained"])
def case(request, model, tokens):
    """A model in float64 and one context for it."""
    if request.param == "random":
        return model, tokens[:1]
    trained = checkpoint.load("two-layer").double()
    text, _ = windows.evenly(corpus.tokens("small", "validation"), 1, trained.config, n_ctx=20)
    return trained, text


def test_the_forward_pass(case):
    model, tokens = case
    logits, patterns, streams = forward(tokens[0].numpy(), *weights(model))
    trace = model.trace(tokens)
    assert np.abs(logits - trace.logits[0].numpy()).max() < 1e-5
    for layer, ours in enumerate(patterns):
        assert np.abs(np.array(ours) - trace.patterns[layer][0].numpy()).max() < 1e-7
        assert np.abs(streams[layer] - trace.residual[layer][0].numpy()).max() < 1e-5


def test_every_path_of_the_logits(case):
    """Id ⊗ W_U W_E, A^h ⊗ W_U W_OV W_E, A^h₂ A^h₁ ⊗ W_U W_OV₂ W_OV₁ W_E."""
    model, tokens = case
    layers, W_E, W_U, W_P = weights(model)
    _, patterns, _ = forward(tokens[0].numpy(), layers, W_E, W_U, W_P)
    x, paths = W_E[:, tokens[0].numpy()].T, expansion.paths(model, tokens)
    n = model.config.n_heads
    W_OV = [[W_O @ W_V for _, _, W_V, W_O in layer] for layer in layers]
    expected = {(): x}
    for layer in (0, 1):
        for h in range(n):
            expected[((layer, h),)] = patterns[layer][h] @ x @ W_OV[layer][h].T
    for i in range(n):
        for j in range(n):
            A = patterns[1][j] @ patterns[0][i]
            expected[((0, i), (1, j))] = A @ x @ (W_OV[1][j] @ W_OV[0][i]).T
    assert set(paths) == set(expected)
    worst = max(np.abs(paths[p][0].numpy() - term).max() for p, term in expected.items())
    assert worst < 1e-6


def test_every_term_of_a_score(case):
    """x^T W_QK x with each of the two x a sum over the embedding and what the heads wrote."""
    model, tokens = case
    layers, W_E, W_U, W_P = weights(model)
    _, patterns, streams = forward(tokens[0].numpy(), layers, W_E, W_U, W_P)
    x = streams[0]
    parts = {None: x + W_P[: len(x)]}
    for h, (_, _, W_V, W_O) in enumerate(layers[0]):
        parts[0, h] = patterns[0][h] @ x @ (W_O @ W_V).T
    W_Q, W_K, _, _ = layers[1][2]
    for (query, key), term in expansion.score_terms(model, tokens, (1, 2)).items():
        by_formula = parts[query] @ W_Q.T @ W_K @ parts[key].T / np.sqrt(len(W_Q))
        assert np.abs(np.tril(by_formula - term[0].numpy())).max() < 1e-6


@pytest.mark.parametrize("kind", composition.KINDS)
def test_composition_scores(case, kind):
    """‖XY‖ / (‖X‖ ‖Y‖) with Y = W_OV of the earlier head, X = W_QKᵀ, W_QK or W_OV of the later."""
    model, _ = case
    layers, *_ = weights(model)
    n = model.config.n_heads
    by_formula = np.zeros((n, n))
    for j, (W_Q, W_K, W_V, W_O) in enumerate(layers[1]):
        W_QK = W_Q.T @ W_K
        X = {"Q": W_QK.T, "K": W_QK, "V": W_O @ W_V}[kind]
        for i, (_, _, W_V_1, W_O_1) in enumerate(layers[0]):
            Y = W_O_1 @ W_V_1
            by_formula[j, i] = np.linalg.norm(X @ Y) / (np.linalg.norm(X) * np.linalg.norm(Y))
    assert np.abs(by_formula - composition.scores(model, kind, basis="stored").numpy()).max() < 1e-7
