"""Windows, checked against what they are, written with slices in NumPy."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from transformer_circuits.text import corpus, windows
from transformer_circuits.text.tokenizer import BEGIN
from transformer_circuits.training import checkpoint

STREAM = torch.arange(1, 30, dtype=torch.int32)


def shape(n_ctx, begin=True):
    return SimpleNamespace(n_ctx=n_ctx, begin=begin)


def by_formula(stream, starts, n_ctx, begin):
    """Inputs and targets as slices of the stream, one window after the other."""
    rows = []
    for start in starts:
        text = [int(token) for token in stream[start : start + n_ctx + (not begin)]]
        rows.append([BEGIN, *text] if begin else text)
    text = np.array(rows)
    return text[:, :-1], text[:, 1:]


def same(pair, expected):
    assert all(part.dtype == torch.int64 for part in pair)
    return all(np.array_equal(one.numpy(), two) for one, two in zip(pair, expected, strict=True))


@pytest.mark.parametrize("n_ctx", [None, 24])
def test_windows_of_the_held_out_text_are_its_slices(n_ctx):
    config, _ = checkpoint.settings("two-layer")
    held_out = corpus.tokens("small", "validation")
    length = config.n_ctx if n_ctx is None else n_ctx
    last = len(held_out) - length - (not config.begin)
    starts = np.linspace(0, last, 16).astype(int).tolist()
    found = windows.evenly(held_out, 16, config, n_ctx=n_ctx)
    assert same(found, by_formula(held_out.numpy(), starts, length, config.begin))


@pytest.mark.parametrize("begin", [True, False])
def test_random_windows_are_slices_where_the_generator_says(begin):
    stream = torch.arange(1, 3000, dtype=torch.int32)
    found = windows.batch(stream, 50, shape(9, begin), generator=torch.Generator().manual_seed(4))
    places = 2999 - 9 - (not begin) + 1
    starts = torch.randint(places, (50,), generator=torch.Generator().manual_seed(4)).tolist()
    assert same(found, by_formula(stream.numpy(), starts, 9, begin))


def test_of_windows_near_each_other_the_one_that_repeats_itself_most_is_taken():
    stream = torch.randint(1, 4, (5000,), generator=torch.Generator().manual_seed(0))
    context, generator = shape(9), torch.Generator().manual_seed(4)
    found = windows.batch(stream, 40, context, best_of=3, generator=generator)
    again = torch.Generator().manual_seed(4)
    places = torch.randint(5000 - 9 + 1, (40,), generator=again)
    apart = torch.randint(-36, 37, (40, 3), generator=again)
    for row, (place, offsets) in enumerate(zip(places.tolist(), apart.tolist(), strict=True)):
        starts = [min(max(place + offset, 0), 5000 - 9) for offset in offsets]
        texts = [[BEGIN, *stream[start : start + 9].tolist()] for start in starts]
        scores = [8 - len({*zip(t[:-2], t[1:-1], t[2:], strict=True)}) for t in texts]
        inputs, targets = (part[row].tolist() for part in found)
        assert [*inputs, targets[-1]] == texts[scores.index(max(scores))]


@pytest.mark.parametrize("last", range(2**25, 2**25 + 4))
def test_windows_of_a_long_text_reach_its_end(last):
    """The training text has more tokens than float32 has whole numbers."""
    assert windows.spaced(last, 3).tolist() == [0, last // 2, last]


@pytest.mark.parametrize(
    ("starts", "begin", "message"),
    [
        ([0, 25], True, "windows of 5 tokens start from 0 to 25, but the stream has 29"),
        ([24], False, "windows of 6 tokens start from 24 to 24, but the stream has 29"),
        ([-1, 3], True, "windows of 5 tokens start from -1 to 3, but the stream has 29"),
    ],
)
def test_windows_beyond_the_stream_are_refused(starts, begin, message):
    with pytest.raises(ValueError, match=message):
        windows.at(STREAM, torch.tensor(starts), shape(5, begin))
    with pytest.raises(ValueError, match="the stream has 4 tokens but a window takes"):
        windows.evenly(STREAM[:4], 2, shape(5, begin))
    with pytest.raises(ValueError, match="0 places asked for"):
        windows.evenly(STREAM, 0, shape(5, begin))


@pytest.mark.parametrize("n_vocab", [2, 60])
def test_repeats_are_found_as_a_loop_finds_them(n_vocab):
    text = torch.from_numpy(np.random.default_rng(n_vocab).integers(0, n_vocab, (7, 41)))
    found = windows.completes_repeat(text[:, :-1], text[:, 1:])
    for row, marks in zip(text.tolist(), found.tolist(), strict=True):
        bigrams = list(itertools.pairwise(row))
        assert marks == [bigram in bigrams[:at] for at, bigram in enumerate(bigrams)]
    assert 0 < found.float().mean() < 1
    twice = torch.tensor([[1, 2, 3], [1, 2, 3]])  # a window says nothing of another one
    assert not windows.completes_repeat(twice[:, :-1], twice[:, 1:]).any()
