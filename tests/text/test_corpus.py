import numpy as np
import pytest
import torch

from transformer_circuits import files
from transformer_circuits.text import corpus, sources, tokenizer
from transformer_circuits.text.corpus import Document

FAMILIES = {"prose", "python", "html", "latex", "docs"}


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


def test_small_is_small_and_has_every_family_on_both_sides():
    folder = files.cache_dir() / "packages"
    assert sum((folder / p.file).stat().st_size for p in sources.manifest("small")) < 15e6
    for split in corpus.SPLITS:
        found = {document.family for document in corpus.read("small", split)}
        assert found == ({"c++"} if split == "unseen-kind" else FAMILIES)


def test_held_out_text_is_of_many_packages_and_none_dominates():
    parts = corpus.composition("small", "validation")
    shares = {p.package: 0.0 for p in parts}
    for part in parts:
        shares[part.package] += part.share
    assert len(shares) >= 8 and max(shares.values()) < 0.2


def test_the_kinds_of_the_full_training_text_are_counted():
    """Against the text itself where it was built; the small profile is a part of it everywhere."""
    counted = files.read_toml(files.data_dir() / "corpus.toml")["characters"]["full"]
    assert counted.keys() == FAMILIES
    whole = (files.cache_dir() / "full-train.jsonl").exists()
    found = dict.fromkeys(FAMILIES, 0)
    for part in corpus.composition("full" if whole else "small", "train"):
        found[part.family] += part.characters
    assert counted == found if whole else all(0 < found[k] <= counted[k] for k in FAMILIES)


def test_both_profiles_have_the_same_held_out_text():
    held_out = [
        [p for p in sources.manifest(profile) if p.split != "train"]
        for profile in ("small", "full")
    ]
    assert held_out[0] == held_out[1]
    for split in corpus.SPLITS[1:]:
        assert corpus._pinned("small", split) == corpus._pinned("full", split)


def test_composition_counts_every_character(monkeypatch):
    documents = [
        Document("prose", "one/a", "x" * 10, "train"),
        Document("prose", "one/b", "x" * 20, "train"),
        Document("docs", "one/c", "x" * 10, "train"),
        Document("docs", "two/a/b", "x" * 60, "train"),
    ]
    monkeypatch.setattr(corpus, "read", lambda profile, split: documents)
    assert corpus.composition("small", "train") == [
        corpus.Part("docs", "two", 1, 60, 0.6),
        corpus.Part("prose", "one", 2, 30, 0.3),
        corpus.Part("docs", "one", 1, 10, 0.1),
    ]


def test_the_small_profile_takes_a_part_of_the_training_text_alone(tmp_path, monkeypatch):
    """And no other documents of it than the full profile."""
    take = sources.Take("prose", "documentation", ("*",), keep_small=0.5)
    package = sources.Package("p", "1", "p.whl", "", "MIT", "by-document", True, (take,))
    members = [(f"{n}.txt", b"words " * 50) for n in range(200)]
    monkeypatch.setattr(sources, "manifest", lambda profile: [package])
    monkeypatch.setattr(sources, "members", lambda path, inside: members)
    small, full = ([*corpus._documents(profile, tmp_path)] for profile in ("small", "full"))
    assert len(full) == 200 and all(document in full for document in small)
    held_out = [document for document in full if document.split == "validation"]
    assert held_out == [document for document in small if document.split == "validation"]
    assert 0.4 < len(small) / len(full) < 0.6


def test_held_out_packages_and_documents_are_never_trained_on():
    train, held_out = (corpus.read("small", split) for split in ("train", "validation"))
    assert not {d.name for d in train} & {d.name for d in held_out}
    whole = {p.name for p in sources.manifest("small") if p.split != "by-document"}
    packages_of = [{d.name.split("/")[0] for d in docs} & whole for docs in (train, held_out)]
    assert not packages_of[0] & packages_of[1]


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


def test_markup_of_our_own_template_is_labelled_and_a_minority():
    take = [t for p in sources.manifest("full") for t in p.takes if t.cleaner == "factbook_page"]
    assert len(take) == 1 and take[0].family == "html"
    path = files.cache_dir() / "full-train.jsonl"
    documents = corpus.read("full", "train") if path.exists() else corpus.read("small", "train")
    pages = [d for d in documents if d.family == "html"]
    ours = sum(len(d.text) for d in pages if d.name.endswith("#our-template"))
    assert ours < 0.05 * sum(len(d.text) for d in pages)


def test_repeats_are_dropped_in_favour_of_validation():
    block = "A block long enough to count as a repeat. " * 8
    other = "Another block, also long enough to be kept. " * 8
    documents = [
        Document("prose", "a", f"{block}\n\n{other}\n", "train"),
        Document("prose", "b", block + "\n", "validation"),
        Document("prose", "c", other + "\n", "train"),
    ]
    kept = {d.name: d.text for d in corpus.without_repeats(documents)}
    assert kept == {"b": block + "\n", "a": other + "\n"}


def test_what_repeats_inside_one_document_stays():
    block = "A block long enough to count as a repeat. " * 8
    again = f"{block}\n\n{block}\n"
    documents = [Document("docs", "a", again, "train"), Document("docs", "b", block, "train")]
    assert [(d.name, d.text) for d in corpus.without_repeats(documents)] == [("a", again)]


def test_the_hash_of_a_name_is_the_same_everywhere():
    assert corpus.fraction("split x") == pytest.approx(0.2349495765777207, abs=1e-15)


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


def test_tokens_are_computed_once(cache, monkeypatch):
    stream = corpus.tokens("small", "train")
    assert stream.tolist() == tokenizer.encode(tokenizer.load(), ["one two three"]).tolist()
    monkeypatch.delattr(corpus, "read")
    assert corpus.tokens("small", "train").tolist() == stream.tolist()


def test_a_vocabulary_that_16_bits_hold_survives_the_cache(cache, monkeypatch):
    """Ids above 32 767 too, which a signed 16-bit tensor would turn negative."""
    ids = torch.tensor([0, 2047, 32_767, 32_768, 65_535], dtype=torch.int32)
    monkeypatch.setattr(tokenizer, "encode", lambda *_: ids)
    for _ in ("computed", "read from the cache"):
        stream = corpus.tokens("small", "train")
        assert stream.dtype == torch.int32 and torch.equal(stream, ids)
    (path,) = cache.iterdir()
    assert path.stat().st_size == 128 + 2 * len(ids)


def test_what_is_left_of_a_document_that_repeats_is_kept_if_it_is_long_enough():
    """What is too short is dropped; blocks are compared whole, and white space does not count."""
    block = "A block long enough to count as a repeat. " * 8
    rest = "What only this document has, and nobody else. " * 4
    documents = [
        Document("prose", "a", f"{block}\n", "train"),
        Document("prose", "b", f"{block.replace(' ', chr(10), 3)}\n\n{rest}\n\n{rest}\n", "train"),
        Document("prose", "c", f"{block}\n\n{rest[:150]}\n", "train"),
        Document("prose", "d", f"{block}and more\n", "train"),
    ]
    kept = {d.name: d.text for d in corpus.without_repeats(documents)}
    assert kept == {
        "a": f"{block}\n", "b": f"{rest}\n\n{rest}\n", "d": f"{block}and more\n",
    }  # fmt: skip


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
