import pytest
import torch

from transformer_circuits.text import tokenizer

TEXTS = [
    "The cat.",
    " naïve 東京 🙂",
    "def f(x):\n    return x\n",
    "\\left( \\frac{1}{2}",
    "\x00\u00a0",
]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_comes_back(text):
    bpe = tokenizer.load()
    assert bpe.decode(bpe.encode(text).ids) == text


def test_begin_opens_every_document():
    stream = tokenizer.encode(tokenizer.load(), ["one", "two"])
    assert stream.dtype == torch.int32
    assert (stream == tokenizer.BEGIN).sum() == 2 and stream[0] == tokenizer.BEGIN
    context = tokenizer.context("one")
    assert context[0].tolist() == stream[: context.shape[1]].tolist()


def test_text_cannot_forge_the_begin_token():
    """No text turns into BEGIN unless it is the special token itself, spelled out."""
    assert tokenizer.BEGIN not in tokenizer.load().encode("begin < | > <begin>").ids


def test_runs_are_counted_and_labels_tell_tokens_apart():
    indent = tokenizer.token("\n" + " " * 11)
    assert tokenizer.labels(torch.tensor([indent])) == ["↵␣×11"]
    assert len(set(tokenizer.labels(torch.arange(4096)))) == 4096


def test_labels_can_be_read_by_anyone():
    bpe = tokenizer.load()
    shown = [tokenizer.label(bpe, token) for token in range(bpe.get_vocab_size())]
    assert shown[0] == "<begin>"
    assert all(label.isprintable() and label.strip() == label and label for label in shown)
    assert tokenizer.label(bpe, bpe.token_to_id("Ġthe")) == "␣the"
    assert tokenizer.label(bpe, bpe.token_to_id("Ċ")) == "↵"
    half = bpe.encode("é".encode().decode()).ids
    assert len(half) == 1 or tokenizer.label(bpe, half[0]).startswith("<")


def test_a_token_is_found_by_its_text():
    texts = tokenizer.texts()
    assert tokenizer.token(" the") == texts.index(" the")
    assert texts[tokenizer.BEGIN] == "" and len(texts) == tokenizer.load().get_vocab_size()
    with pytest.raises(ValueError, match=r"' zebra' is not one token but \d"):
        tokenizer.token(" zebra")


def test_words_go_on_after_a_letter_without_a_space():
    letter, comma, word = (tokenizer.token(text) for text in ("s", ",", " the"))
    tokens = torch.tensor([[letter, letter, comma, letter, word, letter, tokenizer.BEGIN, letter]])
    right = [False, True, False, False, False, True, False, False]
    assert tokenizer.inside_words(tokens).tolist() == [right]


def test_trainer_is_deterministic():
    texts = ["the cat sat on the mat " * 20, "def f(x): return x " * 20]
    one, two = (tokenizer.train(texts, 280).to_str() for _ in range(2))
    assert one == two


@pytest.mark.parametrize("content", [None, "", '{"model": {"vocab"', "{}"])
def test_a_missing_or_damaged_tokenizer_is_named_with_the_remedy(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=r"tokenizer.json is no tokenizer: .* Correct it"):
        tokenizer.load(path)


@pytest.mark.parametrize("n_vocab", [-1, 0, 256, 65537])
def test_an_impossible_vocabulary_is_refused_before_the_text_is_read(n_vocab):
    with pytest.raises(ValueError, match=f"vocabulary of {n_vocab} .* at least 257.* most 65536"):
        tokenizer.train(iter(lambda: pytest.fail("the text was read"), None), n_vocab)


def test_the_smallest_vocabulary_has_every_byte():
    assert tokenizer.train(["text"], 257).get_vocab_size() == 257


def test_another_vocabulary_is_used_inside_and_the_book_s_own_again_after(tmp_path):
    other = tmp_path / "other.json"
    tokenizer.train(["quick " * 9], 261).save(str(other))
    own = tokenizer.context(" students")
    with tokenizer.using(other):
        assert tokenizer.path() == other and len(tokenizer.texts()) == 261
        assert tokenizer.context(" students").shape[1] == 10
        with tokenizer.using(None):
            assert torch.equal(tokenizer.context(" students"), own)
    with pytest.raises(KeyError), tokenizer.using(other):
        raise KeyError
    assert torch.equal(tokenizer.context(" students"), own)
