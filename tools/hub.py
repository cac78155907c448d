"""`make hub`: for each model, and for the text, the folder that its owner may upload to a model hub.

What a model's card states of it is what `results/manifest.json` found of its claims. Its prose is in
`model_card.md`, that of the text in `text_card.md`.
"""

import dataclasses
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import safetensors.torch
from huggingface_hub import (
    CardData,
    DatasetCardData,
    EvalResult,
    ModelCardData,
    RepoCard,
)

from tools import about, article, manifest
from tools.bundle import NAMELESS, NOWHERE
from transformer_circuits import files
from transformer_circuits.claims import registry
from transformer_circuits.interop import hub
from transformer_circuits.text import corpus, sources, tokenizer
from transformer_circuits.training import checkpoint, config

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


def base_models() -> list[str]:
    """The models of the book, without those that differ in their seed alone."""
    names = (path.parent.name for path in checkpoint.models_dir().glob("*/config.toml"))
    return sorted(name for name in names if "-seed-" not in name)


def write(names: Sequence[str], owner: str, root: Path) -> Iterator[Path]:
    """Write the folder of each model, and of the text anew; each, when it is there, in turn.

    `names`: all of `base_models`, if there is none.
    `owner`: the account on the hub that the cards name, may be empty.
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


def _write_weights(folder: Path, name: str, step: int | None = None) -> None:
    """In full precision, which other libraries read, too."""
    weights = checkpoint.load(name, step=step).state_dict()
    safetensors.torch.save_file(weights, folder / hub.WEIGHTS)


def _model(folder: Path, name: str, owner: str, root: Path) -> Path:
    source = checkpoint.folder(name)
    tables = config.read(source / "config.toml", "model", "training", "provenance")
    shape = tables["model"]
    more = {kind: dataclasses.asdict(tables[kind]) for kind in ("training", "provenance")}
    _write_weights(folder, name)
    more["provenance"]["weights_sha256"] = files.sha256(folder / hub.WEIGHTS)
    hub.describe(folder, shape, dtype="float32", **more)
    for path in (source / "training.jsonl", files.data_dir() / "tokenizer.json"):
        shutil.copy(path, folder)
    of_tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokenizer.load().id_to_token(tokenizer.BEGIN),
        "model_max_length": shape.n_ctx,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(files.as_json(of_tokenizer, indent=2) + "\n")
    steps = checkpoint.steps(source)
    for step in steps:
        place = _empty(folder / hub.place_of(step))
        _write_weights(place, name, step)
        hub.describe(place, shape, dtype="float32", step=step, training=more["training"])
    base, _, seed = name.partition("-seed-")
    nats = {one: checkpoint.held_out_nats(one) for one in checkpoint.seeds(base)}
    settings = {name: value for name, value in more["training"].items() if name != "checkpoints"}
    front_matter = ModelCardData(
        language=LANGUAGES,
        license=about.citation(root)["license"].lower(),
        library_name=hub.LIBRARY,
        pipeline_tag="text-generation",
        tags=[*_TAGS, *([] if shape.d_mlp else ["attention-only"])],
        datasets=[on_hub(owner, "text")],
        metrics=["cross_entropy"],
        model_name=name,
        eval_results=[EvalResult(
            task_type="text-generation",
            dataset_type=on_hub(owner, "text"),
            dataset_name="held-out text",
            dataset_split="validation",
            metric_type="cross_entropy",
            metric_value=nats[name],
            metric_name="nats per token",
        )],
    )  # fmt: skip
    _write_card(
        folder / CARD,
        "model_card.md",
        front_matter,
        root,
        name=name,
        **tables,
        settings=about.table(("setting of the training", "this model's"), settings.items()),
        nats=nats.pop(name),
        others=", ".join(f"`{one}` {loss:.4g}" for one, loss in nats.items()),
        found=_found(name),
        steps=steps,
        command=base + (f" --seed {seed}" if seed else ""),
        on_hub=on_hub(owner, name),
        text_on_hub=on_hub(owner, "text"),
    )
    return folder


def _found(name: str) -> str:
    """What the committed manifest has of a model: every claim that was decided on it."""
    found = manifest.read(files.data_dir().parent / manifest.COMMITTED)["claims"]
    rows = [
        (claim.statement, claim.rule, article.interval(of["seeds"][name]),
         article.must_be(claim), of["verdict"])
        for claim in registry.read().values()
        if name in (of := found[claim.id]).get("seeds", ())
    ]  # fmt: skip
    columns = ("claim", "what counts", "this model (95 % interval)", "must be", "verdict")
    return about.table(columns, rows)


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
