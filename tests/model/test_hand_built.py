import pytest
import torch

from transformer_circuits.analysis import (
    composition,
    expansion,
    heads,
    induction,
    path_patching,
    patterns,
)
from transformer_circuits.model import hand_built

N_VOCAB, N_CTX = 23, 41


@pytest.fixture
def built():
    return hand_built.induction(N_VOCAB, N_CTX)


@pytest.fixture
def copies(generator):
    """BEGIN and two copies of twenty different tokens, each sequence in another order."""
    order = [torch.randperm(N_VOCAB - 1, generator=generator)[:20] + 1 for _ in range(3)]
    passage = torch.stack(order)
    return torch.cat([torch.zeros(3, 1, dtype=torch.long), passage, passage], dim=1)


def test_every_detector_knows_its_heads(built, copies):
    first, second = built.trace(copies).patterns
    assert float(patterns.by_distance(first, 3)[0, 1]) == pytest.approx(1, abs=1e-6)
    assert float(induction.prefix_matching_score(second, copies)[0]) == pytest.approx(1, abs=1e-6)
    # And the other way round they are silent.
    assert float(patterns.by_distance(second, 3)[0, 1]) < 0.2
    assert float(induction.prefix_matching_score(first, copies)[0]) < 0.01


def test_it_composes_by_k_and_by_nothing_else(built):
    found = {
        kind: float(composition.scores(built, kind, basis="stored")) for kind in composition.KINDS
    }
    assert found["Q"] == found["V"] == 0
    assert found["K"] == pytest.approx(N_VOCAB**-0.5)  # all that is written is read, and no more
    assert found["K"] > 2 * built.config.d_model**-0.5


def test_the_k_edge_is_the_one_it_needs(built, copies):
    trace = built.trace(copies)
    cut = {
        kind: path_patching.without_edge(built, trace, kind, (1, 0), (0, 0)).argmax(dim=-1)
        for kind in "QKV"
    }
    right = {k: (guess[:, 21:-1] == copies[:, 22:]).double().mean() for k, guess in cut.items()}
    assert right["Q"] == right["V"] == 1 and right["K"] < 0.2


def test_two_previous_token_heads_are_a_virtual_head_that_looks_two_back(copies):
    model = hand_built.two_back(N_VOCAB, N_CTX)
    assert torch.equal(model(copies)[:, 2:].argmax(dim=-1), copies[:, :-2])
    first, second = (A[:, 0] for A in model.trace(copies).patterns)
    virtual = second @ first
    assert float(virtual.diagonal(-2, dim1=1, dim2=2).min()) == pytest.approx(1, abs=1e-6)
    found = {
        kind: float(composition.scores(model, kind, basis="stored")) for kind in composition.KINDS
    }
    assert found["V"] == pytest.approx(N_VOCAB**-0.5) and found["Q"] == found["K"] == 0
    wrong_order = composition.score(heads.W_OV(model, (0, 0)), heads.W_OV(model, (1, 0)))
    assert wrong_order == 0
    # All of the prediction is in the term of both heads; and it is no induction head.
    terms = expansion.paths(model, copies)
    logits = {path: float((x @ model.W_U.T).abs().max()) for path, x in terms.items()}
    assert [path for path, size in logits.items() if size > 1e-9] == [((0, 0), (1, 0))]
    second_pattern = model.trace(copies).patterns[1]
    assert float(induction.prefix_matching_score(second_pattern, copies)[0]) < 0.2


def test_the_pointer_does_induction_by_q_composition(copies):
    model = hand_built.pointer(N_VOCAB, N_CTX)
    tokens = hand_built.placed(copies, N_VOCAB)
    guessed = model(tokens).argmax(dim=-1) % N_VOCAB
    assert torch.equal(guessed[:, 21:-1], copies[:, 22:])
    second = model.trace(tokens).patterns[1]
    late = induction.followers(copies)[:, 21:-1]
    assert float((second[:, 0, 21:-1] * late).sum(dim=-1).min()) == pytest.approx(1, abs=1e-6)
    found = {
        kind: float(composition.scores(model, kind, basis="stored")) for kind in composition.KINDS
    }
    assert found["Q"] > 0.1 and found["K"] == found["V"] == 0
    logits = path_patching.without_edge(model, model.trace(tokens), "Q", (1, 0), (0, 0))
    cut = logits.argmax(dim=-1) % N_VOCAB
    assert float((cut[:, 21:-1] == copies[:, 22:]).double().mean()) < 0.2
