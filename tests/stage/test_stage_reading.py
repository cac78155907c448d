"""The line of code and what it stands for."""

import json

import pytest
import torch

from transformer_circuits.model import quantisation
from transformer_circuits.stage import Reading, names, one_layer, two_layers, zero_layers
from transformer_circuits.stage.reading import loaded

LINE = "The old king Valdemar spoke, and the people heard Valdemar"
LINES = [
    two_layers.read(LINE),
    two_layers.without("1.0", "0.2", "0.2").read(LINE, at="V"),
    two_layers.seed(1).cut("0.2", into="keys", of="1.0").cut("0.0", into="values", of="1.2").read(LINE),
    two_layers.after(375).without("0.5").read('a "quote"\nand \\ ↵ é 🙂', at=3),
    one_layer.seed(2).read(""),
    zero_layers.read(LINE, at="al"),
]  # fmt: skip


@pytest.mark.parametrize("reading", LINES, ids=lambda reading: reading.line.model)
def test_the_line_of_code_and_the_state_are_the_reading(reading):
    models = {"two_layers": two_layers, "one_layer": one_layer, "zero_layers": zero_layers}
    assert eval(reading.code, models) == reading
    state = json.loads(json.dumps(reading.state))
    assert Reading.of(state) == reading and Reading.of(state).state == state


def test_verbs_come_in_any_order():
    one = two_layers.read(LINE).cut("0.2", into="keys", of="1.0").without("0.2").seed(1)
    assert one == two_layers.seed(1).without("0.2").cut("0.2", into="keys", of="1.0").read(LINE)
    assert one.code == (
        'two_layers.seed(1).without("0.2").cut("0.2", into="keys", of="1.0")'
        f'.read("{LINE}")'
    )  # fmt: skip


WRONG = {
    "no head '2.0'": lambda: two_layers.without("2.0"),
    "one head at least": lambda: two_layers.without(),
    "has no head '0.0'; it has none": lambda: zero_layers.without("0.0"),
    "no earlier layer": lambda: two_layers.cut("1.0", into="keys", of="1.2"),
    "must be one of .'queries'": lambda: two_layers.cut("0.2", into="key", of="1.0"),
    "seed is 3": lambda: two_layers.seed(3),
    "after is 300 .* 375": lambda: two_layers.after(300),
    "of seed 1 none was kept": lambda: two_layers.after(375).seed(1),
    "at is 'X'": lambda: two_layers.read(LINE, at="X").at,
    "0 to 20": lambda: two_layers.read(LINE, at=21).at,
    "at is True": lambda: two_layers.read(LINE, at=True).at,
    "seed is True": lambda: two_layers.seed(True),
    "no head '2.9'": lambda: two_layers.read(LINE).look("2.9", 3),
    "no head '9.9'": lambda: two_layers.read(LINE).column("9.9"),
    "at is -1": lambda: two_layers.read(LINE).told(-1, 3),
    "token is -1": lambda: two_layers.read(LINE).told(3, -1),
    "reads 512": lambda: two_layers.read("a b" * 600),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_is_said(message):
    with pytest.raises(ValueError, match=message):
        WRONG[message]()


def test_a_reading_is_what_the_model_computes():
    reading = two_layers.read(LINE)
    model, tokens = loaded("two-layer"), torch.tensor([reading.ids])
    trace = model.trace(tokens)
    assert all(
        (a - b[0]).abs().max() < 1e-5 for a, b in zip(reading.patterns, trace.patterns, strict=True)
    )
    assert reading.pieces == ["al", "d", "em", "ar"] and reading.places == [16, 17, 18, 19]
    p = trace.logits[0].softmax(dim=-1)
    expected = torch.tensor([p[at, tokens[0, at + 1]] for at in reading.places])
    assert (reading.likely - expected).abs().max() < 1e-5
    assert reading.ranks == [1] * 4 and reading.at == 16 and reading.first == 4
    rounded = quantisation.rounded(model)  # what the page has
    assert (rounded(tokens) - model(tokens)).abs().max() < 1e-3


def test_the_name_is_the_word_that_comes_again():
    def found(text):
        reading = two_layers.read(text)
        return "".join(reading.tokens[k] for k in reading.name), reading.first, reading.at

    assert found(LINE) == ("␣Valdemar", 4, 16)
    assert found(LINE.replace("heard", "heard king"))[0] == "␣Valdemar"
    assert found(LINE + ".")[0] == "␣Valdemar"
    assert found(LINE + " and left")[0] == "␣Valdemar"
    assert found(LINE[13:]) == ("␣Valdemar", 1, 13)  # there it has no space before it
    assert found(LINE[:-2])[0] == "␣Valdem"
    assert found("x 19 27 and 19 27")[0] == "␣19␣27" and found("the old king") == ("", -1, 3)
    assert found("the the the the the")[:2] == ("␣the␣the", 1)  # a name does not overlap itself


def test_a_name_that_is_cut_in_other_pieces_is_noticed():
    def differently(text):
        return names.cut_differently(two_layers.read(text).tokens)

    assert differently("Peter spoke, and the people heard Peter")  # P|eter, Peter
    assert not differently("Valdemar spoke, and the people heard Valdemar")
    assert not differently(LINE) and not differently("") and not differently("Valdemar 3")


def test_what_the_stage_unfolds_is_what_the_weights_say():
    reading = two_layers.without("0.3").read(LINE)
    board = reading.board()
    assert board["writtenFor"] == "al" and [w["name"] for w in board["writers"]][:2] == [
        "token",
        "0.0",
    ]
    logits = reading.trace.logits[0, 16]
    total = sum(writer["logit"] for writer in board["writers"])
    assert abs(total - float(logits[reading.ids[17]] - logits.mean())) < 2e-3
    column = reading.column()["column"]
    assert (column["head"], column["token"], column["top"][0]["label"]) == ("1.0", "al", "al")
    assert reading.column("0.2")["column"]["head"] == "0.2"
    assert zero_layers.read(LINE).column() == {"column": None}


def test_it_is_shown_as_a_drawing_that_says_what_it_shows():
    shown, metadata = two_layers.without("0.2").read(LINE, at="V")._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg") and "<figcaption" in shown["text/html"]
    alt = metadata["record"]["text"]
    assert "Without 0.2." in alt and "1.0 looks at the beginning of the line (92" in alt
