import pytest
import torch

from transformer_circuits.text import tokenizer


@pytest.mark.parametrize(
    "text", [" naïve 東京 🙂", "\\left( \\frac{1}{2}\n", "\x00\u00a0", "begin <begin>"]
)
def test_any_text_comes_back_and_forges_no_begin(text):
    bpe = tokenizer.load()
    ids = bpe.encode(text).ids
    assert bpe.decode(ids) == text and tokenizer.BEGIN not in ids


def test_begin_opens_every_document():
    stream = tokenizer.encode(tokenizer.load(), ["one", "two"])
    assert stream.dtype == torch.int32
    assert (stream == tokenizer.BEGIN).sum() == 2 and stream[0] == tokenizer.BEGIN
    context = tokenizer.context("one")
    assert context[0].tolist() == stream[: context.shape[1]].tolist()


def test_labels_can_be_read_by_anyone():
    bpe = tokenizer.load()
    shown = [tokenizer.label(bpe, token) for token in range(bpe.get_vocab_size())]
    assert shown[0] == "<begin>" and len(set(shown)) == 6144
    assert tokenizer.labels(torch.tensor([tokenizer.token("\n" + " " * 11)])) == ["↵␣×11"]
    assert all(label.isprintable() and label.strip() == label and label for label in shown)
    assert tokenizer.label(bpe, bpe.token_to_id("Ġthe")) == "␣the"
    assert tokenizer.label(bpe, bpe.token_to_id("Ċ")) == "↵"


def test_a_token_is_found_by_its_text():
    texts = tokenizer.texts()
    assert tokenizer.token(" the") == texts.index(" the")
    assert texts[tokenizer.BEGIN] == "" and len(texts) == tokenizer.load().get_vocab_size()
    with pytest.raises(ValueError, match=r"' zebra' is not one token but \d"):
        tokenizer.token(" zebra")


@pytest.mark.parametrize("token", [99999, 6144, -1])
def test_what_is_no_text_or_no_token_is_refused(token):
    with pytest.raises(ValueError, match=f"token {token} asked for but there are 6144"):
        tokenizer.labels(torch.tensor([token]))
    with pytest.raises(ValueError, match=r"one text is needed but got \['a', 'b'\]"):
        tokenizer.context(["a", "b"])


def test_words_go_on_after_a_letter_without_a_space():
    letter, comma, word = (tokenizer.token(text) for text in ("s", ",", " the"))
    tokens = torch.tensor([[letter, letter, comma, letter, word, letter, tokenizer.BEGIN, letter]])
    right = [False, True, False, False, False, True, False, False]
    assert tokenizer.inside_words(tokens).tolist() == [right]


@pytest.mark.parametrize("content", [None, '{"model": {"vocab"', "{}"])
def test_a_missing_or_damaged_tokenizer_is_named_with_the_remedy(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=r"tokenizer.json is no tokenizer: .* Correct it"):
        tokenizer.load(path)


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
