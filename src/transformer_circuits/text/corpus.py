"""Corpus: the text the models learn from, built from pinned packages, the same bytes on every machine.

Two profiles: "small" (every family, under 15 MB to download; for chapters and tests) and "full"
(for training). A document of the small profile is the same document, on the same side of the split,
in the full one (but for blocks that another document of it has, see `without_repeats`); so held-out
text of either was never trained on.

Three splits: "train"; "validation", other packages with the same kinds of text (of one package,
other documents); and "unseen-kind", a kind of text that no package of the training text was taken
for.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int32
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.text import sources, tokenizer
from transformer_circuits.text.cleaning import CLEANERS, SHORTEST

SPLITS = ("train", "validation", "unseen-kind")
VALIDATION_SHARE = 0.03
"""Share of the documents held out of a package that is split by document."""


@dataclass(frozen=True)
class Document:
    """Document of the corpus; `name` is "package/path inside it"."""

    family: str
    name: str
    text: str
    split: str


def fraction(name: str) -> float:
    """Number in [0, 1) that depends on `name` alone: the same on every machine and Python."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64


def _documents(profile: str, archives: Path) -> Iterator[Document]:
    for package in sources.manifest(profile):
        for path, raw in sources.members(archives / package.file, package.inside):
            for take in (take for take in package.takes if take.wants(path)):
                for name, text in CLEANERS[take.cleaner](path, raw):
                    name = f"{package.name}/{name}"
                    if len(text) < SHORTEST or fraction(f"keep {name}") >= take.keep:
                        continue
                    split = package.split
                    if split == "by-document":
                        held_out = fraction(f"split {name}") < VALIDATION_SHARE
                        split = "validation" if held_out else "train"
                    trained_on = split == "train" and profile == "small"
                    if trained_on and fraction(f"small {name}") >= take.keep_small:
                        continue
                    yield Document(take.family, name, text, split)


def without_repeats(documents: list[Document], block: int = 160) -> list[Document]:
    """Documents without those seen before and, inside documents, without blocks that an earlier one has.

    Blocks of at least `block` characters are compared; they are separated by empty lines, and white
    space does not count. Repeats inside one document stay: those a model can learn to copy.
    Held-out text goes first, so a block of both sides stays there and is never trained on. A
    document of which less than `cleaning.SHORTEST` is left is dropped, and still counts as earlier:
    a block that it alone had is then nowhere. The small profile has no such document, and to count
    otherwise could change the pinned text of the full one.
    """

    def key(text: str) -> str:
        return re.sub(r"\s+", " ", text).strip()

    seen: set[str] = set()
    documents_seen: set[str] = set()
    kept = []
    for document in sorted(documents, key=lambda d: d.split == "train"):
        blocks, here = [], set()
        for text in document.text.strip("\n").split("\n\n"):
            if len(text) >= block:
                if key(text) in seen:
                    continue
                here.add(key(text))
            blocks.append(text)
        seen |= here
        text = re.sub(r"\n{3,}", "\n\n", "\n\n".join(blocks)).strip("\n") + "\n"
        if len(text) >= SHORTEST and key(text) not in documents_seen:
            documents_seen.add(key(text))
            kept.append(Document(document.family, document.name, text, document.split))
    return kept


def build(profile: str, folder: Path | None = None) -> dict[str, Path]:
    """Fetch, clean, split and write `<profile>-<split>.jsonl`; returns the paths by split.

    Does nothing where all files are there with the SHA-256 that `data/corpus.toml` pins.
    """
    wanted = sources.manifest(profile)
    pinned = {split: _pinned(profile, split) for split in SPLITS}
    folder = folder or files.cache_dir()
    paths = {split: folder / f"{profile}-{split}.jsonl" for split in SPLITS}
    if all(p.exists() and files.sha256(p) == pinned[split] for split, p in paths.items()):
        return paths
    archives = files.cache_dir() / "packages"
    sources.fetch(wanted, archives)
    documents = without_repeats(list(_documents(profile, archives)))
    documents.sort(key=lambda d: fraction(f"order {d.name}"))
    for split, path in paths.items():
        with files.atomic(path) as temporary:
            with temporary.open("w", encoding="utf-8", newline="\n") as file:
                for document in documents:
                    if document.split == split:
                        file.write(files.as_json(asdict(document), ensure_ascii=False) + "\n")
            actual = files.sha256(temporary)
            if actual != pinned[split]:
                raise files.UserError(
                    f"{path.name} came out with SHA-256 {actual} but data/corpus.toml pins "
                    f"{pinned[split]}; if the manifest was changed on purpose, pin the new one"
                )
    return paths


def _pinned(profile: str, split: str) -> str:
    """SHA-256 that a text must have."""
    path = files.data_dir() / "corpus.toml"
    profiles = files.read_toml(path).get("profile", {})
    if split not in profiles.get(profile, {}):
        raise files.UserError(
            f'there is no text "{split}" of a profile "{profile}": {path} pins {[*SPLITS]} of '
            f"{[*profiles]}"
        )
    return profiles[profile][split]


def read(profile: str, split: str) -> list[Document]:
    """Documents of one split; fetched first if they are not in the cache."""
    _pinned(profile, split)  # refuses a split that is not there
    path = build(profile)[split]
    with path.open(encoding="utf-8") as file:
        return [Document(**json.loads(line)) for line in file]


@dataclass(frozen=True)
class Part:
    """Part of a split from one package and family; `share` of the split's characters, 0 to 1."""

    family: str
    package: str
    documents: int
    characters: int
    share: float


def composition(profile: str, split: str) -> list[Part]:
    """Parts of a split, one for each family and package, the largest first."""
    lengths: dict[tuple[str, str], list[int]] = {}
    for document in read(profile, split):
        key = document.family, document.name.split("/")[0]
        lengths.setdefault(key, []).append(len(document.text))
    total = sum(map(sum, lengths.values()))
    parts = [Part(*key, len(n), sum(n), sum(n) / total) for key, n in lengths.items()]
    return sorted(parts, key=lambda part: (-part.characters, part.family, part.package))


VOCABULARY = {
    "prose": 25_500_000,
    "python": 12_000_000,
    "docs": 12_000_000,
    "html": 5_000_000,
    "latex": 4_000_000,
}
"""Characters of each family for learning the vocabulary. Nearly half is prose, an eighth of the
training text, so that common English words become tokens; it costs the code 3 % more tokens.
"""


def first(profile: str, characters: Mapping[str, int]) -> Iterator[Document]:
    """Documents for training, in their order, until each family has so many characters."""
    left = dict(characters)
    for document in read(profile, "train"):
        if left.get(document.family, 0) > 0:
            left[document.family] -= len(document.text)
            yield document


def tokens(profile: str, split: str) -> Int32[Tensor, " n_tokens"]:
    """Split as a stream of token ids, BEGIN before each document; computed once, then cached.

    In tokens of the tokenizer in use, see `tokenizer.using`.
    """
    text_hash, vocab_hash = _pinned(profile, split), files.sha256(tokenizer.path())
    cached = files.cache_dir() / f"{profile}-{split}-{text_hash[:8]}-{vocab_hash[:8]}.npy"
    if not cached.exists():
        stream = tokenizer.encode(tokenizer.load(), [d.text for d in read(profile, split)])
        with files.atomic(cached) as temporary, temporary.open("wb") as file:
            np.save(file, stream.numpy().astype(np.uint16))
    # 16 bits on disk hold every vocabulary that `tokenizer.train` allows; torch computes with 32.
    return torch.from_numpy(np.load(cached).astype(np.int32))


def tokens_of(profile: str, split: str, family: str) -> Int32[Tensor, " n_tokens"]:
    """Documents of one family in the stream of `tokens`, in their order."""
    stream, families = tokens(profile, split), [d.family for d in read(profile, split)]
    if family not in families:
        raise files.UserError(f'no family "{family}" in {split}, only {sorted({*families})}')
    document = (stream == tokenizer.BEGIN).cumsum(0) - 1  # [n_tokens], to which one each belongs
    return stream[torch.tensor([name == family for name in families])[document]]
