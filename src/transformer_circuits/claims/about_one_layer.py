"""What is claimed of a one-layer model on text: what it is made of, and what it cannot do."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import ablation, bigrams, heads, repeats
from transformer_circuits.analysis.one_layer import ensemble, skip_trigram_bugs
from transformer_circuits.claims import samples
from transformer_circuits.claims.controls import random_heads, two_layers, untrained, without_heads
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model import cross_entropy
from transformer_circuits.text import tokenizer


@decides("skip-trigram-ensemble", controls=[without_heads, random_heads])
def each_by_itself(subject: Subject) -> Float[Tensor, " document"]:
    """By how much sources that do not compete keep more than half of what heads save.

    [nats per token], for each document; at most half of what all heads save, 0 where just half of it
    is kept, below where less. Paper: "Summary of Results", one layer as "an ensemble of bigram and
    skip-trigram models". The ensemble: every source adds its OV column times an attention that
    depends on source, destination and their places alone (`ensemble.each_by_itself`).
    """
    model = subject.model
    inputs, targets = subject.windows(samples.WINDOWS)
    frequency = repeats.counts(subject.text, model.config.n_vocab) + 1
    direct = ablation.without(model, heads.every(model))
    rows = []
    for of, wanted in cross_entropy.batches(inputs, targets, size=4):
        pattern = ensemble.each_by_itself(model, of, frequency.to(model.W_E))
        losses = [
            cross_entropy.per_token(logits, wanted)
            for logits in (model(of), direct(of), model(of, [pattern]))
        ]
        rows.append((losses[0] + losses[1]) / 2 - losses[2])
    return subject.by_document(torch.cat(rows))


@decides("copying-capacity", controls=[without_heads, random_heads])
def copying_against_the_rest(subject: Subject) -> Float[Tensor, " document"]:
    """How much more of the loss heads save by copying earlier tokens than by all else of these.

    [nats per token], for each document. Copying is what heads add to the logits of the very earlier
    tokens they look at, and of their other forms with another capital or space; the rest is what
    they add to all other logits because of these. Both stand beside what the present token says:
    the direct path, and what heads bring from it and from BEGIN, which makes bigrams. The smaller
    of two: the loss with the rest minus that with copying; and the loss with neither minus that
    with copying. So copying must save, and save more. Paper: "Copying / Primitive In-Context
    Learning".
    """
    model = subject.model
    inputs, targets = subject.windows(samples.WINDOWS)
    forms = ensemble.forms(tokenizer.texts()[: model.config.n_vocab])
    rows = []
    for of, wanted in cross_entropy.batches(inputs, targets, size=4):
        present, earlier = skip_trigram_bugs.split(model, of)
        pattern = skip_trigram_bugs.from_earlier(of, model.trace(of).patterns[0])
        copied = ensemble.copying(model, of, pattern, forms)
        losses = [
            cross_entropy.per_token(logits, wanted)
            for logits in (present + earlier - copied, present, present + copied)
        ]
        rows.append(torch.stack([losses[0] - losses[2], losses[1] - losses[2]]))
    margins = [subject.by_document(each) for each in torch.cat(rows, dim=1)]
    return min(margins, key=lambda each: float(each.mean()))


@decides("bugs", controls=[without_heads, untrained, random_heads])
def bugs(subject: Subject) -> Float[Tensor, " pair"]:
    """The least of what a source adds to two right outputs and the two bugs that they entail.

    [logits], for each pair of forms of a word that held-out text keeps apart, such as with a space
    and without (`skip_trigram_bugs.apart`), averaged over all real contexts of 16 windows that have
    the source before a destination. Above 0: the bugs are raised where the right ones are. Paper:
    "Skip-Trigram “Bugs”". Not a number for pairs that the windows lack.
    """
    model = subject.model
    counts = bigrams.counts(subject.text, model.config.n_vocab)
    forms = ensemble.forms(tokenizer.texts()[: model.config.n_vocab])
    inputs, _ = subject.windows(samples.WINDOWS)
    apart = {
        pair: sets
        for pair, sets in skip_trigram_bugs.apart(counts, forms).items()
        if (inputs == pair[0]).any()
    }
    four = skip_trigram_bugs.raised_together(model, inputs, apart)
    least = four.amin(dim=1)
    return least.where(~four.isnan().any(dim=1), math.nan)


@decides("one-layer-no-induction", controls=[two_layers])
def right_preferred(subject: Subject) -> Float[Tensor, " passage"]:
    """How often, in the second copy, the next token gets a higher logit than another of the passage.

    0 to 1, for each of 36 passages of uniformly random tokens, 40 to 80 long: 0.5 if the model
    cannot tell which comes next, 1 with perfect induction. Raising all that was seen alike moves
    nothing. Paper: "Summary of Results" and "Induction Heads".
    """
    config, generator = subject.model.config, torch.Generator().manual_seed(0)
    uniform, rows = torch.ones(config.n_vocab), []
    for length in (40, 60, 80):
        fits = min(length, (config.n_ctx - 1) // 2)
        passages = repeats.drawn(uniform, samples.PASSAGES_OF_A_LENGTH, fits, generator=generator)
        rows.append(repeats.predictions(subject.model, passages).preferred[:, 1].mean(dim=1))
    return torch.cat(rows)
