"""Markov chains learnt from one context: predictions of the best possible reader, and a model's
distance from them (after Edelman et al. 2024, who train on such chains; the models of the book have
never seen one).

States are numbers from 0; a model sees each as some token. Tables are [next state, present state].
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text.tokenizer import BEGIN


def chains(
    n: int, n_states: int, *, memory: bool = True, generator: torch.Generator
) -> Float[Tensor, "n next present"]:
    """Random Markov chains: each column is drawn from the flat Dirichlet distribution.

    Flat means that all distributions over the states are equally likely. Without `memory` all
    columns of a chain are one and the same: the present state says nothing about the next.

    >>> chains(1, 3, generator=torch.Generator().manual_seed(0)).sum(dim=1)
    tensor([[1.0000, 1.0000, 1.0000]], dtype=torch.float64)
    """
    columns = n_states if memory else 1
    drawn = torch.rand(n, n_states, columns, generator=generator, dtype=torch.float64)
    exponential = -torch.log1p(-drawn)  # shares of exponential variables are flat Dirichlet
    return (exponential / exponential.sum(dim=1, keepdim=True)).expand(-1, -1, n_states)


def walks(
    chains: Float[Tensor, "n next present"], length: int, *, generator: torch.Generator
) -> Int[Tensor, "n length"]:
    """Sequences of states, one of each chain, from a first state that is uniformly random."""
    n, n_states, _ = chains.shape
    states = [torch.randint(n_states, (n,), generator=generator)]
    for _ in range(length - 1):
        columns = chains[torch.arange(n), :, states[-1]]  # [n, next]
        states.append(torch.multinomial(columns, 1, generator=generator)[:, 0])
    return torch.stack(states, dim=1)


def unigrams(states: Int[Tensor, "n pos"], n_states: int) -> Float[Tensor, "n pos state"]:
    """Probabilities of the next state for a reader who counts states, whatever they follow.

    The exact prediction, after each position, of one who knows that all states are drawn from one
    distribution and holds all distributions to be equally likely: (count + 1) / (all + n_states).
    """
    counts = _one_hot(states, n_states).cumsum(dim=1) + 1
    return counts / counts.sum(dim=2, keepdim=True)


def bigrams(states: Int[Tensor, "n pos"], n_states: int) -> Float[Tensor, "n pos state"]:
    """Probabilities of the next state for a reader who counts followers of the present state.

    The exact prediction, after each position, of one who knows that the sequence is a Markov chain
    and holds all chains to be equally likely, as `chains` draws them. Nobody can do better on them.
    """
    hot = _one_hot(states, n_states)  # [n, pos, state]
    steps = torch.zeros(*hot.shape, n_states, dtype=hot.dtype)  # [n, pos, next, present]
    steps[:, 1:] = hot[:, 1:, :, None] * hot[:, :-1, None, :]
    counts = (steps.cumsum(dim=1) * hot[:, :, None, :]).sum(dim=3) + 1
    return counts / counts.sum(dim=2, keepdim=True)


def uniform(states: Int[Tensor, "n pos"], n_states: int) -> Float[Tensor, "n pos state"]:
    """Probabilities of the next state for a reader who has counted nothing: all alike."""
    return torch.full((*states.shape, n_states), 1 / n_states, dtype=torch.float64)


READERS = {"uniform": uniform, "unigrams": unigrams, "bigrams": bigrams}
"""Readers that a model is compared with; the first learns nothing from its context."""


def alphabets(
    weights: Float[Tensor, " n_vocab"], n: int, n_states: int, *, generator: torch.Generator
) -> Int[Tensor, "n state"]:
    """Token that stands for each state, for each of `n` sequences: all different, and never BEGIN.

    Drawn in proportion to their weights, without putting back.
    """
    weights = weights.clone()
    weights[BEGIN] = 0
    return torch.multinomial(weights.expand(n, -1), n_states, generator=generator)


@torch.no_grad()
def predicted(
    model: Transformer, states: Int[Tensor, "n pos"], alphabet: Int[Tensor, "n state"]
) -> Float[Tensor, "n pos state"]:
    """Log-probabilities of a model for the next state, after BEGIN and the states so far. [nats]

    Only the logits of the sequence's own tokens count, renormalised; all other tokens, which cannot
    come, are left out.
    """
    tokens = alphabet.gather(1, states)
    tokens = torch.cat([tokens.new_full((len(tokens), 1), BEGIN), tokens], dim=1)
    cross_entropy.n_vocab(model, tokens)  # refuses a model that has none for some
    log_probabilities = []
    device = model.W_E.device
    for batch, letters in zip(
        tokens.to(device).split(8), alphabet.to(device).split(8), strict=True
    ):
        logits = model(batch)[:, 1:]  # after BEGIN alone nothing is predicted
        of_letters = logits.gather(2, letters[:, None].expand(-1, logits.shape[1], -1))
        log_probabilities.append(of_letters.double().log_softmax(dim=2).cpu())
    return torch.cat(log_probabilities)


def divergence(
    reader: Float[Tensor, "n pos state"], log_model: Float[Tensor, "n pos state"]
) -> Float[Tensor, "n pos"]:
    """KL(reader ‖ model) of the next state, by place. [nats], 0 if they agree.

    How much more the model would pay than the reader, if the reader were right.
    """
    log_reader = reader.clamp(min=1e-300).log()
    return (reader * (log_reader - log_model)).sum(dim=2)


def _one_hot(states: Int[Tensor, "n pos"], n_states: int) -> Float[Tensor, "n pos state"]:
    return torch.nn.functional.one_hot(states, n_states).double()
