"""The same analysis of the same model trained from several seeds.

The weights of the first seed come with the book; of the others the results do, in
`data/models/<name>/seeds.json`. `python -m transformer_circuits seeds NAME` computes the file
again, from models trained with `train NAME --seed N`.
"""

import json
from dataclasses import asdict

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from transformer_circuits import (
    ablation,
    bigrams,
    bugs,
    checkpoint,
    corpus,
    files,
    heads,
    induction,
    patterns,
    spectra,
    training,
)  # fmt: skip
from transformer_circuits.config import TrainConfig
from transformer_circuits.model import Transformer

ONE_LAYER = "one-layer"
SEEDS = (0, 1, 2)


def read(name: str) -> list[dict]:
    """The results of every seed, by seed.

    Raises:
        ValueError: if there are none for this model.
    """
    path = checkpoint.models_dir() / name / "seeds.json"
    if not path.is_file():
        raise ValueError(f"{path} is not there: run python -m transformer_circuits seeds {name}")
    return json.loads(path.read_text(encoding="utf-8"))


def one_layer(model: Transformer, text: np.ndarray, never: Bool[Tensor, "out dst"]) -> dict:
    """What chapters 5 and 6 measure on a one-layer model, as plain numbers.

    `text`: held-out tokens; `never`: the bigrams its training text never has.
    """
    losses = training.evaluate(model, text)
    inputs, _ = corpus.windows(text, torch.linspace(0, len(text) - 512, 16).long(), 512)
    A = model.trace(inputs).patterns[0]
    each = range(model.config.n_heads)
    ranks = [spectra.own_ranks(heads.full_ov(model, 0, h)) for h in each]
    generator = torch.Generator().manual_seed(0)
    everything_off = ablation.without(model, ablation.every_head(model))
    return {
        "loss": float(losses.mean()),
        "loss_direct_path": float(training.evaluate(everything_off, text).mean()),
        "late_minus_early": induction.late_minus_early(losses),
        "copy_losses": induction.copy_losses(model, range(20, 100, 10), 3, generator).tolist(),
        "ov_positivity": [spectra.positivity(heads.full_ov(model, 0, h).eigenvalues()) for h in each],
        "qk_positivity": [spectra.positivity(heads.full_qk(model, 0, h).eigenvalues()) for h in each],
        "own_top_5": [float((rank < 5).float().mean()) for rank in ranks],
        "by_distance": patterns.by_distance(A, 6).tolist(),
        "to_begin": patterns.to_begin(A).tolist(),
        "ablation_cost": ablation.costs(model, text)[0].tolist(),
        "veto": asdict(bugs.veto(model, text, never)),
    }  # fmt: skip


def factorisation(model: Transformer, name: str, seed: int) -> dict[str, float]:
    """Held-out loss after training on for a while: as it is, with more heads, with gates. [nats]

    More heads and gates have the same number of new parameters; see `bugs`. Resumable.
    """
    generator = torch.Generator().manual_seed(seed)
    variants = {
        "as_it_is": model.requires_grad_(True),
        "more_heads": bugs.with_more_heads(model, model.config.n_heads // 4, generator),
        "gated": bugs.gated(model),
    }
    plan = TrainConfig(
        seed=100 + seed, steps=200, batch=16, lr_embed=0.004, lr_attention=0.01,
        warmup_steps=20, decay_from=0.0, corpus="full",
    )  # fmt: skip
    stream = corpus.tokens(plan.corpus, "train")
    held_out = corpus.tokens("small", "validation")
    losses = {}
    for variant, student in variants.items():
        folder = files.cache_dir() / "runs" / f"{name}-seed-{seed}-{variant}"
        for record in training.Trainer(student, plan, stream, folder).run():
            print(f"seed {seed}, {variant}: {json.dumps(record)}", flush=True)
        losses[variant] = float(training.evaluate(student, held_out).mean())
    return losses


def write(name: str) -> None:
    """Analyse every seed of a model and write `seeds.json`.

    Raises:
        ValueError: if a seed is not trained, or there is no such analysis.
    """
    if name != ONE_LAYER:
        raise ValueError(f'there is no analysis over seeds for "{name}", only for "{ONE_LAYER}"')
    text = corpus.tokens("small", "validation")
    counts = bigrams.counts(corpus.tokens("small", "train"), checkpoint.settings(name)[0].n_vocab)
    rows = []
    for seed in SEEDS:
        model = checkpoint.load(name if seed == SEEDS[0] else f"{name}-seed-{seed}")
        row = {"seed": seed} | one_layer(model, text, bugs.never_seen(counts))
        rows.append(row | {"factorisation": factorisation(model, name, seed)})
    with files.atomic(checkpoint.models_dir() / name / "seeds.json") as temporary:
        temporary.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
