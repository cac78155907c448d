"""A table of bigrams is nearer to bigrams; one of token frequencies is not."""

import dataclasses

import pytest
import torch

from transformer_circuits.analysis import bigrams
from transformer_circuits.claims import about_zero_layers
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus


@pytest.fixture
def counted(subject, monkeypatch):
    """A subject whose text goes round the vocabulary, half of the time; all of it is trained on."""
    generator = torch.Generator().manual_seed(2)
    n_vocab, text = subject.model.config.n_vocab, [1]
    for number in torch.randint(1, 2 * subject.model.config.n_vocab, (3999,), generator=generator):
        text.append(int(number) if number < n_vocab else text[-1] % (n_vocab - 1) + 1)
    tokens = torch.tensor(text)
    tokens[::100] = 0
    monkeypatch.setattr(corpus, "tokens", lambda profile, split: tokens)
    about_zero_layers._counted.cache_clear()
    yield dataclasses.replace(subject, text=tokens)
    about_zero_layers._counted.cache_clear()


def of_table(subject, log_p):
    """The subject with a model of no layers whose table is this."""
    config = dataclasses.replace(subject.model.config, n_layers=0, d_model=18)
    model = Transformer(config).requires_grad_(False).double()
    model.W_E.zero_()
    model.W_E[:17] = torch.eye(17)
    model.W_U[:, :17] = log_p
    return dataclasses.replace(subject, model=model)


def test_bigrams_go_the_whole_way_and_tokens_and_chance_none_of_it(counted):
    def way(subject):
        return about_zero_layers.way_to_bigrams(subject)

    chance = way(counted)
    assert chance.n > 10 and chance.high < 0
    counts = bigrams.counts(counted.text, 17)
    exact = way(of_table(counted, bigrams.mixed(counts)))
    assert exact.low > 1, "it has counted the goal, too"
    frequencies = way(about_zero_layers.token_frequencies(counted))
    assert frequencies.mean == pytest.approx(0, abs=0.02)
    half = (bigrams.mixed(counts) + bigrams.unigram(counts)) / 2
    near = way(of_table(counted, half))
    assert frequencies.high < near.mean < exact.low, "likeness, token by token"
