"""The card of the text that the models read, from `data/corpus.toml`."""

from collections.abc import Iterator

from huggingface_hub import DatasetCardData

from transformer_circuits import files
from transformer_circuits.release.hub import cards
from transformer_circuits.text import corpus, sources

_SPLITS = {
    "train": "the part of the training text that the small profile holds",
    "validation": "held out: the same kinds of text, from other packages or other documents",
    "unseen-kind": "held out: a kind of text that no package of the training text gives",
}


def text(place: cards.Place) -> str:
    """The card of the text.

    Raises:
        UserError: if a file that it is made of cannot be read, or the text of the small profile
            cannot be had.
    """
    title = f"The text of {place.citation['title']}"
    manifest, packages = files.read_toml(files.data_dir() / "corpus.toml"), sources.manifest("full")
    data = DatasetCardData(
        language=cards.LANGUAGES,
        license="other",
        license_name="that-of-each-package",
        pretty_name=title,
        task_categories=["text-generation"],
        tags=["interpretability", "source-code", "documentation"],
    )
    pins = [
        (profile, split, f"`{sha256}`")
        for profile, pinned in manifest["profile"].items()
        for split, sha256 in pinned.items()
    ]
    return cards.filled(
        "text_card.md",
        data,
        place,
        pretty_name=title,
        n_packages=len(packages),
        characters=f"{sum(manifest['characters']['full'].values()):,}",
        families=cards.shares(manifest),
        splits=cards.table(("split", "tokens", "what"), _splits()),
        share=f"{corpus.VALIDATION_SHARE:.0%}",
        pins=cards.table(("profile", "split", "SHA-256"), pins),
        packages=cards.table(
            ("package", "version", "licence", "text", "split", "small profile"),
            map(_row, packages),
        ),
    )


def _splits() -> Iterator[tuple[str, str, str]]:
    for split in corpus.SPLITS:
        yield split, f"{len(corpus.tokens('small', split)):,}", _SPLITS[split]


def _row(package: sources.Package) -> tuple[str, ...]:
    families = ", ".join(dict.fromkeys(cards.family(take.family) for take in package.takes))
    small = "yes" if package.small else "no"
    return package.name, package.version, package.licence, families, package.split, small
