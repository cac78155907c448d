"""A reader's own model, or one of the field's, from a folder, a file, a model hub, or memory.

Any attention-only and causal model can be loaded, and what is left of it beside MLPs:
`interop.conversion` says how it is written, `interop.names` whose names are known.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.interop import conversion
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.training import checkpoint

KINDS = (".safetensors", ".pth", ".pt", ".bin", ".npz")
"""How the names of files with weights end."""
SAY = (
    "say whether it has layer norm and where positions go, "
    'config={"normalization_type": …, "positional_embedding_type": …, "attn_only": …}'
)
Config = Mapping[str, Any] | str | Path | None


def load(
    source: str | Path | Mapping[str, Tensor], config: Config = None, *, begin: int = 0
) -> Transformer:
    """An attention-only model, ready for analysis, its weights frozen.

    `source`: one of

    - a folder like those of `data/models/`, with `config.toml` and `weights.safetensors`;
    - a folder with `config.json` and one file of weights, as TransformerLens or Hugging Face write it;
    - such a file of weights: `.safetensors`, `.npz`, or a state dict as `.pth`, `.pt` or `.bin`;
    - a state dict;
    - the name of a repository of such files on the Hugging Face hub, `owner/name`, or of a folder in
      one, `owner/name/folder`.

    `config`: the settings, as a dictionary or the path of a JSON file, where no `config.json` lies
    beside the weights: TransformerLens's, or a Hugging Face config. For weights by other names it must
    say `normalization_type`, `positional_embedding_type` and `n_heads`.
    A setting that nothing here knows is refused, for it may change what the model computes.
    `begin`: which token opens contexts over there. The book's analyses take 0 for it; so these two
    tokens change places, in W_E and in W_U, and whoever has tokens of theirs must swap them, too.

    A model of the paper's form comes back as a `Transformer`. Any other is a `GeneralTransformer`, whose
    `forms` say what it has that the paper's has not; an analysis that does not know one of them refuses
    the model, and names what can be called instead.

    Raises:
        UserError: if there is no such model, a file is damaged, or the book has no such models:
            what the model is, what it would have to be, and what can be done are in the message.
    """
    if isinstance(source, Mapping):
        if not isinstance(config, Mapping):
            raise files.UserError(f"a state dict needs its settings: {SAY}")
        model = _converted(source, config, "the state dict")
        return _checked(model, "the state dict", begin)
    place = _place(source)
    folder = place if place.is_dir() else place.parent
    if config is None and (folder / "config.toml").is_file():
        other = (folder / "config.json").is_file() and place.name != "weights.safetensors"
        if place.is_file() and (other or place.suffix != ".safetensors"):
            why = (
                "has a config.toml and a config.json beside it"
                if other
                else "is no .safetensors, as the config.toml beside it describes"
            )
            raise files.UserError(f"{place} {why}: say which config is its own, config=…")
        path = place / "weights.safetensors" if place.is_dir() else place
        if not path.is_file():
            raise files.UserError(f"there is no {path.name} in {path.parent}")
        model = checkpoint.of_file(path)
    else:
        path = _file(place)
        tensors, settings = _tensors(path), _config(path, config)
        model = _converted(tensors, settings, path)
    return _checked(model, source, begin)


def _converted(
    tensors: Mapping[str, Tensor], config: Mapping[str, Any], path: object
) -> Transformer:
    try:
        return conversion.transformer(tensors, config)
    except ValueError as error:
        raise files.UserError(f"{path}: {error}") from error
    except (TypeError, OverflowError, AttributeError) as error:
        raise files.UserError(
            f"{path}: a setting of its config is of another kind than it must be: {error}"
        ) from error


def _checked(model: Transformer, source: object, begin: Any) -> Transformer:
    """The model with the token that opens contexts as number 0, if its logits are numbers."""
    _require_finite(model, source)
    n_vocab = model.config.n_vocab
    if type(begin) is not int or not 0 <= begin < n_vocab:
        raise files.UserError(f"begin is {begin!r} but {source} has the tokens 0 to {n_vocab - 1}")
    if begin:
        swapped = torch.arange(n_vocab)
        swapped[[0, begin]] = torch.tensor([begin, 0])
        model.W_E.data = model.W_E[:, swapped]
        if len(model.W_U) == n_vocab:  # else its outputs are no tokens
            model.W_U.data = model.W_U[swapped]
    return model


@torch.no_grad()
def _require_finite(model: Transformer, source: object) -> None:
    tokens = torch.arange(min(model.config.n_vocab, model.config.n_ctx, 32))
    # Other tokens are not tried, but none may be so long that the circuits' products overflow.
    longest = model.W_E.abs().max() * model.W_U.abs().max() * model.config.d_model
    if not model(tokens[None]).isfinite().all() or not longest.isfinite():
        largest = max(float(W.abs().max()) for W in model.parameters())
        raise files.UserError(
            f"{source}: the weights are finite, but logits of the tokens 0 to {len(tokens) - 1}, or "
            f"products of W_E and W_U, are not. The largest weight is {largest:.2g}, and products of "
            f"such numbers must stay below {torch.finfo(model.W_E.dtype).max:.2g}"
        )


def file_of(source: str | Path) -> Path:
    """The file of weights that `load` reads: what a hash of the model is taken of."""
    place = _place(source)
    ours = place / "weights.safetensors"
    return ours if (place / "config.toml").is_file() and ours.is_file() else _file(place)


def _file(place: Path) -> Path:
    """The one file of weights in a folder, or this file itself."""
    if not place.is_dir():
        return place
    paths = sorted(path for path in place.iterdir() if path.suffix in KINDS)
    # Beside the one that hubs call so there may be others, of an optimizer.
    paths = [path for path in paths if path.name == "model.safetensors"] or paths
    if len(paths) != 1:
        names = [path.name for path in paths]
        raise files.UserError(
            f"{place} has {names or 'no files'} with weights ({', '.join(KINDS)}), but there must "
            "be one: name the file"
        )
    return paths[0]


def _config(weights: Path, config: Config) -> dict[str, Any]:
    if isinstance(config, Mapping):
        return dict(config)
    path = Path(config) if config else weights.with_name("config.json")
    if not path.is_file():
        raise files.UserError(
            f"there is no {path.name} for {weights}, nor a config.toml beside it: {SAY}"
        )
    try:
        settings = json.loads(path.read_text(encoding="utf-8-sig"))  # as Windows writes it
    except (ValueError, RecursionError) as error:
        raise files.UserError(f"{path} is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise files.UserError(f"{path} is {type(settings).__name__} but must be an object")
    return settings


def _tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file; of a `.pth` nothing but tensors is ever unpacked."""
    try:
        if path.suffix == ".safetensors":
            return safetensors.torch.load_file(path)
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return {name: torch.from_numpy(arrays[name]) for name in arrays.files}
        state_dict = torch.load(path, map_location="cpu", weights_only=True)
    except (
        SafetensorError,
        RuntimeError,
        ValueError,
        TypeError,
        EOFError,
        OSError,
        BadZipFile,
    ) as error:
        raise files.UserError(
            f"{path} is no file of weights, or cut short: {str(error) or type(error).__name__}"
        ) from error
    except Exception as error:  # pickle's own, whatever class it is
        asks = re.findall(r"GLOBAL (\S+)", str(error))
        raise files.UserError(
            f"{path} is damaged or holds more than weights{f', {asks[0]}' if asks else ''}; nothing "
            "of it was run. Ask for a .safetensors"
        ) from error
    if not isinstance(state_dict, dict) or not all(
        isinstance(name, str) and isinstance(W, Tensor) for name, W in state_dict.items()
    ):
        has = (
            f"the names {[*state_dict][:6]}"
            if isinstance(state_dict, dict)
            else f"a {type(state_dict).__name__}"
        )
        raise files.UserError(
            f"{path} must hold a state dict, names with tensors, but has {has}; where one of them is "
            "the state dict, save that by itself"
        )
    return state_dict


def _place(source: object) -> Path:
    """The folder or file, fetched from the hub if it is none of here."""
    if not isinstance(source, str | os.PathLike):
        raise files.UserError(
            f"source is {source!r} but must be the path of a folder or file, or a name on a hub"
        )
    place = Path(source).expanduser()
    if place.exists():
        return place
    named = re.fullmatch(r"(\w[\w.-]*/\w[\w.-]*)/?(.*)", str(source))
    if place.suffix in KINDS or not named:
        raise files.UserError(f"there is no {source}, and on a hub names are like owner/name")
    import huggingface_hub  # comes with Accelerate; a folder or a file does without it

    try:
        # Whatever lies in folders of a repository are checkpoints along a training, by the hundred.
        repository, inside = named.groups()
        at = f"{inside}/" if inside else ""
        wanted = [f"{at}*{kind}" for kind in (".json", ".toml", *KINDS[:3])]
        fetched = huggingface_hub.snapshot_download(
            repository, allow_patterns=wanted, ignore_patterns=[f"{at}*/*"]
        )
        return Path(fetched) / inside
    except Exception as error:  # no network, no such name, no access: each has a class of its own
        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise files.UserError(
            f"there is no file or folder {source} here, and the hub does not give it: {said}"
        ) from error
