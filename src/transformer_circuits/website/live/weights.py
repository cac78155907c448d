"""A model in eight bits per weight, for the page on which it runs in the reader's browser."""

import base64
import dataclasses
import json

import torch

from transformer_circuits.model import quantisation
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer


def dumps(model: Transformer) -> str:
    """JSON of the shape and of all weights: scales in float32, then whole numbers, in base64.

    Raises:
        ValueError: if the model has MLPs, which the page does not compute.
    """
    model.require_attention_only()
    data, tensors = b"", []
    for name, weight in quantisation.matrices(model).items():
        whole, scale = quantisation.quantise(weight.detach().cpu().float())
        data += b"\0" * (-len(data) % 4)
        tensors.append({"name": name, "shape": list(weight.shape), "offset": len(data)})
        data += scale.numpy().tobytes() + whole.contiguous().numpy().tobytes()
    shape = dataclasses.asdict(model.config)
    return json.dumps(
        {"config": shape, "tensors": tensors, "data": base64.b64encode(data).decode()}
    )


def vocabulary() -> str:
    """JSON of the tokenizer, of the begin token's id, and of how every token is printed."""
    loaded = tokenizer.load()
    labels = tokenizer.labels(torch.arange(loaded.get_vocab_size()))
    # A "<" in a script element could end it.
    rules = json.loads(loaded.to_str())
    text = json.dumps({"tokenizer": rules, "begin": tokenizer.BEGIN, "labels": labels})
    return text.replace("<", "\\u003c")
