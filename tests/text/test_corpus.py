import numpy as np
import pytest
import torch

from transformer_circuits import files
from transformer_circuits.text import corpus, sources, tokenizer
from transformer_circuits.text.corpus import Document


def test_two_builds_are_the_same_bytes(tmp_path):
    """Both must also be the bytes that data/corpus.toml pins, or `build` raises."""
    one, two = (corpus.build("small", tmp_path / name) for name in ("one", "two"))
    for split in corpus.SPLITS:
        assert one[split].read_bytes() == two[split].read_bytes()


def test_a_build_that_differs_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "_pinned", lambda profile: dict.fromkeys(corpus.SPLITS, "beef"))
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
        assert found == {"prose", "python", "html", "latex", "docs"}


def test_held_out_packages_and_documents_are_never_trained_on():
    train, held_out = (corpus.read("small", split) for split in corpus.SPLITS)
    assert not {d.name for d in train} & {d.name for d in held_out}
    whole = {p.name for p in sources.manifest("small") if p.split != "by-document"}
    packages_of = [{d.name.split("/")[0] for d in docs} & whole for docs in (train, held_out)]
    assert not packages_of[0] & packages_of[1]


def test_windows_of_validation_are_rare_in_training():
    """At most 2 % of the 50-token windows of held-out text occur in the training text."""

    def windows(split):
        stream = corpus.tokens("small", split).astype(np.uint64)
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
    assert ours < 0.5 * sum(len(d.text) for d in pages)


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


def test_the_hash_of_a_name_is_the_same_everywhere():
    assert corpus.fraction("split x") == pytest.approx(0.2349495765777207, abs=1e-15)


def test_windows_open_with_begin_and_targets_are_one_ahead():
    stream = np.arange(1, 30, dtype=np.uint16)
    inputs, targets = corpus.windows(stream, torch.tensor([0, 4]), 5)
    assert inputs.tolist() == [[tokenizer.BEGIN, 1, 2, 3, 4], [tokenizer.BEGIN, 5, 6, 7, 8]]
    assert targets.tolist() == [[1, 2, 3, 4, 5], [5, 6, 7, 8, 9]]
    with pytest.raises(ValueError, match="5 tokens starts at 25 but the stream has 29"):
        corpus.windows(stream, torch.tensor([25]), 5)


def test_without_begin_windows_are_the_text_alone():
    stream = np.arange(1, 30, dtype=np.uint16)
    inputs, targets = corpus.windows(stream, torch.tensor([0, 4]), 5, begin=False)
    assert inputs.tolist() == [[1, 2, 3, 4, 5], [5, 6, 7, 8, 9]]
    assert torch.equal(targets, inputs + 1)
    with pytest.raises(ValueError, match="6 tokens starts at 24 but the stream has 29"):
        corpus.windows(stream, torch.tensor([24]), 5, begin=False)


@pytest.mark.parametrize("begin", [True, False])
def test_windows_reach_from_the_first_to_the_last_token(begin):
    stream = np.arange(1, 30, dtype=np.uint16)
    inputs, targets = corpus.evenly(stream, 3, 5, begin)
    assert int(targets.max()) == 29
    assert int(inputs[inputs != tokenizer.BEGIN].min()) == 1
    random = corpus.batch(stream, 300, 5, torch.Generator().manual_seed(0), begin)
    first = targets[:, 0] if begin else inputs[:, 0]
    at = random[1][:, 0] if begin else random[0][:, 0]
    assert set(at.tolist()) == set(range(int(first.min()), int(first.max()) + 1))
    with pytest.raises(ValueError, match="the stream has 4 tokens but a window takes"):
        corpus.batch(stream[:4], 2, 5, torch.Generator(), begin)


def test_a_share_of_a_batch_has_a_passage_twice():
    stream = np.arange(1, 3000, dtype=np.uint16)
    plain = corpus.batch(stream, 8, 99, torch.Generator().manual_seed(0), False)[0]
    inputs, targets = corpus.batch(stream, 8, 99, torch.Generator().manual_seed(0), False, 0.25)
    assert torch.equal(inputs[:, 1:], targets[:, :-1])
    assert torch.equal(inputs[2:], plain[2:])
    for row, before in zip(inputs[:2], plain[:2], strict=True):
        changed = (row != before).nonzero().flatten()
        first, last = int(changed[0]), int(changed[-1])
        assert 15 <= len(changed) == last - first + 1 <= 50
        origin = int((before == row[first]).nonzero())
        assert origin + len(changed) <= first
        assert torch.equal(row[changed], before[origin : origin + len(changed)])


def test_what_comes_twice_is_text_and_never_the_begin_token():
    stream = np.arange(1, 3000, dtype=np.uint16)
    inputs, targets = corpus.batch(stream, 200, 9, torch.Generator().manual_seed(0), True, 1.0)
    assert (inputs[:, 0] == tokenizer.BEGIN).all()
    assert (targets != tokenizer.BEGIN).all()
    assert (targets.diff() != 1).any()  # passages do come twice


def test_unknown_splits_are_refused():
    with pytest.raises(ValueError, match='split is "test" but must be'):
        corpus.read("small", "test")
    with pytest.raises(ValueError, match='split is "test" but must be'):
        corpus.tokens("small", "test")
    with pytest.raises(ValueError, match=r'corpus.toml pins no text of a profile "huge", only'):
        corpus.tokens("huge", "train")


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


@pytest.mark.parametrize("damage", ["empty", "truncated", "changed"])
def test_damaged_tokens_are_never_used_but_computed_again(cache, damage):
    stream = corpus.tokens("small", "train")
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    changed = {"empty": b"", "truncated": whole[:-2], "changed": whole[:-1] + b"\x07"}
    path.write_bytes(changed[damage])
    assert corpus.tokens("small", "train").tolist() == stream.tolist()
    assert path.read_bytes() == whole
