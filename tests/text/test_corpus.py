import numpy as np
import pytest
import torch

from transformer_circuits import files
from transformer_circuits.text import corpus, sources, tokenizer
from transformer_circuits.text.corpus import Document


@pytest.mark.slow
def test_two_builds_are_the_same_bytes(tmp_path):
    """Both must also be the bytes that data/corpus.toml pins, or `build` raises."""
    one, two = corpus.build("small"), corpus.build("small", tmp_path)
    for split in corpus.SPLITS:
        assert one[split].read_bytes() == two[split].read_bytes()


def test_a_build_that_differs_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    text = "a sentence that is long enough to be kept; " * 20
    document = Document("prose", "some/page", text, "train")
    monkeypatch.setattr(corpus, "_documents", lambda profile, archives: [document])
    monkeypatch.setattr(corpus, "_pinned", lambda profile, split: "beef")
    with pytest.raises(
        files.UserError, match=r"small-train.jsonl came out with SHA-256 .* pins beef"
    ):
        corpus.build("small", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_held_out_packages_and_documents_are_never_trained_on():
    train, held_out = (corpus.read("small", split) for split in ("train", "validation"))
    assert not {d.name for d in train} & {d.name for d in held_out}
    whole = {p.name for p in sources.manifest("small") if p.split != "by-document"}
    packages_of = [{d.name.split("/")[0] for d in docs} & whole for docs in (train, held_out)]
    assert not packages_of[0] & packages_of[1]


@pytest.mark.slow
def test_windows_of_validation_are_rare_in_training():
    """At most 2 % of the 50-token windows of held-out text occur in the training text."""

    def windows(split):
        stream = corpus.tokens("small", split).numpy().astype(np.uint64)
        multiplier = np.uint64(6364136223846793005)
        value = np.zeros(len(stream) - 49, dtype=np.uint64)
        for offset in range(50):  # a rolling polynomial hash modulo 2^64
            value = value * multiplier + stream[offset : offset + len(value)] + np.uint64(1)
        return value

    share = np.isin(windows("validation"), windows("train")).mean()
    assert share < 0.02


BLOCK = "A block long enough to count as a repeat. " * 8
REST = "What only this document has, and nobody else. " * 4


@pytest.mark.parametrize(
    ("documents", "kept"),
    [
        # Held-out text goes first, and its blocks are nowhere else.
        ([("a", f"{BLOCK}\n\n{REST}\n\n{REST}\n", "train"), ("b", BLOCK, "validation")],
         {"b": BLOCK, "a": f"{REST}\n\n{REST}\n"}),
        # What repeats inside one document stays.
        ([("a", f"{BLOCK}\n\n{BLOCK}\n", "train"), ("b", BLOCK, "train")],
         {"a": f"{BLOCK}\n\n{BLOCK}\n"}),
        # Blocks are compared whole, without white space; what is left must be long enough.
        ([("a", f"{BLOCK}\n", "train"),
          ("b", f"{BLOCK.replace(' ', chr(10), 3)}\n\n{REST}\n\n{REST}\n", "train"),
          ("c", f"{BLOCK}\n\n{REST[:150]}\n", "train"), ("d", f"{BLOCK}and more\n", "train")],
         {"a": f"{BLOCK}\n", "b": f"{REST}\n\n{REST}\n", "d": f"{BLOCK}and more\n"}),
    ],
)  # fmt: skip
def test_blocks_that_an_earlier_document_has_are_dropped(documents, kept):
    given = [Document("prose", name, text, split) for name, text, split in documents]
    found = {d.name: d.text for d in corpus.without_repeats(given)}
    assert {k: v.strip() for k, v in found.items()} == {k: v.strip() for k, v in kept.items()}


@pytest.mark.parametrize(("profile", "split"), [("small", "test"), ("huge", "train")])
def test_a_text_that_is_not_there_is_refused_with_those_that_are(profile, split):
    for get in (corpus.read, corpus.tokens):
        with pytest.raises(files.UserError, match=f'no text "{split}" of a profile "{profile}": '):
            get(profile, split)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and a text of one document."""
    monkeypatch.setattr(files, "cache_dir", lambda: tmp_path)
    document = Document("prose", "a", "one two three", "train")
    monkeypatch.setattr(corpus, "read", lambda profile, split: [document])
    return tmp_path


def test_a_vocabulary_that_16_bits_hold_survives_the_cache(cache, monkeypatch):
    """Ids above 32 767 too, which a signed 16-bit tensor would turn negative."""
    ids = torch.tensor([0, 2047, 32_767, 32_768, 65_535], dtype=torch.int32)
    monkeypatch.setattr(tokenizer, "encode", lambda *_: ids)
    for _ in ("computed", "read from the cache"):
        stream = corpus.tokens("small", "train")
        assert stream.dtype == torch.int32 and torch.equal(stream, ids)
        monkeypatch.delattr(tokenizer, "encode", raising=False)  # computed once


def test_the_tokens_of_a_family_are_those_of_its_documents(cache, monkeypatch):
    texts = {"a": ("prose", "one two"), "b": ("python", "x = 1\n"), "c": ("prose", "three")}
    documents = [Document(family, name, text, "train") for name, (family, text) in texts.items()]
    monkeypatch.setattr(corpus, "read", lambda profile, split: documents)
    vocabulary = tokenizer.load()
    for family, names in (("prose", "ac"), ("python", "b")):
        expected = tokenizer.encode(vocabulary, [texts[name][1] for name in names])
        assert torch.equal(corpus.tokens_of("small", "train", family), expected)
    with pytest.raises(files.UserError, match=r"no family \"html\" in train, only \['prose', 'py"):
        corpus.tokens_of("small", "train", "html")


def test_tokens_of_another_vocabulary_are_cached_beside_those_of_the_book(cache, tmp_path):
    other = tmp_path / "vocabulary" / "other.json"
    other.parent.mkdir()
    tokenizer.train(["one two three"], 257).save(str(other))
    own = corpus.tokens("small", "train")
    with tokenizer.using(other):
        found = corpus.tokens("small", "train")
        assert len(found) == 1 + len("one two three")
    assert len(list(cache.glob("*.npy"))) == 2
    assert torch.equal(corpus.tokens("small", "train"), own)
