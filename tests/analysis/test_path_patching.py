import dataclasses

import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import path_patching, repeats
from transformer_circuits.analysis.composition import KINDS
from transformer_circuits.model import hand_built
from transformer_circuits.model.transformer import Transformer


@pytest.mark.parametrize("kind", "QKV")
def test_an_edge_that_carries_nothing_can_go(model, tokens, kind):
    model.layers[0].W_O[2].zero_()
    trace = model.trace(tokens)
    logits = path_patching.without_edge(model, trace, kind, (1, 1), (0, 2))
    torch.testing.assert_close(logits, trace.logits)
    assert (
        path_patching.without_edge(model, trace, kind, (1, 1), (0, 3)) - trace.logits
    ).abs().max() > 1e-3


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


@pytest.mark.parametrize(
    ("kind", "later", "earlier", "message"),
    [
        ("X", (1, 0), (0, 0), 'its kind is "X"'),
        ("K", (0, 0), (1, 0), "from layer 1 to layer 0"),
        ("K", (1, 0), (1, 1), "from layer 1 to layer 1"),
        ("K", (1, 5), (0, 0), r"head 1\.5 asked for"),
        ("K", (1, 0), (0, 5), r"head 0\.5 asked for"),
    ],
)
def test_what_is_no_edge_is_refused(model, tokens, kind, later, earlier, message):
    with pytest.raises(ValueError, match=message):
        path_patching.without_edge(model, model.trace(tokens), kind, later, earlier)


def test_edges_need_two_layers(tokens):
    for n_layers in (1, 3):
        other = Transformer(dataclasses.replace(SHAPE, n_layers=n_layers))
        with pytest.raises(ValueError, match=f"{n_layers} layers"):
            path_patching.loss_increase(other, tokens, tokens)


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


def test_edges_of_a_known_circuit():
    """The hand-built induction circuit needs its K edge, and neither of the others."""
    model = hand_built.induction(11, 21)
    tokens = torch.cat([torch.zeros(1, 1, dtype=torch.long), torch.randperm(10)[None] + 1], dim=1)
    tokens = torch.cat([tokens, tokens[:, 1:]], dim=1)
    targets = torch.cat([tokens[:, 1:], torch.full((1, 1), -100)], dim=1)
    targets[:, :11] = -100
    Q, K, V = path_patching.loss_increase(model, tokens, targets).flatten()
    assert float(K) > 0.1
    assert float(Q) == float(V) == 0


def test_effects_are_those_of_each_edge_by_path_patching(model, tokens):
    targets, places = tokens.roll(-1, dims=1), torch.tensor([2, 5])
    found = path_patching.effects(model, tokens, targets, places)
    trace = model.trace(tokens)
    assert found.loss.shape == found.change.shape == (2, 3, SHAPE.n_heads, SHAPE.n_heads)
    before = trace.logits[:, places].log_softmax(dim=-1)
    for k, kind in enumerate(KINDS):
        logits = path_patching.without_edge(model, trace, kind, (1, 3), (0, 1))
        less = before - logits[:, places].log_softmax(dim=-1)
        lost = less.gather(2, targets[:, places, None])[..., 0].mean(dim=1)
        torch.testing.assert_close(found.loss[:, k, 3, 1], lost)
        moved = (before.exp() * less).sum(dim=-1).mean(dim=1)
        torch.testing.assert_close(found.change[:, k, 3, 1], moved)


def test_an_edge_that_carries_nothing_has_no_effect(model, tokens):
    model.layers[0].W_O[2] = 0
    found = path_patching.effects(model, tokens, tokens, torch.arange(7))
    assert found.loss[..., 2].abs().max() < 1e-12
    assert found.change[..., 2].abs().max() < 1e-12
    assert found.change[..., 3].min() > 1e-9


def test_the_built_circuit_composes_by_its_keys_alone():
    tokens = torch.tensor([[0, 1, 2, 3, 1, 2, 3]])
    model = hand_built.induction(n_vocab=4, n_ctx=7)
    found = path_patching.effects(model, tokens, tokens.roll(-1, dims=1), torch.tensor([4, 5]))
    Q, K, V = found.change.flatten()
    assert K > 0.01
    assert Q == V == 0


def test_effects_need_two_layers(tokens):
    other = Transformer(dataclasses.replace(SHAPE, n_layers=3))
    with pytest.raises(ValueError, match="there are 3"):
        path_patching.effects(other, tokens, tokens, torch.arange(2))


def test_agreement_is_of_ranks():
    values = torch.tensor([0.0, 1.0, 2.0, 3.0])
    assert path_patching.agreement(values, values.exp()) == pytest.approx(1)
    assert path_patching.agreement(values, -values) == pytest.approx(-1)
    tied = path_patching.agreement(torch.tensor([0.0, 0, 1, 1]), torch.tensor([1.0, 1, 5, 5]))
    assert tied == pytest.approx(1)


def test_reliability_tells_what_is_measured_from_noise(generator):
    noise = torch.randn(40, 8, 8, generator=generator)
    signal = torch.randn(8, 8, generator=generator)
    assert abs(path_patching.reliability(noise)) < 0.4
    assert path_patching.reliability(noise + 3 * signal) > 0.9


def test_shuffled_heads_agree_no_more_than_by_chance(generator):
    values = torch.randn(8, 8, generator=generator)
    null = path_patching.shuffled(values, values, 100, generator=generator)
    assert abs(float(null.mean())) < 0.1
    assert float(null.quantile(0.95)) < 0.5


def test_scrubbing_spares_what_the_story_of_the_built_circuit_needs():
    model = hand_built.induction(n_vocab=9, n_ctx=17)
    passages = torch.stack([torch.arange(1, 9).roll(k) for k in (0, 2, 3, 5)])
    tokens = repeats.copies(passages)
    whole, story, none = path_patching.scrubbed_losses(
        model, tokens[:, :-1], tokens[:, 1:], [(1, 0)], (0, 0)
    ).mean(dim=(1, 2))
    assert story == pytest.approx(float(whole))
    assert none > whole


def test_scrubbing_is_none_where_the_story_holds_all_that_heads_read(model, generator):
    model.layers[0].W_O[2:].zero_()
    inputs, targets = torch.randint(SHAPE.n_vocab, (2, 4, 7), generator=generator)
    model.layers[1].W_K[1].zero_()  # its keys read nothing but positions
    whole, story, none = path_patching.scrubbed_losses(
        model, inputs, targets, [(1, 1)], (0, 0), as_token=[(0, 0), (0, 1)]
    )
    torch.testing.assert_close(story, whole)
    assert (none - whole).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("induction_heads", "previous", "n_partners"),
    [([(0, 0)], (0, 0), 1), ([(1, 0)], (1, 0), 1), ([(1, 0)], (0, 0), 2)],
)
def test_scrubbing_refuses_heads_elsewhere_and_too_few_windows(
    model, tokens, induction_heads, previous, n_partners
):
    with pytest.raises(ValueError, match=r"heads|too few"):
        path_patching.scrubbed_losses(
            model, tokens, tokens, induction_heads, previous, n_partners=n_partners
        )
