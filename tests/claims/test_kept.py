"""What is kept for the chapters after is what was measured, and is measured anew if anything differs."""

import dataclasses

import pytest
import torch

from transformer_circuits import files
from transformer_circuits.claims import kept, recorded, samples
from transformer_circuits.training import checkpoint


@pytest.fixture
def counted(subject, tmp_path, monkeypatch):
    """A function that is kept, and how often it was called; its subject is one of the book's models."""
    calls = []
    (tmp_path / "models" / subject.name).mkdir(parents=True)
    monkeypatch.setattr(files, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(checkpoint, "models_dir", lambda: tmp_path / "models")
    monkeypatch.setattr(recorded, "made_of", lambda module: "this code")

    @kept.for_all_chapters
    def summed(subject):
        calls.append(subject)
        return {"sum": subject.model.W_E.sum(dim=1)}

    return summed, calls


def again(subject):
    """The same subject as the next chapter has it: with nothing in memory."""
    return dataclasses.replace(subject)


def test_the_next_chapter_reads_what_the_first_measured(counted, subject):
    summed, calls = counted
    first, second = summed(subject), summed(again(subject))
    assert len(calls) == 1 and torch.equal(first["sum"], second["sum"])


def test_whatever_it_was_made_of_makes_it_anew(counted, subject, monkeypatch):
    summed, calls = counted
    summed(subject)
    summed(dataclasses.replace(subject, text=subject.text.flip(0)))
    other = again(subject)
    other.model.W_E.data[0, 0] += 1
    summed(other)
    monkeypatch.setattr(samples, "MANY", (2, 3))
    summed(again(subject))
    monkeypatch.setattr(recorded, "made_of", lambda module: "other code")
    summed(again(subject))
    other.model.W_E.data[0, 0] -= 1
    assert len(calls) == 5


def test_what_is_damaged_is_made_anew_and_what_is_not_of_the_book_is_not_kept(counted, subject):
    summed, calls = counted
    summed(subject)
    [path] = (files.cache_dir() / "kept").iterdir()
    path.write_bytes(b"cut off")
    summed(again(subject))
    summed(dataclasses.replace(subject, name="untrained"))
    summed(dataclasses.replace(subject, name="untrained"))
    assert len(calls) == 4 and [*path.parent.iterdir()] == [path]
