"""Vocabulary: the text that a new tokenizer is learned from."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from transformer_circuits import files
from transformer_circuits.text import corpus, tokenizer

WORD = re.compile(r"(?<![^\W_])[^\W\d_]{2,}(?![^\W_])")
"""Pattern of a run of letters that stands by itself."""
RUNNING_WORDS = 16_000_000
"""Words of English as it is used that `write` draws. Three quarters of them are words that the
documents have often enough; their own running words are 8 million.
"""


def write(n_vocab: int, path: Path, *, english: bool = False) -> None:
    """Learn a tokenizer from `corpus.VOCABULARY` of the full text, and write it.

    `english`: also from `RUNNING_WORDS` words by their frequency in English, see `words`.
    """

    def texts() -> Iterator[str]:  # a generator: `n_vocab` is checked before the text is read
        documents = [document.text for document in corpus.first("full", corpus.VOCABULARY)]
        yield from documents
        if english:
            yield from words(documents, RUNNING_WORDS)

    with files.atomic(path) as temporary:
        tokenizer.train(texts(), n_vocab).save(str(temporary))


def words(documents: Iterable[str], n: int, at_least: int = 100) -> Iterator[str]:
    """Yield texts of one word each, repeated as often as `n` words of English have it, without chance.

    A text is " the the the": a spelling of the word that the documents have. A word's frequency is
    that of the package wordfreq, times `n`, shared among its spellings ("The", "the") as in the
    documents.

    The book's text is code, documentation, and prose that is mostly a century old. A reader's own
    words are none of these, and would be cut into pieces.

    Words that the documents have less than `at_least` times, all spellings together, are left out,
    as no model could learn their token: so fewer than `n` words come out, about three quarters.

    Raises:
        UserError: if wordfreq is not installed.
    """
    try:
        from wordfreq import word_frequency
    except ModuleNotFoundError as error:
        raise files.UserError(
            "how common English words are is known to a package that is not installed: run "
            "pip install --editable '.[vocabulary]'"
        ) from error
    forms = Counter(form for text in documents for form in WORD.findall(text))
    of_word = Counter[str]()
    for form, count in forms.items():
        of_word[form.lower()] += count
    for form, count in sorted(forms.items()):
        total = of_word[form.lower()]
        times = round(n * word_frequency(form.lower(), "en") * count / total)
        if total >= at_least and times:
            yield f" {form}" * times
