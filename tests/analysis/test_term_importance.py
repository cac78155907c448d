import dataclasses

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from conftest import SHAPE

from transformer_circuits.analysis import expansion, term_importance
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows

THREE = dataclasses.replace(SHAPE, n_ctx=3, begin=False)


@pytest.mark.parametrize("n_layers", [0, 1, 2, 3])
def test_the_runs_are_the_sums_of_paths_by_order(n_layers, tokens, generator):
    model = Transformer(dataclasses.replace(SHAPE, n_layers=n_layers)).double()
    model.randomise(generator=generator)
    kept, terms = term_importance.streams(model, tokens), expansion.paths(model, tokens)
    assert len(kept.orders) == n_layers + 1
    for order, stream in enumerate(kept.orders):
        expected = sum(term for path, term in terms.items() if len(path) <= order)
        torch.testing.assert_close(stream, expected)
    for layer, stream in enumerate(kept.layers):
        single = [t for path, t in terms.items() if path == () or [p[0] for p in path] == [layer]]
        torch.testing.assert_close(stream, sum(single))


def test_free_patterns_come_from_what_is_in_the_stream(model, tokens):
    """Order 1: both layers read the embeddings alone, patterns included."""
    free, frozen = (
        term_importance.streams(model, tokens, False),
        term_importance.streams(model, tokens),
    )
    x, W_P = model.W_E.T[tokens], model.W_P[: tokens.shape[1]]
    torch.testing.assert_close(free.orders[0], x)
    torch.testing.assert_close(free.orders[1], x + sum(layer(x, W_P) for layer in model.layers))
    torch.testing.assert_close(free.orders[2], frozen.orders[2])
    assert (free.orders[1] - frozen.orders[1]).abs().max() > 1e-3


def test_patterns_of_embeddings_leave_values_and_paths(model, tokens):
    own = model.trace(tokens).patterns
    alone = term_importance.patterns_of_embeddings(model, tokens)
    torch.testing.assert_close(alone[0], own[0])
    x, W_P = model.W_E.T[tokens], model.W_P[: tokens.shape[1]]
    torch.testing.assert_close(alone[1], model.layers[1].pattern(x, x, W_P))
    assert (alone[1] - own[1]).abs().max() > 1e-3


def test_losses_are_of_the_streams(model, generator):
    tokens = torch.randint(SHAPE.n_vocab, (11, 8), generator=generator)
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    losses = term_importance.losses(model, inputs, targets)
    assert list(losses) == ["order 0", "order 1", "order 2", "layer 0", "layer 1"]
    whole = F.cross_entropy(model(inputs).mT, targets, reduction="none")
    torch.testing.assert_close(losses["order 2"], whole)
    alone = term_importance.streams(model, inputs).layers[1] @ model.W_U.T
    expected = F.cross_entropy(alone.mT, targets, reduction="none")
    torch.testing.assert_close(losses["layer 1"], expected)


def test_mlps_are_refused(tokens):
    model = Transformer(dataclasses.replace(SHAPE, d_mlp=4))
    with pytest.raises(ValueError, match="without MLPs only, but d_mlp is 4"):
        term_importance.streams(model, tokens)


def test_each_target_knows_its_document():
    stream = torch.tensor([0, 5, 6, 0, 7, 0, 8, 9, 9, 9])
    assert term_importance.documents(stream, 2, THREE).tolist() == [[1, 1, 2], [3, 3, 3]]
    targets = windows.evenly(stream, 2, THREE)[1]
    assert targets.tolist() == [[5, 6, 0], [9, 9, 9]]


@pytest.mark.parametrize("begin", [True, False])
def test_documents_belong_to_the_targets_of_the_same_windows(begin):
    stream = torch.tensor([0, 5, 6, 7]).repeat(9)
    five = dataclasses.replace(SHAPE, n_ctx=5, begin=begin)
    expected = windows.evenly((stream == 0).cumsum(0), 4, five)[1]
    assert torch.equal(term_importance.documents(stream, 4, five), expected)


def test_there_may_be_more_documents_than_tokens_can_be_told_apart():
    stream = torch.tensor([0, 5]).repeat(70_000)
    assert int(term_importance.documents(stream, 2, THREE)[-1, -1]) == 70_000


def test_the_bootstrap_draws_whole_documents(generator):
    """Two documents of 1 and 3 tokens: means are those of the four possible draws."""
    values = torch.tensor([[4.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    drawn = term_importance.bootstrap(values, torch.tensor([3, 8, 8, 8]), 4000, generator=generator)
    assert drawn.shape == (4000, 2)
    possible, counts = drawn[:, 0].unique(return_counts=True)
    torch.testing.assert_close(possible, torch.tensor([0.0, 1.0, 4.0]))
    torch.testing.assert_close(counts / 4000, torch.tensor([0.25, 0.5, 0.25]), atol=0.03, rtol=0)
    torch.testing.assert_close(drawn[:, 1], torch.ones(4000))


def test_the_interval_covers_the_mean_of_many_alike(generator):
    """With one token per document the spread is the standard error."""
    values = torch.randn(1, 900, generator=generator)
    drawn = term_importance.bootstrap(values, torch.arange(900), 3000, generator=generator)
    assert abs(float(drawn.std()) - 1 / 30) < 0.003
    assert abs(float(drawn.mean() - values.mean())) < 0.004


def test_one_document_has_no_spread(generator):
    with pytest.raises(ValueError, match="draws among documents but there is 1"):
        term_importance.bootstrap(
            torch.ones(1, 3), torch.zeros(3, dtype=torch.long), 9, generator=generator
        )
