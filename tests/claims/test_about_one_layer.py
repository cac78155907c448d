"""What is measured of one layer is finite, sees what was built in, and does not see it elsewhere."""

import dataclasses

import pytest
import torch

from transformer_circuits.analysis.one_layer import (
    ensemble,
    skip_trigram_families,
)
from transformer_circuits.analysis.one_layer.skip_trigrams import SkipTrigram
from transformer_circuits.claims import (
    about_one_layer,
    about_skip_trigrams,
    controls,
    rules,
)
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer


@pytest.fixture(scope="module")
def one_layer_subject():
    """A random model of the book's vocabulary, and a text that has members of every kind."""
    n_vocab = tokenizer.load().get_vocab_size()
    config = ModelConfig(
        n_layers=1,
        n_heads=2,
        d_model=128,
        d_head=64,
        n_vocab=n_vocab,
        n_ctx=32,
        position_base=100.0,
    )
    model = Transformer(config).requires_grad_(False)
    model.randomise(generator=torch.Generator().manual_seed(3))
    text = " two Two two left \\right try\n    except for i in range in enumerate"
    ids = {text: token for token, text in enumerate(tokenizer.texts()) if text}
    words = [" two", "two", " Two", " The", "The", "For", " for", "for", " or", "or"]
    split = [" For", "F", "or", "For", "F", "OR", " Not", "N", "ot", "Not", "N", "OT"]
    split += [" Man", "M", "an", " Man", "M", "AN", " Out", "O", "ut", " Out", "O", "UT"]
    parts = [ids[word] for word in (words + split) * 6 if word in ids]
    line = tokenizer.load().encode(text).ids
    rows = [[tokenizer.BEGIN, *line, *parts, *line] for _ in range(3)]
    return Subject("small", model, torch.tensor(rows).flatten())


def _copier(subject: Subject, other_forms: float = 0) -> Subject:
    """One head that looks everywhere alike and gives back what it sees, and no direct path.

    `other_forms`: how much it gives of a word's forms with another capital or space, too.
    """
    config = dataclasses.replace(subject.model.config, n_heads=1)
    model = Transformer(config).requires_grad_(False)
    generator = torch.Generator().manual_seed(0)
    codes = torch.randint(2, (64, config.n_vocab), generator=generator) * 2.0 - 1
    model.W_E.data = torch.cat([codes, torch.zeros_like(codes)])
    forms = ensemble.forms(tokenizer.texts())
    of_word = (codes[:, forms.clamp(min=0)] * (forms >= 0)).sum(dim=2)
    given = codes + other_forms * (of_word - codes)
    model.W_U.data = torch.cat([torch.zeros_like(codes), given / 8]).T.contiguous()
    for weight in model.layers[0].parameters():
        weight.zero_()
    each = torch.arange(64)
    model.layers[0].W_V[0][each, each] = 1.0
    model.layers[0].W_O[0][64 + each, each] = 1.0
    return dataclasses.replace(subject, name="copier", model=model)


def test_a_head_that_copies_saves_by_copying_and_without_competition(one_layer_subject):
    copier = _copier(one_layer_subject)
    for measured in (about_one_layer.copying_against_the_rest, about_one_layer.each_by_itself):
        assert rules.interval(measured(copier)).mean > 0


def test_a_copier_of_all_forms_makes_bugs_and_one_that_tells_them_apart_makes_none(
    one_layer_subject,
):
    """The right word is raised by both; what counts is the lesser of the bugs."""
    loose, strict = (_copier(one_layer_subject, sign) for sign in (1, -1))
    assert rules.interval(about_one_layer.bugs(loose)).low > 0
    assert rules.interval(about_one_layer.bugs(strict)) == rules.NOTHING, "nor both right ones"
    for control in (about_one_layer.without_heads, controls.heads_without_effect):
        assert about_one_layer.bugs.interval(control(loose)) == rules.NOTHING


def test_a_copier_cannot_tell_what_comes_next(one_layer_subject):
    for subject in (one_layer_subject, _copier(one_layer_subject)):
        assert rules.interval(about_one_layer.right_preferred(subject)).high < 0.55


@pytest.mark.parametrize("specialist, expected", [(True, 1.0), (False, 0.0)])
def test_a_head_for_split_words_is_told_from_one_for_all(
    specialist, expected, monkeypatch, subject
):
    """Two heads: the first holds whatever is copied whole; the second, or the first, what is split."""
    triples = [SkipTrigram(src, 3, src + 1) for src in range(5, 13)]
    monkeypatch.setattr(
        about_skip_trigrams, "of_families", lambda *_: {skip_trigram_families.SPLIT: triples}
    )

    class Held:
        ov = (None, None)

        def f1(self, asked):
            return torch.ones(2, len(asked))

        def f2(self, asked):
            split = torch.tensor([specialist and t.src != t.out for t in asked])
            return torch.stack([~split, split]).float()

    monkeypatch.setattr(about_skip_trigrams, "_places", lambda one: Held())
    found = about_skip_trigrams.held_by_a_specialist(subject)
    assert (found == expected).all() and len(found) == len(triples)
    monkeypatch.setattr(about_skip_trigrams, "_places", lambda one: None)
    assert about_skip_trigrams.held_by_a_specialist.interval(subject) == rules.NOTHING
