"""A model in eight bits per weight, for the page on which it runs in the reader's browser."""

import base64
import dataclasses
import json
from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.analysis import circuit_hunt
from transformer_circuits.analysis.circuit_hunt import Hunt
from transformer_circuits.model import quantisation
from transformer_circuits.model.positions import sinusoids
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer


def matrices(model: Transformer) -> dict[str, Float[Tensor, "row column"]]:
    """Matrices that the page cannot compute: the weights, and W_P where positions are no sinusoids."""
    config = model.config
    waves = sinusoids(config.n_ctx, config.d_model, config.position_base)
    own = {} if torch.equal(model.W_P.cpu().float(), waves.float()) else {"W_P": model.W_P}
    return quantisation.matrices(model) | own


def dumps(model: Transformer, **more: Any) -> str:
    """JSON of the shape, of all weights, in base64, and of more.

    Of each weight scales in float32, then whole numbers.

    Raises:
        ValueError: if the model has MLPs, which the page does not compute.
    """
    model.require_attention_only()
    data, tensors = b"", []
    for name, weight in matrices(model).items():
        whole, scale = quantisation.quantise(weight.detach().cpu().float())
        data += b"\0" * (-len(data) % 4)
        tensors.append({"name": name, "shape": list(weight.shape), "offset": len(data)})
        data += scale.numpy().tobytes() + whole.contiguous().numpy().tobytes()
    shape = dataclasses.asdict(model.config)
    return files.as_json(
        {
            "config": shape,
            "tensors": tensors,
            "data": base64.b64encode(data).decode(),
        }
        | more
    )


def hunt(hunted: Hunt) -> str:
    """JSON of a hunt's model and lines; what was planted is not in it."""
    lines = {"tokens": hunted.tokens.tolist(), "targets": hunted.targets.tolist()}
    return dumps(hunted.model, lines=lines)


def hunts(seeds: Iterable[int]) -> str:
    """JSON of what the page of hunts knows before it has one: the rule, levels and seeds."""
    rule = {"share": circuit_hunt.SHARE, "levels": circuit_hunt.LEVELS, "seeds": [*seeds]}
    return files.as_json({"models": {}, "hunts": rule})


def vocabulary() -> str:
    """JSON of the tokenizer, of the begin token's id, and of how every token is printed."""
    loaded = tokenizer.load()
    labels = tokenizer.labels(torch.arange(loaded.get_vocab_size()))
    # A "<" in a script element could end it.
    rules = json.loads(loaded.to_str())
    text = files.as_json({"tokenizer": rules, "begin": tokenizer.BEGIN, "labels": labels})
    return text.replace("<", "\\u003c")
