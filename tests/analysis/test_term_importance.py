import dataclasses

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from conftest import SHAPE

from transformer_circuits.analysis import expansion, present_token, term_importance
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model.transformer import Transformer


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


def test_steps_are_counted_by_where_heads_look(model, tokens):
    """By hand for two layers: each pattern is its diagonal, which stays, and the rest."""
    trace, W_P = model.trace(tokens), model.W_P[: tokens.shape[1]]
    one = torch.eye(tokens.shape[1]).double()
    direct, (first, second) = trace.residual[0], trace.patterns
    stays = direct + model.layers[0](direct, W_P, first * one)
    moved = model.layers[0](direct, W_P, first * (1 - one))
    none = stays + model.layers[1](stays, W_P, second * one)
    at_most_one = none + moved + model.layers[1](moved, W_P, second * one)
    at_most_one = at_most_one + model.layers[1](stays, W_P, second * (1 - one))
    found = term_importance.streams_by_steps(model, tokens)
    for stream, expected in zip(found, (none, at_most_one, trace.residual[-1]), strict=True):
        torch.testing.assert_close(stream, expected)


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


def test_heads_in_the_embedding_are_counted_as_that(model, tokens):
    """By hand: of one first-layer head the pattern is the identity, and its paths count one head less."""
    own, n_pos = Head(0, 1), tokens.shape[1]
    W_P, x = model.W_P[:n_pos], model.W_E.T[tokens]
    A = model.layers[0].pattern(x, x, W_P)
    A[:, own.head] = torch.eye(n_pos).double()
    first = model.layers[0].head_outputs(x, A)  # [batch, head, pos, d_model]
    direct = x + first[:, own.head]
    others = first.sum(dim=1) - first[:, own.head]
    B = model.layers[1].pattern(direct + others, direct + others, W_P)
    kept = term_importance.streams(model, tokens, embedding=[own])
    by_hand = [direct, direct + others + model.layers[1](direct, W_P, B)]
    by_hand.append(by_hand[1] + model.layers[1](others, W_P, B))
    for stream, expected in zip(kept.orders, by_hand, strict=True):
        torch.testing.assert_close(stream, expected)
    torch.testing.assert_close(kept.layers[0], direct + others)
    alone = term_importance.patterns_of_embeddings(model, tokens, [own])
    torch.testing.assert_close(alone[0], model.layers[0].pattern(x, x, W_P))
    torch.testing.assert_close(alone[1], model.layers[1].pattern(direct, direct, W_P))


def test_only_a_head_of_the_first_layer_can_be_in_the_embedding(model, tokens):
    with pytest.raises(ValueError, match=r"only heads of the first layer.*1\.2"):
        term_importance.streams(model, tokens, embedding=[Head(1, 2)])


def test_a_head_that_looks_at_the_present_token_is_found(model, tokens, generator):
    """Its queries and keys read three dimensions in which each position is most like itself."""
    assert present_token.heads(model, tokens) == ()
    layer, places = model.layers[0], torch.randn(SHAPE.n_ctx, 3, generator=generator).double()
    layer.W_Q[3] = layer.W_K[3] = 40 * torch.eye(SHAPE.d_head, SHAPE.d_model)
    model.W_E[:3] = 0
    model.W_P[:, :3] = F.normalize(places, dim=1)
    assert present_token.heads(model, tokens) == (Head(0, 3),)


@pytest.mark.parametrize("n_layers", [0, 1, 2, 3])
@pytest.mark.parametrize("frozen", [True, False])
def test_streams_at_some_places_are_the_streams_there(n_layers, frozen, tokens, generator):
    model = Transformer(dataclasses.replace(SHAPE, n_layers=n_layers)).double()
    model.randomise(generator=generator)
    places = torch.tensor([1, tokens.shape[1] - 1])
    whole, some = (term_importance.streams(model, tokens, frozen, places=p) for p in (None, places))
    pairs = [*zip(whole.orders + whole.layers, some.orders + some.layers, strict=True)]
    patterns = term_importance.patterns_of_embeddings(model, tokens)
    alone = term_importance.under_patterns_of_embeddings(model, tokens, places=places)
    for x, there in [*pairs, (model.stream(tokens, patterns=patterns), alone)]:
        torch.testing.assert_close(there, x[:, places])
