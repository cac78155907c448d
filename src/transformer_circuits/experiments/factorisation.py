"""What it costs one layer that a skip-trigram's three tokens meet only two by two.

`python -m transformer_circuits factorisation` trains the one-layer model of each seed on a little: as
it is, with more heads, and with a gate that sees source and destination together. It writes
`factorisation.jsonl` beside the weights, which `checkpoint.records("one-layer", "factorisation")`
reads: one line per seed, the book's first.
"""

import torch

from transformer_circuits import files
from transformer_circuits.analysis.one_layer import skip_trigram_bugs
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus
from transformer_circuits.training import checkpoint
from transformer_circuits.training.config import TrainConfig
from transformer_circuits.training.trainer import Trainer

ONE_LAYER = "one-layer"
PLAN = TrainConfig(
    seed=100, steps=200, batch=16, lr_embed=0.004, lr_attention=0.01,
    warmup_steps=20, decay_from=0.0, corpus="full",
)  # fmt: skip


def variants(model: Transformer) -> dict[str, Transformer]:
    """The students. More heads have at least as many new parameters as gates."""
    generator = torch.Generator().manual_seed(0)
    return {
        "as_it_is": model.requires_grad_(True),
        "more_heads": skip_trigram_bugs.with_more_heads(
            model, -(-model.config.n_heads // 4), generator=generator
        ),
        "gated": skip_trigram_bugs.gated(model),
    }


def write(compile: bool | None = None) -> None:
    """Train the students of every seed, or go on where it was stopped, and write their losses.

    `start` is the loss before; the others' lists have one loss per fifty steps.
    [nats per held-out token]

    `compile`: as for `Trainer`.
    """
    rows = []
    models = {name: checkpoint.load(name) for name in checkpoint.seeds(ONE_LAYER)}
    stream, held_out = corpus.tokens(PLAN.corpus, "train"), corpus.tokens("small", "validation")

    def probe(student: Transformer) -> dict:
        return {"held_out": float(cross_entropy.evaluate(student, held_out).mean())}

    for name, model in models.items():
        weights = files.sha256(checkpoint.folder(name) / "weights.safetensors")
        row: dict = {"model": name, "weights_sha256": weights, "start": probe(model)["held_out"]}
        for variant, student in variants(model).items():
            state = files.cache_dir() / "runs" / f"{name}-{weights[:12]}-{variant}"
            run = Trainer(student, PLAN, stream, state, every=50, compile=compile, probe=probe)
            for record in run.run():
                print(f"{name}, {variant}: {files.as_json(record)}", flush=True)
            row[variant] = [record["held_out"] for record in run.log]
        rows.append(row)
    with files.atomic(checkpoint.folder(ONE_LAYER) / "factorisation.jsonl") as temporary:
        temporary.write_text("".join(files.as_json(row) + "\n" for row in rows), encoding="utf-8")
