"""A model in eight bits per weight, for the page on which it runs in the reader's browser."""

import base64
import dataclasses
import json

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_circuits.analysis import head_roles
from transformer_circuits.model import quantisation
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer


def team(model: Transformer, text: Int[Tensor, " n_tokens"]) -> dict[int, str]:
    """What the heads of two layers are called that finish a name; heads counted through the layers."""
    if model.config.n_layers != 2:
        return {}
    note_taker, recoder, finders = head_roles.cast(model, text)
    names = {note_taker: "note-taker", recoder: "re-coder"} | dict.fromkeys(finders, "finder")
    return {layer * model.config.n_heads + head: name for (layer, head), name in names.items()}


def dumps(model: Transformer, names: dict[int, str] | None = None) -> str:
    """JSON of the shape, of what heads are called, and of all weights, in base64.

    Of each weight scales in float32, then whole numbers. `names`: see `team`.

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
        {
            "config": shape,
            "team": names or {},
            "tensors": tensors,
            "data": base64.b64encode(data).decode(),
        }
    )


def vocabulary() -> str:
    """JSON of the tokenizer, of the begin token's id, and of how every token is printed."""
    loaded = tokenizer.load()
    labels = tokenizer.labels(torch.arange(loaded.get_vocab_size()))
    # A "<" in a script element could end it.
    rules = json.loads(loaded.to_str())
    text = json.dumps({"tokenizer": rules, "begin": tokenizer.BEGIN, "labels": labels})
    return text.replace("<", "\\u003c")
