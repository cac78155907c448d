"""The skip-trigrams that the paper lists one by one (paper: "Other Interesting Skip-Trigrams"), and
brackets and quotes of the kind that one of its heads closes."""

import itertools
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_circuits.analysis.one_layer import skip_trigram_places
from transformer_circuits.analysis.one_layer.skip_trigrams import SkipTrigram

OF_THE_PAPER = {
    "Python, blocks": "\n           …\n       →else elif except",
    "Python, files": 'open…","→r w rb wb',
    "Python, objects": "def…(→self|super…self→).__",
    "Python, libraries": "upper….→upper lower capitalize isdigit|"
    "tf….→dtype shape initializer|datetime….→date time strftime isoformat|"
    "QtWidgets….→QtCore setGeometry QtGui|pygame….→display rect tick",
    "Python, for": "for…in→range enumerate sorted zip tqdm",
    "HTML": "tbody…<→td",
    "LaTeX": "left…\\→right",
    "English": "keep…in→mind|keep…at→bay|keep…under→wraps|difficult…not→impossible",
    "English, and": "back…and→forth|eat…and→drink|trying…and→failing|day…and→night|"
    "far…and→away|created…and→maintained|forward…and→backward|past…and→present|"
    "happy…and→satisfied|walking…and→talking|sick…and→tired",
    "web addresses": "twitter…/→status|github…/→issues blob pull master|gmail….→com|"
    "http…/→www google localhost youtube amazon|http…:→8080 8000|www….→org com net",
    "names": "Israel…K→nes",
}
"""Examples as source…destination→outputs, outputs parted by spaces and examples by ``|``. Of an
indented line the paper closes, one depth stands for all.
"""

BRACKETS = (
    ("('", "')"), ("(", ")"), ("[", "]"), ("{", "}"), ('("', '")'), ('["', '"]'), ("['", "']"),
    ("{{", "}}"), ("`", "`"), ("``", "``"), ("**", "**"), ("</", ">"), ("<", ">"), ("$", "$"),
)  # fmt: skip
"""Opening tokens, each with its closing one."""


BLOCKS = (" else", " elif", " except")
"""Words that open a line of Python only after lines indented one step more."""
OPENERS = (" for", " if", " return", " while", " try", " with", " raise", " def")
"""Words that open a line of Python after any."""


def spelled_out() -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Texts (family, (source, destination, output)) of every skip-trigram of the paper's list."""
    for family, examples in OF_THE_PAPER.items():
        for example in examples.split("|"):
            src, rest = example.split("…")
            dst, outs = rest.split("→")
            yield from ((family, (src, dst, out)) for out in outs.split())


def of_the_vocabulary(
    texts: Sequence[str], stream: Int[Tensor, " n_tokens"]
) -> list[tuple[str, SkipTrigram]]:
    """Skip-trigrams of the paper's list whose three words are single tokens, with their family.

    Of each source, with or without a space before it, the form that the stream has more often; of
    destination and output, the pair that stands side by side more often.
    """
    ids = {text: token for token, text in enumerate(texts) if text}
    often = torch.bincount(stream, minlength=len(texts)).tolist()
    pairs = (stream[:-1].long() * len(texts) + stream[1:]).sort().values

    def together(pair: tuple[int, int]) -> int:
        wanted = pair[0] * len(texts) + pair[1]
        return int(torch.searchsorted(pairs, wanted + 1) - torch.searchsorted(pairs, wanted))

    in_vocabulary = []
    for family, triple in spelled_out():
        src, dst, out = (
            [ids[form] for form in (word, f" {word}") if form in ids] for word in triple
        )
        if src and dst and out:
            last = max(((d, o) for d in dst for o in out), key=together)
            in_vocabulary.append((family, SkipTrigram(max(src, key=often.__getitem__), *last)))
    return in_vocabulary


def in_text(
    texts: Sequence[str], stream: Int[Tensor, " n_tokens"], window: int
) -> list[SkipTrigram]:
    """Skip-trigrams of the paper's list that a text has at least once, within `window` tokens."""
    triples = [triple for _, triple in of_the_vocabulary(texts, stream)]
    times = skip_trigram_places.times(stream, triples, window) if triples else torch.zeros(0)
    return [triple for triple, n in zip(triples, times.tolist(), strict=True) if n]


def brackets(texts: Sequence[str]) -> list[SkipTrigram]:
    """Skip-trigrams of the single-token `BRACKETS`; the destination, which may be any, is the opening one."""
    ids = {text: token for token, text in enumerate(texts) if text}
    return [SkipTrigram(ids[a], ids[a], ids[b]) for a, b in BRACKETS if a in ids and b in ids]


def dedents(
    texts: Sequence[str], words: Sequence[str] = BLOCKS, step: int = 4
) -> list[SkipTrigram]:
    """Skip-trigrams of a line of Python indented N steps, one indented N − 1, and the word that opens it.

    For every depth N and each of `words` that the vocabulary has as single tokens. The last space
    of an indent belongs to the word after it, so the token of an indent has one less.
    """
    ids = {text: token for token, text in enumerate(texts) if text}
    indents = [ids.get("\n" + " " * (step * n - 1)) for n in range(1, 9)]
    return [
        SkipTrigram(deeper, less, ids[word])
        for less, deeper in itertools.pairwise(indents)
        if less is not None and deeper is not None
        for word in words
        if word in ids
    ]
