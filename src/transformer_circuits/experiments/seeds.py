"""The same analysis of one model trained from several seeds.

The weights of one seed come with the book, the results of all of them in
`data/models/<name>/seeds.jsonl`, which `checkpoint.records(name, "seeds")` reads.
`python -m transformer_circuits seeds NAME` computes the file again, from models trained with
`train NAME --seed N`.
"""

import json
from dataclasses import asdict

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.analysis import (
    ablation,
    bigrams,
    copying_scores,
    heads,
    induction,
    path_patching,
    patterns,
    repeats,
    skip_trigram_bugs,
    term_importance,
)
from transformer_circuits.experiments import development
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus, windows
from transformer_circuits.training import checkpoint, cross_entropy
from transformer_circuits.training.config import TrainConfig
from transformer_circuits.training.trainer import Trainer

ONE_LAYER, TWO_LAYER = "one-layer", "two-layer"
SEEDS = (0, 1, 2)


def _random(
    model: Transformer, n: int, length: int, generator: torch.Generator
) -> Int[Tensor, "n length"]:
    """Passages of uniformly random tokens."""
    return repeats.drawn(torch.ones(model.config.n_vocab), n, length, generator=generator)


def one_layer(
    model: Transformer, text: Int[Tensor, " n_tokens"], never: Bool[Tensor, "out dst"]
) -> dict:
    """What chapters 5 and 6 measure on a one-layer model, as plain numbers.

    `text`: held-out tokens; `never`: the bigrams its training text never has.
    """
    losses = cross_entropy.evaluate(model, text)
    pair = windows.evenly(text, 64, model.config)
    inputs, _ = windows.evenly(text, 16, model.config)
    A = model.trace(inputs).patterns[0]
    each = heads.every(model)
    generator = torch.Generator().manual_seed(0)
    null = copying_scores.null(model.W_U, model.W_E, model.config.d_head, 200, generator=generator)
    everything_off = ablation.without(model, each)
    return {
        "loss": float(losses.mean()),
        "loss_direct_path": float(cross_entropy.evaluate(everything_off, text).mean()),
        "in_context_learning_score": float(induction.in_context_learning_score(model, text, 512).mean()),
        "preferred": repeats.predictions(model, _random(model, 32, 60, generator)).mean_preferred().tolist(),
        "ov_null": {"mean": float(null.mean()), "sd": float(null.std())},
        "ov_positivity": [copying_scores.positivity(heads.full_ov(model, head).eigenvalues()) for head in each],
        "qk_positivity": [copying_scores.positivity(heads.full_qk(model, head).eigenvalues()) for head in each],
        "by_distance": patterns.by_distance(A, 6).tolist(),
        "to_begin": patterns.to_begin(A).tolist(),
        "loss_increase": ablation.loss_increase(model, *pair)[0].tolist(),
        "veto": asdict(skip_trigram_bugs.veto(model, text, never)),
    } | development.twice(model, text)  # fmt: skip


def factorisation(model: Transformer, name: str) -> dict[str, list[float]]:
    """Held-out loss while training on: as it is, with more heads, with gates. [nats per token]

    More heads and gates have the same number of new parameters; see `skip_trigram_bugs`. One loss
    per hundred steps. It can be resumed: the state lies in a folder named after the weights that
    it started from.
    """
    variants = {
        "as_it_is": model.requires_grad_(True),
        "more_heads": skip_trigram_bugs.with_more_heads(
            model, model.config.n_heads // 4, generator=torch.Generator().manual_seed(0)
        ),
        "gated": skip_trigram_bugs.gated(model),
    }
    weights = files.sha256(checkpoint.folder(name) / "weights.safetensors")[:12]
    plan = TrainConfig(
        seed=100, steps=200, batch=16, lr_embed=0.004, lr_attention=0.01,
        warmup_steps=20, decay_from=0.0, corpus="full",
    )  # fmt: skip
    stream = corpus.tokens(plan.corpus, "train")
    held_out = corpus.tokens("small", "validation")

    def probe(student: Transformer) -> dict:
        return {"held_out": float(cross_entropy.evaluate(student, held_out).mean())}

    losses = {}
    for variant, student in variants.items():
        folder = files.cache_dir() / "runs" / f"{name}-{weights}-{variant}"
        run = Trainer(student, plan, stream, folder, probe=probe)
        for record in run.run():
            print(f"{name}, {variant}: {json.dumps(record)}", flush=True)
        losses[variant] = [record["held_out"] for record in run.log]
    return losses


@torch.no_grad()
def two_layer(model: Transformer, text: Int[Tensor, " n_tokens"]) -> dict:
    """What chapters 7 to 9 and 11 measure on a two-layer model, as plain numbers.

    `text`: held-out tokens. The `edges` are the five without which the loss on the second copy of
    random tokens rises most, the costliest first.
    """
    losses = cross_entropy.evaluate(model, text, 128)
    inputs, _ = windows.evenly(text, 16, model.config)
    generator = torch.Generator().manual_seed(0)
    copies = repeats.copies(_random(model, 16, 60, generator))
    on_text, on_copies = model.trace(inputs).patterns, model.trace(copies).patterns
    targets = repeats.targets_of_copy(copies, 60, 1)
    increases = path_patching.loss_increase(model, copies[:8], targets[:8])
    return {
        "loss": float(losses.mean()),
        "in_context_learning_score": float(induction.in_context_learning_score(model, text, 512).mean()),
        "preferred": repeats.predictions(model, _random(model, 32, 60, generator)).mean_preferred().tolist(),
        "previous_token": [patterns.by_distance(A, 2)[:, 1].tolist() for A in on_text],
        "matching_text": induction.prefix_matching_score(on_text[1], inputs).tolist(),
        "matching_random": induction.prefix_matching_score(on_copies[1], copies).tolist(),
        "edges": [
            {"kind": kind, "later": later.head, "earlier": earlier.head, "nats": nats}
            for kind, later, earlier, nats in path_patching.top_edges(increases, 5)
        ],
    } | development.twice(model, text) | _terms(model, text) | development.of_weights(model)  # fmt: skip


def _terms(model: Transformer, text: Int[Tensor, " n_tokens"]) -> dict:
    """What chapter 11 measures. [nats per token]

    Losses by what is kept, with frozen and with free patterns; the loss with all paths but the
    patterns of embeddings alone; and how much it rises without each head, in the first and second
    copy of random tokens.
    """
    inputs, targets = windows.evenly(text, 64, model.config)
    alone = [
        cross_entropy.mean(
            model(batch, term_importance.patterns_of_embeddings(model, batch)), batch_targets
        )
        for batch, batch_targets in cross_entropy.batches(inputs, targets)
    ]
    found: dict = {"loss_patterns_of_embeddings": float(torch.stack(alone).mean())}
    for name, frozen in (("frozen", True), ("free", False)):
        kept = term_importance.losses(model, inputs, targets, frozen)
        found[f"terms_{name}"] = {k: float(v.mean()) for k, v in kept.items()}
        generator = torch.Generator().manual_seed(3)
        passages = [_random(model, 8, length, generator) for length in (20, 60, 100)]
        found[f"loss_increase_by_copy_{name}"] = repeats.loss_increase_by_copy(
            model, passages, frozen
        ).tolist()
    return found


def write(name: str) -> None:
    """Analyse every seed of a model and write `seeds.jsonl`, the committed weights' row first.

    Raises:
        UserError: if a seed is not trained, or there is no such analysis.
    """
    if name not in (ONE_LAYER, TWO_LAYER):
        raise files.UserError(
            f'there is no analysis over seeds for "{name}", only for "{ONE_LAYER}" and "{TWO_LAYER}"'
        )
    shape, plan = checkpoint.settings(name)
    ours, rows = plan.seed, []
    for seed in {*SEEDS} - {ours}:
        try:  # at once, not after the others' analysis
            checkpoint.folder(checkpoint.of_seed(name, seed))
        except files.UserError as error:
            command = f"python -m transformer_circuits train {name} --seed {seed}"
            raise files.UserError(f"{error}. First run: {command}") from error
    text = corpus.tokens("small", "validation")
    if name == ONE_LAYER:
        train = corpus.tokens("small", "train")
        never = skip_trigram_bugs.never_seen(bigrams.counts(train, shape.n_vocab))
    for seed in sorted(SEEDS, key=lambda seed: seed != ours):
        its_name = name if seed == ours else checkpoint.of_seed(name, seed)
        model, row = checkpoint.load(its_name), {"seed": seed}
        if name == ONE_LAYER:
            row |= one_layer(model, text, never)
            row["factorisation"] = factorisation(model, its_name)
        else:
            row |= two_layer(model, text) | {"training": checkpoint.records(its_name)}
        rows.append(row)
    with files.atomic(checkpoint.models_dir() / name / "seeds.jsonl") as temporary:
        temporary.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
