"""`make hub`: for each model, and for the text, the folder that its owner may upload to a model hub.

What a model's card states, with intervals, is measured when it is written. Its prose is in
`model_card.md`, that of the text in `text_card.md`.
"""

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
import torch
from huggingface_hub import (
    CardData,
    DatasetCardData,
    EvalResult,
    ModelCardData,
    RepoCard,
)
from jaxtyping import Float
from torch import Tensor

from tools import about
from tools.bundle import NAMELESS, NOWHERE
from transformer_circuits import files
from transformer_circuits.analysis import induction
from transformer_circuits.model import hub
from transformer_circuits.text import corpus, sources, tokenizer
from transformer_circuits.training import checkpoint, config, cross_entropy
from transformer_circuits.verdicts import rules, subjects
from transformer_circuits.verdicts.metrics import copying
from transformer_circuits.verdicts.metrics import induction as of_induction
from transformer_circuits.verdicts.rules import Interval
from transformer_circuits.verdicts.subjects import Subject

FOLDER, DATASET, CARD = "_build/hub", "dataset", "README.md"
NO_OWNER = "YOUR-ACCOUNT"
"""Stands where the account on the hub is not named."""
LANGUAGES = ["en", "code"]
_TAGS = ["interpretability", "mechanistic-interpretability", "transformer-circuits", "toy-model"]
_SPLITS = {
    "train": "the part of the training text that the small profile holds",
    "validation": "held out: the same kinds of text, from other packages or other documents",
    "unseen-kind": "held out: a kind of text that no package of the training text gives",
}


@dataclass(frozen=True)
class Measure:
    """Something that is measured of every model with so many layers, or more."""

    id: str
    """For the hub's index of results."""
    name: str
    means: str
    """In words, with its unit or range."""
    units: str
    """What it is measured on, in the plural, or a fact of the weights."""
    of: Callable[[Subject], Float[Tensor, "*unit"]]
    """One value for each unit; one in all, if it is a fact of the weights."""
    least_layers: int = 0


LATE, EARLY = (480, 500), (40, 60)
"""Positions at which the same tokens are predicted, with much context and with little."""
HELD_OUT = "windows of held-out text"
_TWICE, _WEIGHTS = "passages of random tokens that come twice", "the weights alone"


def _gain(subject: Subject) -> Float[Tensor, " window"]:
    n_windows = cross_entropy.N_WINDOWS
    model, text = subject.model, subject.text
    return -induction.in_context_learning_score(model, text, n_windows, LATE, EARLY)


MEASURES = (
    Measure(
        "cross_entropy", "loss",
        "What the next token of a text costs, in nats: −ln of the probability it was given.",
        HELD_OUT, lambda subject: subject.losses().mean(dim=1),
    ),
    Measure(
        "context_gain", "gain from context",
        f"How many nats less the same tokens cost at positions {LATE[0]} to {LATE[1]} of a context "
        f"than at positions {EARLY[0]} to {EARLY[1]}. Random weights gain, too: where more tokens are "
        "averaged, their logits are smaller and cost less.",
        HELD_OUT, _gain,
    ),
    Measure(
        "accuracy", "induction",
        "How often the right token gets the highest logit of all in the second copy, 0 to 1.",
        _TWICE, of_induction.right_first_on_random_tokens,
    ),
    Measure(
        "prefix_matching", "matching",
        "How much the head of the last layer that does so most looks at what followed earlier "
        "copies of the present token, 0 to 1. The head is chosen on other passages.",
        _TWICE, of_induction.best_matching, 1,
    ),
    Measure(
        "copying", "copying",
        "Share of the last layer's heads whose OV circuit raises the token that it reads more than "
        "random heads' do, by four standard deviations of their eigenvalue scores.",
        _WEIGHTS, copying.share_of_copying_heads, 1,
    ),
)  # fmt: skip
Measured = list[tuple[Measure, Interval, Interval]]
"""Each measure of a model, and the same of a model of its shape with random weights."""


def measured(subject: Subject) -> Measured:
    """Every one of `MEASURES` that a model has layers for, with the 95 % interval over its units.

    Raises:
        ValueError: if the model's contexts are shorter than `LATE`.
    """
    random = dataclasses.replace(subject, name="random", model=subjects.random_weights(subject))
    with torch.no_grad():
        return [
            (one, *(rules.interval(one.of(which)) for which in (subject, random)))
            for one in MEASURES
            if one.least_layers <= subject.model.config.n_layers
        ]


def base_models() -> list[str]:
    """The models of the book, without those that differ in their seed alone."""
    names = (path.parent.name for path in checkpoint.models_dir().glob("*/config.toml"))
    return sorted(name for name in names if "-seed-" not in name)


def write(names: Sequence[str], owner: str, root: Path) -> Iterator[Path]:
    """Write the folder of each model, and of the text anew; each, when it is there, in turn.

    `names`: all of `base_models`, if there is none.
    `owner`: the account on the hub that the cards name, may be empty.

    Raises:
        UserError: if there is no such model, it is not trained, or a file is damaged.
    """
    for name in names:
        checkpoint.folder(name)  # all of them are there, before the first is made
    for name in names or base_models():
        yield _model(_empty(root / FOLDER / name), name, owner, root)
    folder = _empty(root / FOLDER / DATASET)
    shutil.copy(files.data_dir() / "corpus.toml", folder)
    _write_text_card(folder, root)
    yield folder


def placeholders(folder: Path) -> list[str]:
    """What a card names and is not there: to be set before the folder is uploaded."""
    card = (folder / CARD).read_text(encoding="utf-8")
    return [name for name in (NAMELESS, NOWHERE, about.NO_ADDRESS, NO_OWNER) if name in card]


def on_hub(owner: str, name: str) -> str:
    """What the folder of a model, or of the `text`, is called on the hub."""
    return f"{owner or NO_OWNER}/transformer-circuits-{name}"


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _model(folder: Path, name: str, owner: str, root: Path) -> Path:
    source = checkpoint.folder(name)
    tables = config.read(source / "config.toml", "model", "training", "provenance")
    shape = tables["model"]
    more = {kind: dataclasses.asdict(tables[kind]) for kind in ("training", "provenance")}
    shutil.copy(source / "weights.safetensors", folder / hub.WEIGHTS)
    hub.describe(folder, shape, dtype="float16", **more)
    for path in (source / "training.jsonl", files.data_dir() / "tokenizer.json"):
        shutil.copy(path, folder)
    of_tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokenizer.load().id_to_token(tokenizer.BEGIN),
        "model_max_length": shape.n_ctx,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(of_tokenizer, indent=2) + "\n")
    steps = checkpoint.moments(source)
    for step in steps:
        moment = _empty(folder / hub.place_of(step))
        weights = checkpoint.load(name, step=step).state_dict()
        safetensors.torch.save_file(weights, moment / hub.WEIGHTS)
        hub.describe(moment, shape, dtype="float32", step=step, training=more["training"])
    found = measured(subjects.named(name))
    base, _, seed = name.partition("-seed-")
    others = [one for one in checkpoint.seeds(base) if one != name]
    settings = {name: value for name, value in more["training"].items() if name != "moments"}
    _write_card(
        folder / CARD,
        "model_card.md",
        _front_matter(name, tables, found, owner, root),
        root,
        name=name,
        **tables,
        settings=about.table(("setting of the training", "this model's"), settings.items()),
        measured=about.table(
            ("measured", "on", "this model (95 % interval)", "random weights"),
            [(one.name, _on(one, ours), ours, random) for one, ours, random in found],
        ),
        measures=[one for one, _, _ in found],
        steps=steps,
        command=base + (f" --seed {seed}" if seed else ""),
        others=", ".join(f"`{one}` {cross_entropy.held_out_nats(one):.3g}" for one in others),
        on_hub=on_hub(owner, name),
        text_on_hub=on_hub(owner, "text"),
    )
    return folder


def _on(measure: Measure, ours: Interval) -> str:
    """What it was measured on, and how many of them."""
    return measure.units if ours.n == 1 else f"{ours.n} {measure.units}"


def _front_matter(
    name: str, tables: dict, found: Measured, owner: str, root: Path
) -> ModelCardData:
    made = hub.HubTransformer._hub_mixin_info.model_card_data  # so its own cards say the same
    results = []
    for one, ours, _ in found:
        of_text = one.units == HELD_OUT
        spread = f" (95 % interval {ours.low:.3g} to {ours.high:.3g})" if ours.n > 1 else ""
        results.append(EvalResult(
            task_type="text-generation",
            dataset_type=on_hub(owner, "text") if of_text else "synthetic",
            dataset_name=one.units,
            dataset_split="validation" if of_text else None,
            metric_type=one.id,
            metric_value=float(f"{ours.mean:.4g}"),
            metric_name=one.name + spread,
        ))  # fmt: skip
    return ModelCardData(
        language=LANGUAGES,
        license=about.citation(root)["license"].lower(),
        library_name=made.library_name,
        pipeline_tag="text-generation",
        tags=[*_TAGS, *(made.tags or ()), *([] if tables["model"].d_mlp else ["attention-only"])],
        datasets=[on_hub(owner, "text")],
        metrics=[result.metric_type for result in results],
        model_name=name,
        eval_results=results,
    )


def _write_text_card(folder: Path, root: Path) -> None:
    title = f"The text of {about.citation(root)['title']}"
    made_of, packages = files.read_toml(folder / "corpus.toml"), sources.manifest("full")
    data = DatasetCardData(
        language=LANGUAGES, license="other", license_name="that-of-each-package", pretty_name=title,
        task_categories=["text-generation"],
        tags=["interpretability", "source-code", "documentation"],
    )  # fmt: skip
    splits = [(s, f"{len(corpus.tokens('small', s)):,}", _SPLITS[s]) for s in corpus.SPLITS]
    pins = [
        (profile, split, f"`{sha256}`")
        for profile, pinned in made_of["profile"].items()
        for split, sha256 in pinned.items()
    ]
    listed = [
        (one.name, one.version, one.licence,
         ", ".join(dict.fromkeys(about.family(take.family) for take in one.takes)),
         one.split, "yes" if one.small else "no")
        for one in packages
    ]  # fmt: skip
    columns = ("package", "version", "licence", "text", "split", "small profile")
    _write_card(
        folder / CARD, "text_card.md", data, root,
        n_packages=len(packages),
        characters=f"{sum(made_of['characters']['full'].values()):,}",
        splits=about.table(("split", "tokens", "what"), splits),
        share=f"{corpus.VALIDATION_SHARE:.0%}",
        pins=about.table(("profile", "split", "SHA-256"), pins),
        packages=about.table(columns, listed),
    )  # fmt: skip


def _write_card(path: Path, template: str, data: CardData, root: Path, **values: object) -> None:
    """A card: its front matter, then one of our templates with everything filled in."""
    citation = about.citation(root)
    card = RepoCard.from_template(
        data,
        template_path=str(Path(__file__).with_name(template)),
        title=citation["title"],
        address=about.address(root) or about.NO_ADDRESS,
        bibtex=about.bibtex(root),
        families=about.shares(files.read_toml(files.data_dir() / "corpus.toml")),
        **({"license": citation["license"]} | values),
    )
    path.write_text(f"{card}\n", encoding="utf-8")
