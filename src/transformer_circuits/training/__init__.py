"""How a model is trained, and trained models on disk.

Imports `text` and `model`.
"""

from transformer_circuits.training.trainer import Trainer, evaluate, loss_nats, schedule

__all__ = ["Trainer", "evaluate", "loss_nats", "schedule"]
