import torch
from conftest import SHAPE

from transformer_circuits.analysis import path_patching


def test_the_three_edges_cut_the_paths_they_name(model, tokens):
    """V leaves the pattern alone: the missing part is A² times what the earlier head wrote."""
    trace = model.trace(tokens)
    logits = path_patching.without_edge(model, trace, "V", (1, 1), (0, 2))
    layer = model.layers[1]
    moved = trace.patterns[1][:, 1] @ trace.head_outputs[0][:, 2]
    gone = moved @ layer.W_V[1].T @ layer.W_O[1].T @ model.W_U.T
    torch.testing.assert_close(logits, trace.logits - gone)


def test_cutting_all_first_layer_heads_from_a_key_leaves_the_token(model, tokens):
    """With one head in the first layer, K without it is the key of the embedding alone."""
    for other in (0, 1, 3, 4):
        model.layers[0].W_O[other].zero_()
    trace = model.trace(tokens)
    layer, W_P = model.layers[1], model.W_P[: tokens.shape[1]]
    q = (trace.residual[1] + W_P) @ layer.W_Q[1].T
    k = (trace.residual[0] + W_P) @ layer.W_K[1].T
    mask = torch.ones(7, 7, dtype=torch.bool).triu(1)
    A = (q @ k.mT / SHAPE.d_head**0.5).masked_fill(mask, -torch.inf).softmax(-1)
    written = A @ trace.residual[1] @ layer.W_V[1].T @ layer.W_O[1].T
    expected = trace.logits + (written - trace.head_outputs[1][:, 1]) @ model.W_U.T
    torch.testing.assert_close(
        path_patching.without_edge(model, trace, "K", (1, 1), (0, 2)), expected
    )


def test_the_costliest_edges_come_first():
    increases = torch.zeros(3, 4, 5)
    increases[1, 3, 2], increases[0, 0, 4] = 2.0, 3.0
    found = path_patching.top_edges(increases, 2)
    assert found == [("Q", (1, 0), (0, 4), 3.0), ("K", (1, 3), (0, 2), 2.0)]
    assert len(path_patching.top_edges(increases, 100)) == 60


def test_all_edges_are_each_edge(model, tokens):
    targets = tokens.roll(-1, dims=1)
    targets[:, -1] = -100
    found = path_patching.loss_increase(model, tokens, targets)
    assert found.shape == (3, SHAPE.n_heads, SHAPE.n_heads)
    logits = path_patching.without_edge(model, model.trace(tokens), "K", (1, 3), (0, 1))[:, :-1]
    losses = [
        torch.nn.functional.cross_entropy(some.flatten(0, 1), tokens[:, 1:].flatten())
        for some in (logits, model(tokens)[:, :-1])
    ]
    torch.testing.assert_close(found[1, 3, 1], losses[0] - losses[1])
