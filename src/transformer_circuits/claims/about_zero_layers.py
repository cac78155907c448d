"""What is claimed of the table of a model without layers."""

from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import bigrams
from transformer_circuits.claims import samples
from transformer_circuits.claims.controls import shuffled_text, token_frequencies
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.text import corpus


@decides("zero-layer-bigram", controls=[shuffled_text, token_frequencies])
def nearer_to_bigrams(subject: Subject) -> Float[Tensor, " document"]:
    """How much nearer to counted bigrams than to counted tokens the model predicts. [nats per token]

    Both are counted in the small profile's training text and predict held-out text, as the model
    does; the bigrams are mixed with unigrams (`bigrams.mixed`). What is measured is the middle
    between their two losses, or the loss of the unigrams where that is lower, minus the model's.
    Positive: the model beats the unigrams and is nearer to the bigrams, or beyond them. A model
    that equals the bigrams has half of what they gain over unigrams.
    Paper: "Zero-Layer Transformers".
    """
    inputs, targets = subject.windows(samples.WINDOWS_OF_BIGRAMS)
    tables = _counted(subject.model.config.n_vocab)
    unigram, bigram = (subject.by_document(-table[targets, inputs]) for table in tables)
    return torch.minimum(unigram, (unigram + bigram) / 2) - subject.by_document(
        subject.losses(samples.WINDOWS_OF_BIGRAMS)
    )


@cache
def _counted(n_vocab: int) -> tuple[Float[Tensor, "out src"], Float[Tensor, "out src"]]:
    """Log-probabilities of counted tokens, and of counted bigrams. [nats]"""
    counts = bigrams.counts(corpus.tokens("small", "train"), n_vocab)
    return bigrams.unigram(counts), bigrams.mixed(counts)
