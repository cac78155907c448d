"""A table of bigrams is nearer to bigrams; one of token frequencies is not."""

import dataclasses

import pytest
import torch

from transformer_circuits.analysis import bigrams
from transformer_circuits.claims import about_zero_layers, controls
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


def test_bigrams_are_nearer_to_bigrams_and_tokens_and_chance_to_tokens(counted):
    values = about_zero_layers.nearer_to_bigrams(counted)
    assert values.isfinite().all() and len(values) > 10 and values.mean() < 0
    counts = bigrams.counts(counted.text, 17)
    exact = about_zero_layers.nearer_to_bigrams(of_table(counted, bigrams.mixed(counts)))
    assert exact.mean() > 0.1
    frequencies = controls.token_frequencies(counted)
    frequencies = about_zero_layers.nearer_to_bigrams(frequencies).mean()
    assert frequencies < 0
    half = (bigrams.mixed(counts) + bigrams.unigram(counts)) / 2
    near = about_zero_layers.nearer_to_bigrams(of_table(counted, half)).mean()
    assert frequencies < near < exact.mean(), "likeness, token by token"
