import itertools

import numpy as np
import pytest
import torch

from transformer_circuits.analysis.one_layer import skip_trigrams
from transformer_circuits.analysis.one_layer.skip_trigrams import Factors, SkipTrigram
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text.tokenizer import BEGIN

N = 13
PLANTED = [SkipTrigram(3, 5, 7), SkipTrigram(4, 6, 8)]


@pytest.fixture
def random_model(generator):
    """One head whose every token has a dimension of its own."""
    model = Transformer(ModelConfig(1, 1, N + 1, N, N, 9, 100.0)).requires_grad_(False)
    model.randomise(generator=generator)
    model.W_E.copy_(torch.eye(N + 1, N))
    model.W_U.copy_(torch.eye(N, N + 1))
    return model


@pytest.fixture
def wired_model(random_model):
    """Head 0.0 attends from each planted destination to its source, and writes its output."""
    layer = random_model.layers[0]
    for weight in layer.parameters():
        weight.zero_()
    for channel, (src, dst, out) in enumerate(PLANTED):
        layer.W_Q[0, channel, dst] = 5.0
        layer.W_K[0, channel, src] = 5.0
        layer.W_V[0, channel, src] = 1.0
        layer.W_O[0, out, channel] = 4.0
    return random_model


def random_factors(generator):
    f1 = torch.rand(N, N, generator=generator)
    return Factors(f1, torch.randn(N, N, generator=generator))


def every_strength(factors):
    """The full array [src, dst, out] that the module never builds."""
    return torch.einsum("ds,os->sdo", factors.attention, factors.logits)


def test_planted_skip_trigrams_are_found(wired_model):
    factors = skip_trigrams.factors(wired_model, (0, 0))
    assert [skip_trigrams.rank(factors, planted) for planted in PLANTED] == [2, 2]  # a tie
    assert set(skip_trigrams.strongest_sources(factors, 2, torch.ones(N))) == {3, 4}
    dst, out = skip_trigrams.strongest_of_source(factors, 3, 1, torch.ones(N))
    assert (dst, out) == ([5], [7])


def test_attention_is_that_of_the_model_in_the_shortest_context(random_model):
    random_model.W_P.zero_()
    pattern = random_model.trace(torch.tensor([[BEGIN, 4, 9]])).patterns[0][0, 0]
    factors = skip_trigrams.factors(random_model, (0, 0))
    torch.testing.assert_close(factors.attention[9, 4], pattern[2, 1])


def test_rank_agrees_with_looking_at_every_triple(generator):
    factors = random_factors(generator)
    strengths = every_strength(factors)
    raised = [SkipTrigram(*t) for t in itertools.product(range(N), repeat=3) if strengths[t] > 0]
    for triple in raised[::37]:
        assert skip_trigrams.rank(factors, triple) == (strengths >= strengths[triple]).sum()


def test_counts_agree_with_a_loop_over_the_text():
    stream = np.random.default_rng(1).integers(0, 5, 400).tolist()
    triple, window = SkipTrigram(1, 2, 3), 4
    n = dict.fromkeys(("dst", "dst_out", "src_dst", "all"), 0)
    for i in range(len(stream) - 1):
        before = []
        for j in range(i - 1, max(-1, i - 1 - window), -1):
            if stream[j + 1] == BEGIN:
                break
            before.append(stream[j])
        if stream[i] == triple.dst:
            src, out = triple.src in before, stream[i + 1] == triple.out
            n["dst"] += 1
            n["dst_out"] += out
            n["src_dst"] += src
            n["all"] += src and out
    found = skip_trigrams.count(torch.tensor(stream), triple, window)
    assert (found.n_dst, found.n_dst_out, found.n_src_dst, found.n_all) == tuple(n.values())
    assert found.lift == pytest.approx(n["all"] / n["src_dst"] / (n["dst_out"] / n["dst"]))
    assert len(skip_trigrams.positions(torch.tensor(stream), triple, window)) == n["all"]


def test_neighbours_stand_where_the_source_stands(generator):
    text = [BEGIN, 6, 1, 7, 2, 3, *[9] * 20, 2, 3]
    stream = torch.tensor(text)
    found = skip_trigrams.neighbours(stream, SkipTrigram(1, 2, 3), 3, 10, generator=generator)
    assert set(found) == {6, 7}
