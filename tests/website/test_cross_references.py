import re
from pathlib import Path

import pytest
from docutils import nodes

from transformer_circuits.analysis import heads
from transformer_circuits.figures import plots, tables, views
from transformer_circuits.record import PNG, SVG
from website import cross_references, glossary_links

ROOT = Path(__file__).parents[2]
CARD = (ROOT / "chapters" / "reference" / "notation-card.md").read_text(encoding="utf-8")
ROWS = [
    (re.findall(r"\w+", shape), code)
    for shape, code in re.findall(r"\| \[([\w, ]+)\] \| `([^`]+)` \|$", CARD, re.MULTILINE)
]


def notebook(*shown):
    """One whose only cell puts these out."""
    bundles = [each._repr_mimebundle_() for each in shown]
    outputs = [{"data": data, "metadata": metadata} for data, metadata in bundles]
    return {"cells": [{"cell_type": "code", "outputs": outputs}]}


BARS = plots.bars({"a": 1.0}, unit="nats", title="Up & up", alt="It rises")
VIEW = views.attention(["a"], [[[1.0]]], label="All heads")


def test_figures_are_those_whose_records_say_so():
    table = tables.table([{"a": 1}], caption="No figure")
    bars, view = cross_references.figures(notebook(BARS, VIEW, table))
    assert [bars.title, view.title] == ["Up & up", "All heads"]
    assert (bars.id, bars.text, bars.kind) == ("figure-up-up", "It rises", SVG)
    assert bars.picture.decode() == BARS.svg and b"#1c2430" in bars.picture  # of a light page
    assert view.picture.startswith(b"\x89PNG") and view.kind == PNG


def test_the_longest_term_is_found_and_no_part_of_a_word_or_verb():
    names = ("head", "induction head", "OV circuit", "BEGIN", "begin token")
    expression = glossary_links.pattern({glossary_links.key(name): 0 for name in names})
    text = "Induction heads, a head; ahead, head-on, ov circuits. It begins: begin a BEGIN, Begin tokens"
    assert [match[0] for match in expression.finditer(text)] == [
        "Induction heads", "head", "ov circuits", "BEGIN", "Begin tokens",
    ]  # fmt: skip


@pytest.mark.parametrize("inside", [nodes.literal, nodes.reference, nodes.emphasis])
def test_code_and_links_are_left_as_they_are(inside):
    text = nodes.paragraph("", "", inside("", "head"), nodes.Text(" head"))
    found = [str(piece) for piece in glossary_links.prose(nodes.section("", text))]
    assert found == (["head", " head"] if inside is nodes.emphasis else [" head"])


@pytest.mark.parametrize("shape, code", ROWS, ids=[code for _, code in ROWS])
def test_shapes_on_the_card_are_those_of_a_model(shape, code, model, tokens):
    trace = model.trace(tokens)
    value = eval(code, {"model": model, "heads": heads, "trace": trace})
    sizes = {**vars(model.config), "batch": tokens.shape[0], "pos": tokens.shape[1]}
    assert list(value.shape) == [sizes[name] for name in shape]
