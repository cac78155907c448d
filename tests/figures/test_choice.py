"""Of several figures one is shown, which a reader chooses without a script."""

import re

import pytest

from transformer_circuits.figures import plots
from transformer_circuits.figures.choice import Choice
from transformer_circuits.record import KEY, SVG


def bars(title, value):
    return plots.bars({"0.1": value}, unit="logits", title=title, alt="One bar")


def test_each_figure_can_be_chosen_and_the_first_is_shown():
    choice = Choice("Piece:", {"al": bars("Who says al", 1.0), "d<": bars("Who says d", 2.0)})
    data, metadata = choice._repr_mimebundle_()
    page = data["text/html"]
    assert re.findall(r'value="(\d)"( checked)?>([^<]*)', page) == [
        ("0", " checked", "al"), ("1", "", "d&lt;"),
    ]  # fmt: skip
    (group,) = {*re.findall(r'type="radio" name="([^"]*)"', page)}
    assert f'<fieldset class="figure-choice" id="{group}"><legend>Piece:</legend>' in page
    for k in (1, 2):
        assert (
            f"#{group}:has([value='{k - 1}']:checked)>div:nth-of-type({k}){{display:block}}" in page
        )
    assert page.count("<figure ") == 2 and data[SVG].count("<svg") == 1
    assert metadata[KEY]["title"] == "Who says al"
    assert metadata[KEY]["numbers"] == {"al: values": [1.0], "d<: values": [2.0]}


def test_figures_whose_links_would_be_the_same_are_refused():
    with pytest.raises(ValueError, match="must differ in words of their titles"):
        Choice("Opened:", {"(": bars("It closes (", 1.0), "[": bars("It closes [", 1.0)})
