"""The byte-level BPE tokenizer that every model of the book shares: `data/tokenizer.json`.

Models of another vocabulary are read inside `with using(path):`.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Int, Int32
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor

from transformer_circuits import files

BEGIN = 0
"""Id of the token that opens every document and, where a model's `config.begin` says so, every
context. Others call it BOS. Heads with nothing to do rest their attention on it."""


def train(documents: Iterable[str], n_vocab: int) -> Tokenizer:
    """Tokenizer by byte-pair encoding, learned from `documents`; any text can be encoded with it."""
    least, most = len(pre_tokenizers.ByteLevel.alphabet()) + 1, 2**16
    if not least <= n_vocab <= most:
        raise files.UserError(
            f"a vocabulary of {n_vocab} tokens is impossible: at least {least}, every byte and "
            f"BEGIN, and at most {most}, for text is kept in 16 bits per token"
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=n_vocab,
        special_tokens=["<|begin|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer


_path: ContextVar[Path | None] = ContextVar("path of the tokenizer", default=None)


def path() -> Path:
    """File of the tokenizer in use: `data/tokenizer.json`, but inside `using`."""
    return _path.get() or files.data_dir() / "tokenizer.json"


@contextmanager
def using(other: Path | None) -> Iterator[None]:
    """Use another file as the tokenizer inside: texts, labels and the cached text are in its tokens.

    None stands for the book's own.
    """
    token = _path.set(other)
    try:
        yield
    finally:
        _path.reset(token)


def load(other: Path | None = None) -> Tokenizer:
    """The tokenizer in use, or that of another file."""
    return _read(other or path())


@cache
def _read(path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing more precise, whatever is wrong
        raise files.damaged(path, f"is no tokenizer: {error}") from error


def encode(tokenizer: Tokenizer, documents: list[str]) -> Int32[Tensor, " n_tokens"]:
    """Documents as one stream of token ids, BEGIN before each.

    For one text as a model takes it see `context`.
    """
    stream = []
    for start in range(0, len(documents), 256):
        for encoding in tokenizer.encode_batch(documents[start : start + 256]):
            stream.append(BEGIN)
            stream.extend(encoding.ids)
    return torch.tensor(stream, dtype=torch.int32)


def label(tokenizer: Tokenizer, token: int) -> str:
    """Printed form of a token: its text, with a space as ␣, a newline as ↵, a lone byte as <e2>.

    A lone byte is a part of a character that takes several. Five or more of one character are
    counted: twelve spaces are ␣×12.
    """
    if token == BEGIN:
        return "<begin>"
    if token < 0 or tokenizer.id_to_token(token) is None:
        raise ValueError(f"token {token} asked for but there are {tokenizer.get_vocab_size()}")
    text = tokenizer.decode([token])
    if "\ufffd" in text:
        alphabet = {character: byte for byte, character in _byte_characters().items()}
        return "".join(f"<{alphabet[c]:02x}>" for c in tokenizer.id_to_token(token))
    shown = text.replace(" ", "␣").replace("\n", "↵")
    shown = re.sub(r"(.)\1{4,}", lambda run: f"{run[1]}×{len(run[0])}", shown)
    return "".join(c if c.isprintable() else f"<{ord(c):02x}>" for c in shown)


@cache
def _byte_characters() -> dict[int, str]:
    """Printable stand-in of each byte in byte-level BPE: itself if printable, else 256 + n."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {byte: chr(byte) for byte in printable}
    others = [byte for byte in range(256) if byte not in table]
    return table | {byte: chr(256 + n) for n, byte in enumerate(others)}


def context(text: Any) -> Int[Tensor, "1 pos"]:
    """Text as a model takes it: a batch of one context, which opens with BEGIN.

    TransformerLens: `to_tokens`.
    """
    if not isinstance(text, str):
        raise ValueError(f"one text is needed but got {text!r}")
    return encode(load(), [text]).long()[None]


def labels(tokens: Int[Tensor, " pos"]) -> list[str]:
    """Printed form of each token; see `label`. TransformerLens: `to_str_tokens`."""
    return [label(load(), token) for token in tokens.tolist()]


def token(text: str) -> int:
    """Id of the token that is exactly this text. TransformerLens: `to_single_token`."""
    ids = load().encode(text).ids
    if len(ids) != 1:
        pieces = [label(load(), piece) for piece in ids]
        raise ValueError(f"{text!r} is not one token but {len(ids)}: {pieces}")
    return ids[0]


def inside_words(tokens: Int[Tensor, "*batch pos"]) -> Bool[Tensor, "*batch pos"]:
    """Places where a token continues a word: it begins with a letter or an apostrophe, after a letter.

    >>> "couldn't sing", inside_words(context("couldn't sing"))[0, -2:].tolist()
    ("couldn't sing", [True, False])
    """
    goes_on = torch.tensor([text[:1].isalpha() or text[:1] in ("'", "’") for text in texts()])
    open_end = torch.tensor([text[-1:].isalpha() for text in texts()])
    inside = torch.zeros_like(tokens, dtype=torch.bool)
    inside[..., 1:] = goes_on[tokens[..., 1:]] & open_end[tokens[..., :-1]]
    return inside


def texts() -> list[str]:
    """Text of every token; empty for BEGIN and for lone bytes, which are no text by themselves."""
    tokenizer = load()
    decoded = (tokenizer.decode([i]) for i in range(tokenizer.get_vocab_size()))
    return ["" if i == BEGIN or "\ufffd" in text else text for i, text in enumerate(decoded)]
