import torch
from conftest import SHAPE

from transformer_circuits.analysis.later_work import credit
from transformer_circuits.model import hand_built


def logit(model, x, dst, out):
    """A logit as a function of the first residual stream."""
    x, W_P = x[None], model.W_P[: len(x)]
    for layer in model.layers:
        x = x + layer(x, W_P, layer.pattern(x, x, W_P))
    return model.W_U[out] @ x[0, dst]


def test_all_paths_are_the_derivative(model, tokens):
    found = credit.paths(model, tokens[0], dst=5, out=3)
    assert len(found) == (1 + 3 * SHAPE.n_heads) ** 2
    x = model.W_E.T[tokens[0]].clone().requires_grad_()
    logit(model, x, 5, 3).backward()
    torch.testing.assert_close(sum(found.values()), x.grad, rtol=0, atol=1e-10)


def test_credit_of_an_edge_is_what_the_derivative_says_of_it(model, tokens):
    """The derivative by the size of one head's output as one edge reads it."""
    places = torch.tensor([2, 5])
    found, _ = credit.of_edges(model, tokens[:1], places)
    trace = model.trace(tokens[:1])
    layer, full, W_P = model.layers[1], trace.residual[1], model.W_P[: tokens.shape[1]]
    logits = trace.logits[0, places]
    asks = model.W_U[logits.argmax(dim=-1)] - logits.softmax(dim=-1) @ model.W_U
    for k, kind in enumerate("QKV"):
        size = torch.ones((), dtype=full.dtype, requires_grad=True)
        read = dict.fromkeys("QKV", full)
        read[kind] = full + (size - 1) * trace.head_outputs[0][:, 4]
        A = layer.pattern(read["Q"], read["K"], W_P, head=2)[:, 0]
        written = A @ (read["V"] @ layer.W_V[2].T) @ layer.W_O[2].T
        each = (written[0, places] * asks).sum(dim=-1)
        slopes = [torch.autograd.grad(one, size, retain_graph=True)[0] for one in each]
        torch.testing.assert_close(found[0, k, 2, 4], torch.stack(slopes).abs().mean())


def test_the_built_circuit_gets_its_credit_by_keys():
    tokens = torch.tensor([[0, 1, 2, 3, 1, 2, 3]])
    model = hand_built.induction(n_vocab=4, n_ctx=7, sharpness=4.0)
    for found in credit.of_edges(model, tokens, torch.tensor([4, 5])):
        Q, K, V = found.flatten()
        assert K > 0
        assert Q == V == 0


def test_where_attention_is_settled_the_derivative_sees_nothing_and_proportion_does():
    tokens, places = torch.tensor([[0, 1, 2, 3, 1, 2, 3]]), torch.tensor([4, 5])
    soft, sharp = (hand_built.induction(n_vocab=4, n_ctx=7, sharpness=s) for s in (4.0, 40.0))
    by_derivative, in_proportion = zip(
        *([float(of[0, 1]) for of in credit.of_edges(m, tokens, places)] for m in (soft, sharp)),
        strict=True,
    )
    assert by_derivative[1] < 1e-6 * by_derivative[0]
    assert in_proportion[1] > 0.5 * in_proportion[0]


def test_what_is_divided_is_never_more_than_was_there_unless_terms_cancel():
    values = torch.tensor([[1.0, 2.0, 1.0], [1.0, -1.0, 0.0], [-3.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    found = credit._divided(values, dim=1)
    torch.testing.assert_close(found[0], values[0] / 4)
    torch.testing.assert_close(found[1], values[1] / (credit.LEAST * 2))
    torch.testing.assert_close(found[2], values[2] / -4)
    assert found[3].abs().max() == 0
