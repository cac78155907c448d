"""A vocabulary can be learned from words as common as they are in English."""

import sys
from types import SimpleNamespace

import pytest

from transformer_circuits import __main__ as cli
from transformer_circuits import files
from transformer_circuits.text import corpus, tokenizer, vocabulary

COMMON = {"quick": 1e-3, "monday": 4e-4, "zebra": 1e-2}


@pytest.fixture
def wordfreq(monkeypatch):
    """In place of the package: a language of three words."""
    fake = SimpleNamespace(word_frequency=lambda word, language: COMMON.get(word, 0.0))
    monkeypatch.setitem(sys.modules, "wordfreq", fake)


def test_words_come_as_often_as_in_english_and_in_the_capitals_of_the_text(wordfreq):
    text = "Quick quick quick, quick x1quick. Monday MONDAY\n" * 30 + "zebra unheard " * 20
    found = list(vocabulary.words([text], 10_000, at_least=50))
    assert found == [" MONDAY" * 2, " Monday" * 2, " Quick" * 2, " quick" * 8]  # of 4 and of 10


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(files.UserError, match=r"pip install --editable '\.\[vocabulary\]'"):
        list(vocabulary.words(["some text"], 10))


def test_common_words_become_tokens_only_if_asked_for(wordfreq, tmp_path, monkeypatch):
    text = "the cat sat on the mat, quick " * 120
    document = corpus.Document("prose", "a", text, "train")
    monkeypatch.setattr(corpus, "read", lambda *given: [document] * (given == ("full", "train")))
    before = files.sha256(files.data_dir() / "tokenizer.json")
    paths = [tmp_path / "deep" / "plain.json", tmp_path / "english.json"]
    cli.main(["vocabulary", "261", "--output", str(paths[0])])
    cli.main(["vocabulary", "261", "--english", "--output", str(paths[1])])
    cut = [len(tokenizer.load(path).encode(" quick").ids) for path in paths]
    assert cut == [6, 2]
    assert files.sha256(files.data_dir() / "tokenizer.json") == before
