import pytest
import torch

from transformer_circuits.analysis.heads import Head
from transformer_circuits.analysis.one_layer import skip_trigram_families
from transformer_circuits.analysis.one_layer.skip_trigram_families import (
    COPY,
    COPY_OTHER_FORM,
    SPLIT,
    SPLIT_OTHER_FORM,
)
from transformer_circuits.analysis.one_layer.skip_trigrams import Factors, SkipTrigram

TEXTS = ["", " Ralph", "R", "alph", "ALPH", "ralph", "P", " R", " alph", "()", " ab"]


def test_members_of_every_family():
    found = skip_trigram_families.of_vocabulary(TEXTS, destinations=[6] * len(TEXTS))
    assert SkipTrigram(1, 6, 1) in found[COPY] and SkipTrigram(5, 6, 5) in found[COPY]
    assert SkipTrigram(1, 6, 5) in found[COPY_OTHER_FORM]
    assert set(found[SPLIT]) == {SkipTrigram(1, 2, 3), SkipTrigram(1, 7, 3)}
    assert set(found[SPLIT_OTHER_FORM]) == {SkipTrigram(1, 2, 4), SkipTrigram(1, 7, 4)}


def test_the_strongest_head_is_found():
    weak = Factors(torch.full((4, 4), 0.1), torch.zeros(4, 4))
    logits = torch.zeros(4, 4)
    logits[2, 1], logits[3, 1] = 5.0, 7.0
    strong = Factors(torch.full((4, 4), 0.5), logits)
    by_head = {Head(0, 3): weak, Head(0, 4): strong}
    found = skip_trigram_families.strongest_head(by_head, SkipTrigram(1, 0, 2))
    assert (found.head, found.rank) == (Head(0, 4), 2)
    assert found.strength == pytest.approx(2.5) and found.attention == pytest.approx(0.5)
