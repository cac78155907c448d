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
    """Running words, about `n`, drawn by their frequency in English: one word in each text, repeated.

    The book's text is code, documentation, and prose that is mostly a century old. A reader's own
    words are none of these, and would be cut into pieces.

    Only words that the documents have `at_least` so often, so that none becomes a token which no
    model can learn; in the capitals that the documents write them in, as often as these do. A space
    stands before each, as in running text.
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
