"""A model as one folder that a model hub shows, and that `huggingface_hub` saves, loads and uploads.

The folder holds `model.safetensors` and `config.json`; `tools/hub.py` adds what readers need. The
hub's own classes read it, too: the keys of `config.json` that are fields of `ModelConfig` build
the model, the others say what it is.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, cast

import safetensors.torch
from huggingface_hub import PyTorchModelHubMixin, snapshot_download
from huggingface_hub.errors import HFValidationError
from safetensors import SafetensorError
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.model import weights
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer

CONFIG, WEIGHTS = "config.json", "model.safetensors"
LIBRARY = "transformer-circuits"
"""What has to be installed to load the model."""


class HubTransformer(Transformer, PyTorchModelHubMixin, library_name=LIBRARY, license="mit"):
    """A `Transformer` with `from_pretrained`, `save_pretrained` and `push_to_hub`.

    In all else it is the model of the book: every analysis takes it.

    >>> import tempfile
    >>> shape = ModelConfig(
    ...     n_layers=1, n_heads=2, d_model=6, d_head=3, n_vocab=5, n_ctx=4, position_base=100.0
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     HubTransformer(shape).save_pretrained(folder)
    ...     HubTransformer.from_pretrained(folder).config == shape
    True
    """

    def _save_pretrained(self, save_directory: Path) -> None:
        super()._save_pretrained(save_directory)
        describe(save_directory, self.config)

    @classmethod
    def from_pretrained(  # pyrefly: ignore[bad-override]  # stricter: what does not fit is refused
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        step: int | None = None,
        map_location: str = "cpu",
        **download: Any,
    ) -> "HubTransformer":
        """The model in a folder, or of that name on the hub, in float32 and ready to evaluate.

        A file that is missing, damaged, or does not fit the others is named, with the remedy.

        `step`: the model as it was after so many steps of its training, where the folder
        `checkpoints` has it.
        `download`: `revision`, `token`, `cache_dir` … as in `huggingface_hub.snapshot_download`.
        """
        name, inside = str(pretrained_model_name_or_path), place_of(step)
        place = Path(name)
        if not place.is_dir():
            wanted = [(Path(inside) / file).as_posix() for file in (CONFIG, WEIGHTS)]
            try:
                place = Path(snapshot_download(name, allow_patterns=wanted, **download))
            except (HFValidationError, OSError) as error:  # OSError: not there, or no network
                raise files.UserError(
                    f"there is no folder {name}, and the hub gave no model of that name ({error}): "
                    "make the folder with python -m tools hub, or correct the name"
                ) from error
        path = place / inside / WEIGHTS
        about = _about(path.with_name(CONFIG))
        try:
            tensors = safetensors.torch.load_file(path)
        except (SafetensorError, FileNotFoundError) as error:
            raise _broken(path, f"does not fit {CONFIG}: {error}") from error
        return cls.of_tensors(tensors, about, path).to(map_location)

    @classmethod
    def of_tensors(
        cls, tensors: Mapping[str, Tensor], about: Mapping[str, Any], path: Path
    ) -> "HubTransformer":
        """The model that a `config.json` describes, ready to evaluate; its weights were read from a file.

        Refused, naming the file, if it is not the file that is described, or does not fit.
        """
        names = {field.name for field in fields(ModelConfig)}
        given = {name: value for name, value in about.items() if name in names}
        expected = about.get("weights_sha256")  # not there, if the hub's library wrote the file
        if expected not in (None, found := files.sha256(path)):
            raise _broken(path, f"has SHA-256 {found} but {CONFIG} says {expected}")
        weights.require_numbers(tensors, path)
        try:
            model = cls(cast(ModelConfig, ModelConfig.from_dict(given)))
            model.load_state_dict(tensors)
        except (files.UserError, RuntimeError) as error:
            raise _broken(path, f"does not fit {CONFIG}: {error}") from error
        return model.eval()


def place_of(step: int | None) -> str:
    """Where the model after so many steps lies in the folder: the folder itself at the end, None."""
    return "." if step is None else f"checkpoints/step-{step:06}"


def describe(folder: Path, shape: ModelConfig, **more: Any) -> None:
    """Write `config.json` into a folder that has the weights already: the shape, and what it is.

    `more`: what else is known of the model; nothing of it is needed to build it.
    """
    about = {
        "architectures": [HubTransformer.__name__],
        "model_type": "transformer_circuits",
        **asdict(shape),
        # In the words of TransformerLens, which knows this kind of model.
        "attn_only": not shape.d_mlp,
        "normalization_type": None,
        "positional_embedding_type": "shortformer",
        "weights_sha256": files.sha256(folder / WEIGHTS),
        **more,
    }
    with files.atomic(folder / CONFIG) as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def _about(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _broken(path, "is not there") from None
    except (ValueError, RecursionError) as error:  # not JSON or UTF-8; lists without end
        raise _broken(path, f"is not a JSON object: {error}") from error
    if not isinstance(about, dict):
        raise _broken(path, f"is not a JSON object but {type(about).__name__}")
    return about


def _broken(path: Path, reason: object) -> files.UserError:
    return files.UserError(
        f"{path} {reason}. Fetch the folder again, or make it again: python -m tools hub"
    )
