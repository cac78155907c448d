"""What a guess is compared with is what the records say came out."""

import re

import pytest
from test_findings_in_prose import FOUND, means, text

from transformer_circuits.book import notebooks


def shown(chapter, title, *names):
    """These numbers, or words, of the figure or table whose title begins so."""
    figures = FOUND["chapters"][chapter]["figures"]
    (record,) = [record for name, record in figures.items() if name.startswith(title)]
    both = record.get("words", {}) | record.get("numbers", {})
    return [both[name] for name in names]


def writes_most():
    title = "Every component writes straight to the logits"
    values, bars = shown("02-residual-stream", title, "values", "bars")
    assert bars[values.index(max(values))] == "head 1.3"
    return 3


def looks_one_back():
    title = "Mean attention of the first layer's heads"
    names = ("head", "1 back", "2 back", "here")
    heads, one, two, here = shown("03-attention-heads", title, *names)
    for back, head in ((one, "0.2"), (two, "0.1"), (here, "0.0")):
        assert [heads[k] for k, share in enumerate(back) if share > 0.5] == [head]
    return 1


def saved_alone():
    title = "Nats per token that a head saves"
    alone, company = shown("05-one-layer", title, "alone", "in company")
    return 1 if sum(alone) > 2 * sum(company) else 2


def lift():
    (lifts,) = shown("06-skip-trigrams", "Lift in held-out text", "lift")
    assert len(lifts) == 10 and sum(value > 10 for value in lifts) == 1
    return 2 if sum(1.4 < value < 4 for value in lifts) > 5 else 1


def copies():
    names = ("head", "copying score")
    heads, scores = shown("08-every-head", "Copying, and attention to the last two", *names)
    assert [head for head, score in zip(heads, scores, strict=True) if score < 0.2] == ["0.0"]
    return 3


def does_not_copy():
    names = ("head", "present")
    heads, present = shown("08-every-head", "Copying, and attention to the last two", *names)
    return 1 if heads[0] == "0.0" and present[0] > 0.8 else 3


def longest_terms():
    title = "On average the direct path is the longest term"
    terms, lengths = shown("09-two-layers", title, "rows", "mean")
    names, numbers = zip(*(term.rstrip(")").split(" (") for term in terms), strict=True)
    assert lengths[-1] == min(lengths) and int(numbers[-1]) > sum(map(int, numbers[:-1]))
    return ["direct path", "first layer", "virtual heads"].index(
        names[lengths.index(max(lengths))]
    ) + 1


def score_and_effect():
    return 2 if 0.2 < means("score-is-not-use")[0] < 0.6 else 1


def second_copy():
    title = "How often the right token is first, of the whole"
    (of_two, of_one) = shown("11-induction-heads", title, "two layers: y", "one layer: y")
    first, second, control = (
        sum(share for share in shares if share is not None) / (len(shares) - shares.count(None))
        for shares in (of_two[:58], of_two[-54:], of_one[-54:])
    )
    assert abs(first - 1 / 3) < 0.05 and control < first + 0.05
    return 3 if abs(second - 4 / 5) < 0.05 else 2


def bump():
    found = FOUND["chapters"]["13-how-they-form"]["checks"]
    return 1 if any("two layers' loss falls faster" in statement for statement in found) else 2


def virtual_heads():
    title = "Single heads bring most of the gain"
    ours, theirs = shown("15-term-importance", title, "here", "in the paper")
    assert ours.index(max(ours)) == theirs.index(max(theirs)) == 1
    assert ours[2] > 0.1 and 3 < ours[2] / theirs[2] < 4
    return 3


def frozen_patterns():
    title = "With patterns kept, losing the previous-token head"
    found = FOUND["chapters"]["16-what-freezing-hides"]["figures"]
    (record,) = [of for name, of in found.items() if name.startswith(title)]
    full, kept = (
        [of[0] for name, of in record["numbers"].items() if name[0] == way and of[0] == of[-1]]
        for way in "fp"
    )
    return 3 if len(full) == len(kept) == 3 and min(full) > 1 and max(kept) < 0 else 1


def without_mlps():
    title = "Paths through no MLP predict worse"
    values, bars = shown("17-what-this-leaves-out", title, "values", "bars")
    loss = dict(zip(bars, values, strict=True))
    return 3 if loss["paths through no MLP"] > loss["a zero-layer model"] else 2


def forecasts():
    title = "Rank correlation of each forecast with the effects"
    names, *kinds = shown("18-five-years-on", title, "forecast", "Q", "K", "V")
    assert names[:2] == ["composition score", "strongest direction"]
    assert all(min(kind[2:]) > 0.8 and max(kind[:2]) < min(kind[2:]) for kind in kinds)
    return 3


def exact_looks():
    (exact,) = shown("19-heads-over-text", "The strongest looks of head", "exact")
    assert abs(exact[0] - 1 / 7) < 0.02
    return 3 if exact[-1] > 0.9 else 2


def given_a_previous_token_head():
    return 2 if all(0.2 < sooner < 0.55 for sooner in means("form-given")) else 3


def random_tokens():
    (second,) = shown("your-own-model", "Random tokens, twice", "2nd (2)")
    trained, untrained = (float(share.rstrip("%")) for share in second)
    return 2 if abs(trained - 20) < 4 and untrained < 1 else 1


@pytest.mark.parametrize(
    "chapter, came_out",
    [
        ("02-residual-stream", writes_most),
        ("03-attention-heads", looks_one_back),
        ("05-one-layer", saved_alone),
        ("06-skip-trigrams", lift),
        ("07-copying", copies),
        ("08-every-head", does_not_copy),
        ("09-two-layers", longest_terms),
        ("10-who-reads-whom", score_and_effect),
        ("11-induction-heads", second_copy),
        ("13-how-they-form", bump),
        ("15-term-importance", virtual_heads),
        ("16-what-freezing-hides", frozen_patterns),
        ("17-what-this-leaves-out", without_mlps),
        ("18-five-years-on", forecasts),
        ("19-heads-over-text", exact_looks),
        ("20-why-they-form", given_a_previous_token_head),
        ("your-own-model", random_tokens),
    ],
)
def test_what_came_out_is_what_the_box_says(chapter, came_out):
    said = text(notebooks.path(chapter))
    assert re.findall(r"\*\*What came out: (\d)\.\*\*", said) == [str(came_out())]
