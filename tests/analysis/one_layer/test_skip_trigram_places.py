"""Places and counts of many skip-trigrams at once are those that one by one gives."""

import pytest
import torch

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.one_layer import (
    skip_trigram_families,
    skip_trigram_lists,
    skip_trigram_places,
    skip_trigrams,
)
from transformer_circuits.analysis.one_layer.skip_trigrams import SkipTrigram

TRIPLES = [SkipTrigram(3, 5, 7), SkipTrigram(3, 1, 2), SkipTrigram(9, 9, 9), SkipTrigram(4, 8, 4)]


def test_factors_are_those_of_the_whole_tables(model):
    places = skip_trigram_places.read(model, n=4, size=5)
    by_head = {head: skip_trigrams.factors(model, head) for head in heads.of_layer(model, 0)}
    for h, factors in enumerate(by_head.values()):
        for i, triple in enumerate(TRIPLES):
            assert places.f1(TRIPLES)[h, i] == pytest.approx(
                float(factors.attention[triple.dst, triple.src])
            )
            outputs = factors.logits[:, triple.src]
            assert places.f2(TRIPLES)[h, i] == pytest.approx(float(outputs[triple.out]))
            place = 1 + int((outputs > outputs[triple.out]).sum())
            assert bool(places.first_of_each(TRIPLES)[h, i]) == (place <= 4)
    found = [skip_trigram_families.strongest_head(by_head, triple).rank <= 4 for triple in TRIPLES]
    assert places.first(TRIPLES).tolist() == found


def test_counts_are_those_of_one_by_one(generator):
    stream = torch.randint(0, 6, (400,), generator=generator)
    triples = [SkipTrigram(*t) for t in torch.randint(1, 6, (30, 3), generator=generator).tolist()]
    for window in (3, 20):
        counted = [skip_trigrams.count(stream, t, window).n_all for t in triples]
        assert skip_trigram_places.times(stream, triples, window).tolist() == counted
    assert max(counted) > 0


TEXTS = ["", " left", "\\", "right", " right", "(", ")", "keep"]


def test_a_listed_one_takes_the_form_that_the_text_has():
    stream = torch.tensor([0, 1, 5, 2, 4, 2, 4, 2, 3])
    found = skip_trigram_lists.of_the_vocabulary(TEXTS, stream)
    assert found == [("LaTeX", SkipTrigram(1, 2, 4))]
    assert skip_trigram_lists.in_text(TEXTS, stream, 9) == [SkipTrigram(1, 2, 4)]
    assert skip_trigram_lists.in_text(TEXTS, stream[2:], 9) == []
    assert skip_trigram_lists.brackets(TEXTS) == [SkipTrigram(5, 5, 6)]
