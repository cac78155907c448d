"""Recipe of a training run: its rates, optimizers, embeddings and positions."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.model.transformer import Transformer
from transformer_circuits.training.config import TrainConfig


def schedule(step: int, config: TrainConfig) -> float:
    """Factor on the learning rates at a step: linear warm-up, constant, linear to 0.

    A high rate finds induction sooner; its fall to 0 takes its noise off the loss.
    """
    warm = min(1.0, (step + 1) / config.warmup_steps)
    left = 1 - step / config.steps
    return warm * min(1.0, left / (1 - config.decay_from))


def optimizers(model: Transformer, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """AdamW for the two embeddings, Muon for the matrices of attention (and of MLPs)."""
    device = model.W_E.device.type
    adamw = torch.optim.AdamW(
        [
            {"params": [model.W_E], "weight_decay": 0.0},
            {"params": [model.W_U], "weight_decay": config.decay_unembed},
        ],
        lr=config.lr_embed,
        betas=(0.9, 0.98),
        fused=device in ("cpu", "cuda"),
    )
    matrices = [*model.layers.parameters(), *model.mlps.parameters()]
    if not matrices:
        return [adamw]
    return [
        adamw,
        torch.optim.Muon(
            matrices,
            lr=config.lr_attention,
            momentum=0.95,
            weight_decay=config.decay_attention,
        ),
    ]


def positions(step: int, config: TrainConfig, n_layers: int) -> Float[Tensor, " layer"]:
    """Factor on the positions of each layer at a step, from 0 to 1; see `TrainConfig.blind_steps`.

    The first layer always sees them. So it is the one that grows the previous-token head, which
    induction needs there; otherwise it is a race.
    """
    seen = torch.ones(n_layers)
    if config.blind_steps:
        seen[1:] = min(1.0, max(0.0, 2 * (step / config.blind_steps - 1)))
    return seen


@torch.no_grad()
def normalise(model: Transformer, rms: float) -> None:
    """Scale each token's embedding to this root mean square (0 for no change), and centre W_U over tokens.

    The mean of W_U adds the same to every logit, so it changes no prediction; but it would be in
    every circuit that ends in W_U, and hide copying by heads.
    """
    if rms:
        model.W_E *= rms / model.W_E.square().mean(dim=0).sqrt()
    model.W_U -= model.W_U.mean(dim=0)
