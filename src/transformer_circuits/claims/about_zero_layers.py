"""What is claimed of the table of a model without layers."""

from functools import cache

from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import bigrams
from transformer_circuits.claims import samples
from transformer_circuits.claims.controls import token_frequencies, untrained
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.text import corpus


@decides("zero-layer-bigram", controls=[untrained, token_frequencies], sample=samples.MANY)
def nearer_to_bigrams(subject: Subject) -> Float[Tensor, " document"]:
    """How much nearer to counted bigrams the table comes than half way from counted tokens. [nats]

    All are distributions over what follows a token. Both are counted in the small profile's training
    text, the bigrams mixed with unigrams (`bigrams.mixed`). What is measured is half of KL(bigrams ‖
    unigrams), less KL(bigrams ‖ model), at the tokens of held-out text. At most half of the first,
    for the bigrams themselves; below 0 if the table lies nearer to the tokens. Paper: "Zero-Layer
    Transformers".
    """
    model, (inputs, _) = subject.model, subject.windows(*samples.MANY)
    unigram, bigram = _counted(model.config.n_vocab)  # [out, src]
    table = (model.W_U @ model.W_E).log_softmax(dim=0)
    share = bigram.exp()
    half, ours = (
        (share * (bigram - other)).sum(dim=0) for other in ((unigram + bigram) / 2, table)
    )
    return subject.by_document((half - ours)[inputs].double())


@cache
def _counted(n_vocab: int) -> tuple[Float[Tensor, "out src"], Float[Tensor, "out src"]]:
    """Log-probabilities of counted tokens, and of counted bigrams. [nats]"""
    counts = bigrams.counts(corpus.tokens("small", "train"), n_vocab)
    return bigrams.unigram(counts), bigrams.mixed(counts)
