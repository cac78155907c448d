"""A model in eight bits per weight, for the page on which it runs in the reader's browser."""

import base64
import copy
import dataclasses
import json

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer


def quantise(
    weight: Float[Tensor, "out read"],
) -> tuple[Int8[Tensor, "out read"], Float[Tensor, " out"]]:
    """Symmetric int8 quantisation: weights from -127 to 127, and one scale for each row.

    `weight` is about `whole * scale[:, None]`, off by at most half a scale.
    """
    scale = weight.abs().amax(dim=1).clamp(min=torch.finfo(weight.dtype).tiny) / 127
    return (weight / scale[:, None]).round().to(torch.int8), scale


def _matrices(model: Transformer) -> dict[str, Tensor]:
    """Every weight, its rows being what shares a scale: tokens for W_E, outputs for the others."""
    return {
        name: weight.T if name == "W_E" else weight for name, weight in model.named_parameters()
    }


def rounded(model: Transformer) -> Transformer:
    """A copy of the model with every weight quantised and back: what the browser computes with.

    Raises:
        ValueError: if the model has MLPs, which the page does not compute.
    """
    model.require_attention_only()
    twin = copy.deepcopy(model).requires_grad_(False)
    for weight in _matrices(twin).values():
        whole, scale = quantise(weight)
        weight.copy_(whole * scale[:, None])
    return twin


def dumps(model: Transformer) -> str:
    """JSON of the shape and of all weights: scales in float32, then whole numbers, in base64.

    Raises:
        ValueError: if the model has MLPs, which the page does not compute.
    """
    model.require_attention_only()
    data, tensors = b"", []
    for name, weight in _matrices(model).items():
        whole, scale = quantise(weight.detach().cpu().float())
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
