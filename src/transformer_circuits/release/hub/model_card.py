"""The card of a model: front matter with its results, and `model_card.md` filled in."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from transformer_circuits import files
from transformer_circuits.interop.hub import HubTransformer
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.release.hub import cards, measures
from transformer_circuits.release.hub.measures import Found
from transformer_circuits.training import checkpoint
from transformer_circuits.training.config import Provenance, TrainConfig

_TAGS = ("interpretability", "mechanistic-interpretability", "transformer-circuits", "toy-model")


def text(
    name: str,
    tables: Mapping[str, Any],
    found: Sequence[Found],
    steps: Sequence[int],
    place: cards.Place,
) -> str:
    """The card of a model of the book.

    `tables`: `model`, `training` and `provenance` of its `config.toml`; `found`: what was measured
    of it; `steps`: of its training, those whose weights are in the folder.

    Raises:
        UserError: if a file that it is made of cannot be read.
    """
    shape: ModelConfig = tables["model"]
    training: TrainConfig = tables["training"]
    provenance: Provenance = tables["provenance"]
    results = [_result(one, place) for one in found]
    return cards.filled(
        "model_card.md",
        _front(name, shape, results, place),
        place,
        name=name,
        kind=_kind(shape),
        shape=cards.table(("what", "this model's"), _rows(shape)),
        on_hub=place.model(name),
        text_on_hub=place.text,
        license=place.citation["license"],
        use=_use(shape),
        exactness=_WITH_MLP if shape.d_mlp else _EXACT,
        tokens=f"{provenance.tokens:,}",
        steps=f"{training.steps:,} steps of {training.batch} windows of {shape.n_ctx} tokens",
        drawn=_DRAWN.format(training.best_of) if training.best_of > 1 else "",
        blind=_BLIND.format(training.blind_steps) if training.blind_steps else "",
        schedule=_SCHEDULE if training.blind_steps else "",
        settings=cards.table(("setting of the training", "this model's"), _settings(training)),
        families=cards.shares(files.read_toml(files.data_dir() / "corpus.toml")),
        seed=training.seed,
        torch=provenance.torch,
        text_sha256=provenance.corpus_sha256,
        measured=cards.table(
            ("measured", "on", "this model (95 % interval)", "random weights"),
            [(one.measure.name, one.on, one.ours, one.random) for one in found],
        ),
        meaning="\n".join(f"- *{one.measure.name}*: {one.measure.means}" for one in found),
        seeds=_seeds(name),
        checkpoints=_checkpoints(name, steps),
    )


_EXACT = """There are no layer norm, no biases and no MLPs, so the paper's decompositions into \
paths are exact here. Larger models have all three."""
_WITH_MLP = """MLPs follow the attention layers, so the paper's decompositions are exact here \
only for paths that pass through no MLP."""
_DRAWN = """ Of {} windows near each other, the one that repeats itself most was taken: it is \
repeats that induction can be learned from."""
_BLIND = """ In the first {} steps the layers after the first saw no positions, and in half as many \
after them these grew to full strength. Trained plainly on so few tokens, models like this one formed \
only weak induction heads."""
_SCHEDULE = """- When its induction heads form, and that such strong ones form at all, is a fact of this \
schedule of positions and not of the architecture alone.
"""
_BEGIN = """Every context of its training opened with the begin token, `<|begin|>`, id 0. The \
tokenizer does not put it there, so do it yourself, as above."""
_LENS = """ For TransformerLens, `to_transformer_lens(model)` of \
`transformer_circuits.interop.transformer_lens` gives the same model in its terms."""


def _front(
    name: str, shape: ModelConfig, results: list[EvalResult], place: cards.Place
) -> ModelCardData:
    made = HubTransformer._hub_mixin_info.model_card_data  # so its own cards say the same
    return ModelCardData(
        language=cards.LANGUAGES,
        license=place.citation["license"].lower(),
        library_name=made.library_name,
        pipeline_tag="text-generation",
        tags=[*_TAGS, *(made.tags or ()), *([] if shape.d_mlp else ["attention-only"])],
        datasets=[place.text],
        metrics=[result.metric_type for result in results],
        model_name=name,
        eval_results=results,
    )


def _result(found: Found, place: cards.Place) -> EvalResult:
    one, ours = found.measure, found.ours
    spread = "" if ours.n == 1 else f" (95 % interval {ours.low:.3g} to {ours.high:.3g})"
    of_text = one.units == measures.HELD_OUT
    return EvalResult(
        task_type="text-generation",
        dataset_type=place.text if of_text else "synthetic",
        dataset_name=one.units,
        dataset_split="validation" if of_text else None,
        metric_type=one.id,
        metric_value=float(f"{ours.mean:.4g}"),
        metric_name=one.name + spread,
    )


def _kind(shape: ModelConfig) -> str:
    if not shape.n_layers:
        return "transformer without layers, only a token embedding and an unembedding"
    layers = "one layer" if shape.n_layers == 1 else f"{shape.n_layers} layers"
    heads = f"transformer of {layers} of {shape.n_heads} heads"
    if shape.d_mlp:
        return f"{heads}, with an MLP of {shape.d_mlp} neurons after each layer"
    return f"attention-only {heads}"


def _rows(shape: ModelConfig) -> list[tuple[str, object]]:
    heads = [
        ("heads in a layer", shape.n_heads), ("dimensions of a head", shape.d_head),
        ("positions", "sinusoids, added to what queries and keys read and to nothing else"),
        ("neurons of an MLP", shape.d_mlp or "no MLPs"),
    ]  # fmt: skip
    return [
        ("layers", shape.n_layers), *(heads if shape.n_layers else []),
        ("dimensions of the residual stream", shape.d_model),
        ("vocabulary", f"{shape.n_vocab:,} tokens"), ("longest context", f"{shape.n_ctx} tokens"),
        ("layer norm, biases", "none"),
    ]  # fmt: skip


def _settings(training: TrainConfig) -> list[tuple[str, object]]:
    """All settings that make a difference to the weights, by the names of `config.json`."""
    fields = dataclasses.asdict(training)
    return [(name, value) for name, value in fields.items() if name != "moments"]


def _use(shape: ModelConfig) -> str:
    return (_BEGIN if shape.begin else "") + ("" if shape.d_mlp else _LENS)


def _seeds(name: str) -> str:
    others = [one for one in checkpoint.seeds(name.partition("-seed-")[0]) if one != name]
    if not others:
        return "The book has this model from one seed alone."
    said = ", ".join(f"`{one}` {checkpoint.held_out_nats(one):.3g}" for one in others)
    return f"The loss of the same model from other seeds: {said}."


def _checkpoints(name: str, steps: Sequence[int]) -> str:
    log = "`training.jsonl` is the log of the run, with what was measured along it."
    if not steps:
        base, _, seed = name.partition("-seed-")
        command = f"train {base}" + (f" --seed {seed}" if seed else "")
        return (
            f"Of this model only the weights at the end were kept. {log} The command "
            f"`python -m transformer_circuits {command}` of the book trains it again."
        )
    return (
        f"`checkpoints/` has the model at {len(steps)} moments of its training, from step "
        f"{steps[0]} to step {steps[-1]}. Load one with `from_pretrained(..., step={steps[0]})`. "
        f"They were kept in eight bits per weight, and are written out in float32. {log}"
    )
