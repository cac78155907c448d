"""A reader's own model, or one of the field's, from a folder, a file, or memory.

Any attention-only and causal model can be loaded: `interop.reading` says how its tensors are told apart,
`interop.conversion` how it is written.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.interop import conversion, reading
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.training import checkpoint

KINDS = (".safetensors", ".pth", ".pt", ".bin", ".npz")
INDEX = ".index.json"
"""Ending of the name of an index of shards; `KINDS`: endings of files with weights."""
Config = Mapping[str, Any] | str | Path | None
Check = tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Sequence[Tensor]]
"""Tokens [batch, pos], the logits that the author's own code gives, and, where there are any, the residual
streams after embedding and after each layer."""
CLOSE = 1e-4
"""Largest distance of logits from those of a `check`, as a share of the largest of them."""


@dataclass(frozen=True)
class Loaded:
    """Model, and a report of how its file was read."""

    model: Transformer
    report: dict[str, Any] = field(default_factory=dict)
    """By "tensors", "settings used", "settings not used", "taken for granted", "norm" and "positions";
    empty for files of this book."""


def load(
    source: str | Path | Mapping[str, Tensor], config: Config = None, **how: Any
) -> Transformer:
    """Attention-only model, ready for analysis, its weights frozen: the model of `read`, which see."""
    return read(source, config, **how).model


def read(
    source: str | Path | Mapping[str, Tensor],
    config: Config = None,
    *,
    begin: int | None = 0,
    names: reading.Names | str | Path | None = None,
    check: Check | None = None,
) -> Loaded:
    """Attention-only model, and how it was read.

    `source`: one of

    - a folder like those of `data/models/`, with `config.toml` and `weights.safetensors`;
    - a folder with weights, and `config.json` if there is one;
    - a file of weights: `.safetensors`, `.npz`, or a state dict as `.pth`, `.pt` or `.bin`; of several
      shards, their folder, their index or any of them;
    - a state dict.

    `config`: the settings, as a dictionary or the path of a JSON file, where no `config.json` lies
    beside the weights. It must say what no weight tells, such as `n_heads`; a message names what is
    missing. A setting that nothing here knows is refused, for it may change what the model computes.
    `names`: which tensor is which part, where that is unclear, see `reading.Names`; the same may stand in
    the config, under "names". A path is that of a JSON file of them.
    `check`: the author's logits of some tokens. If the model gives others, it is refused, and the message
    says where it leaves them; with the streams, after which layer.
    `begin`: token that opens contexts in that model; None, if none does, and the model is asked without.
    The book's analyses take 0 for it; so these two tokens change places, in W_E and in W_U, and whoever
    has tokens of theirs must swap them, too.

    A model of the paper's form comes back as a `Transformer`. Any other is a `GeneralTransformer`, whose
    `forms` say what it has that the paper's has not; an analysis that does not know one of them refuses
    the model, and names what can be called instead.

    Raises:
        UserError: if there is no such model, a file is damaged, the book has no such models, or there is
            more than one way to read it.
    """
    if isinstance(names, str | Path):
        names = _json(Path(names))
    if isinstance(source, Mapping):
        tensors, path = _state_dict(source, "the state dict"), "the state dict"
    else:
        path, tensors = files_of(source)[0], {}
        ours = path.name == "weights.safetensors" and path.with_name("config.toml").is_file()
        if config is None and ours:
            return _checked(Loaded(checkpoint.of_file(path)), source, begin)
        for shard in files_of(source):
            tensors |= _tensors(shard)
        beside = path.with_name("config.json")
        config = beside if config is None and beside.is_file() else config
    settings = _json(Path(config)) if isinstance(config, str | Path) else dict(config or {})
    settings["names"] = {**(settings.get("names") or {}), **(names or {})}
    report: dict[str, Any] = {}
    try:
        loaded = Loaded(conversion.transformer(tensors, settings, report), report)
    except (ValueError, TypeError, OverflowError, AttributeError) as error:
        of_kind = (
            "" if isinstance(error, ValueError) else "a setting of its config is of another kind: "
        )
        raise files.UserError(f"{path}: {of_kind}{error}") from error
    if check is not None:
        _confirm(loaded.model, check)
    return _checked(loaded, path, begin)


@torch.no_grad()
def _confirm(model: Transformer, check: Check) -> None:
    """Raise a UserError that says where the model leaves the logits of a `check`, if it does."""
    parts: list[Tensor] = []
    if isinstance(check, list | tuple):
        parts = [*check[:2], *(stream for streams in check[2:] for stream in streams)]
    if len(parts) < 2 or not all(isinstance(part, Tensor) and part.numel() for part in parts):
        raise files.UserError(
            "check is (tokens, logits) or (tokens, logits, streams), all of them tensors, none empty"
        )
    tokens, logits, *streams = parts
    if not all(part.isfinite().all() for part in (logits, *streams)):
        raise files.UserError("the check has logits or streams that are no finite numbers")
    found = model(tokens)
    if found.shape != logits.shape:
        raise files.UserError(
            f"the check's logits are {tuple(logits.shape)} but the model gives {tuple(found.shape)}"
        )
    size, off = float(logits.abs().max()), float((found - logits).abs().max())
    if off <= CLOSE * size:
        return
    said = f"logits are off by {off:.2g} of {size:.2g}"
    for at, (own, theirs) in enumerate(zip(model.trace(tokens).residual, streams, strict=False)):
        left = own[..., : theirs.shape[-1]] - theirs
        # Where a norm takes the mean away, the stream here has none; a bias may have gone into it.
        left = left - left.mean(dim=-1, keepdim=True) if model.forms else left
        left = left - left.mean(dim=(0, 1)) if model.forms else left
        if float(left.abs().max()) > CLOSE * float(theirs.abs().max()):
            where = f"after layer {at - 1}" if at else "in the embedding"
            raise files.UserError(f"{said}: the stream leaves the check's {where}")
    where = "a third of the check, the streams after embedding and after each layer, tells where"
    if streams:
        where = "the streams are the check's, so W_U or its norm is not"
    raise files.UserError(f"{said}: {where}")


@torch.no_grad()
def _checked(loaded: Loaded, source: object, begin: Any) -> Loaded:
    """The model with the token that opens contexts as number 0, if its logits are numbers."""
    model, n_vocab = loaded.model, loaded.model.config.n_vocab
    tokens = torch.arange(min(n_vocab, model.config.n_ctx, 32))
    if not model(tokens[None]).isfinite().all():
        largest = max(float(W.abs().max()) for W in model.parameters())
        raise files.UserError(
            f"{source}: the weights are finite, but logits of the tokens 0 to {len(tokens) - 1} are not. "
            f"The largest weight is {largest:.2g}"
        )
    if begin is None:
        model.config = replace(model.config, begin=False)
    elif type(begin) is not int or not 0 <= begin < n_vocab:
        raise files.UserError(f"begin is {begin!r} but {source} has the tokens 0 to {n_vocab - 1}")
    elif begin:
        swapped = torch.arange(n_vocab)
        swapped[[0, begin]] = torch.tensor([begin, 0])
        model.W_E.data = model.W_E[:, swapped]
        if len(model.W_U) == n_vocab:  # else its outputs are no tokens
            model.W_U.data = model.W_U[swapped]
    return loaded


def files_of(source: str | Path) -> list[Path]:
    """Files of weights that `load` reads: what a hash of the model is taken of.

    Raises:
        UserError: if there are none, several that are no shards, or shards of which some are missing.
    """
    place = _place(source)
    ours = place / "weights.safetensors"
    if ours.is_file() and (place / "config.toml").is_file():
        return [ours]
    paths = [place] if place.is_file() else sorted(p for p in place.iterdir() if p.suffix in KINDS)
    indices = sorted((place if place.is_dir() else place.parent).glob(f"*{INDEX}"))
    if len(paths) > 1 and len(indices) == 1:
        paths = indices
    # Beside the one that hubs call so there may be others, of an optimizer.
    paths = [path for path in paths if path.name == "model.safetensors"] or paths
    if len(paths) != 1:
        has = [path.name for path in paths] or "no files"
        kinds = ", ".join(KINDS)
        raise files.UserError(
            f"{place} has {has} with weights ({kinds}), but there must be one: name it"
        )
    [path] = paths
    for index in indices if path not in indices else [path]:
        names = {Path(str(name)).name for name in _json(index).get("weight_map", {}).values()}
        if path not in (index, *(index.with_name(name) for name in names)):
            continue
        missing = sorted(name for name in names if not index.with_name(name).is_file())
        if missing or not names:
            raise files.UserError(f"{index} names {len(names)} shards, but {missing} are not there")
        return [index.with_name(name) for name in sorted(names)]
    if re.search(r"-\d+-of-0*([2-9]|1\d+)\.", path.name):
        said = f"is one of several shards, and their index (*{INDEX}) is not beside it"
        raise files.UserError(f"{path} {said}")
    return [path]


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise files.UserError(f"there is no {path}")
    try:
        settings = json.loads(path.read_text(encoding="utf-8-sig"))  # as Windows writes it
    except (ValueError, RecursionError) as error:
        raise files.UserError(f"{path} is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise files.UserError(f"{path} is {type(settings).__name__} but must be an object")
    return settings


def _tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a file; of a `.pth` nothing but tensors is ever unpacked."""
    try:
        if path.suffix == ".safetensors":
            return safetensors.torch.load_file(path)
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return {name: torch.from_numpy(arrays[name]) for name in arrays.files}
        of = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # each format has errors of its own, pickle whatever it likes
        asks = re.findall(r"GLOBAL (\S+)", str(error))
        more = f", and asks for {asks[0]}; nothing of it was run" if asks else ""
        why = [*str(error).strip().splitlines(), type(error).__name__][0]
        raise files.UserError(
            f"{path} is no file of weights, cut short, or holds more than weights{more}. Ask for a "
            f".safetensors ({why})"
        ) from error
    return _state_dict(of, path)


def _state_dict(of: Any, path: object) -> dict[str, Tensor]:
    """Tensors by name, if it is nothing else."""
    is_dict = isinstance(of, Mapping)
    if not is_dict or not all(isinstance(k, str) and isinstance(W, Tensor) for k, W in of.items()):
        has = [(k, type(W).__name__) for k, W in of.items()][:6] if is_dict else type(of).__name__
        raise files.UserError(
            f"{path} must hold a state dict, names with tensors, but has {has}; where one of them is "
            "the state dict, take that by itself"
        )
    return {**of}


def _place(source: object) -> Path:
    """The folder or file."""
    if not isinstance(source, str | os.PathLike):
        remedy = ": give its .state_dict()" * hasattr(source, "state_dict")
        raise files.UserError(
            f"source is a {type(source).__name__} but must be the path of a folder or file, or a "
            f"state dict{remedy}"
        )
    if not (place := Path(source).expanduser()).exists():
        raise files.UserError(
            f"there is no {source}. What a hub has comes first with "
            "huggingface_hub.snapshot_download(NAME), whose answer is a folder"
        )
    return place
