import pytest
import torch

from transformer_circuits.analysis import ablation
from transformer_circuits.analysis.since_2021 import over_text, sampled_looks

HEAD = (0, 2)


@pytest.fixture
def windows(generator):
    text = torch.randint(1, 17, (9, 12), generator=generator)
    text[:, 0] = 0
    return text[:, :-1], text[:, 1:]


@pytest.fixture
def found(model, windows, generator):
    looks = over_text.strongest(model, *windows, HEAD, torch.arange(17))
    passages = sampled_looks.samples(
        model, looks, *windows, HEAD, each=3, width=2, generator=generator
    )
    return looks, passages


def test_every_tenth_has_as_many_places_of_its_own(found):
    looks, passages = found
    assert list(passages) == [*range(1, 11)]
    for tenth, some in passages.items():
        there = looks.attention[looks.deciles() == tenth].tolist()
        given = [passage["facts"]["attention"] for passage in some]
        assert len(given) == 3 and set(given) <= set(there)


def test_marks_and_gaps_are_where_the_place_and_its_source_are(found):
    looks, passages = found
    gaps = 0
    for passage in (passage for some in passages.values() for passage in some):
        (k,) = (looks.attention == passage["facts"]["attention"]).nonzero()[:, 0].tolist()
        marks = passage["marks"]
        assert marks["looked at"] == marks["before it"] + 1
        assert marks["present"] == len(passage["tokens"]) - 1
        gaps += len(passage["gaps"])
        apart = int(looks.dst[k] - looks.src[k])
        assert (marks["present"] - marks["looked at"] == apart) == (not passage["gaps"])
    assert gaps > 0


def test_probabilities_are_those_of_the_model_and_of_it_without_the_head(found, model, windows):
    looks, passages = found
    inputs, targets = windows
    for passage in passages[10] + passages[1]:
        facts = passage["facts"]
        (k,) = (looks.attention == facts["attention"]).nonzero()[:, 0].tolist()
        window, dst = int(looks.window[k]), int(looks.dst[k])
        for name, one in (
            ("probability", model), ("without the head", ablation.without(model, [HEAD]))
        ):  # fmt: skip
            logits = one(inputs[window : window + 1])[0, dst]
            assert facts[name] == pytest.approx(float(logits.softmax(dim=0)[targets[window, dst]]))


def test_the_same_seed_draws_the_same_places(model, windows):
    looks = over_text.strongest(model, *windows, HEAD, torch.arange(17))
    once, again = (
        sampled_looks.samples(
            model, looks, *windows, HEAD, generator=torch.Generator().manual_seed(1)
        )
        for _ in range(2)
    )
    assert once == again


def test_a_window_without_a_begin_token_is_refused(found, model, windows, generator):
    inputs, targets = windows
    with pytest.raises(ValueError, match="9 of 9 windows do not open with BEGIN, all must"):
        sampled_looks.samples(model, found[0], inputs + 1, targets, HEAD, generator=generator)
