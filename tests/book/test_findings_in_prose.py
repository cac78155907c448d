"""What a chapter says about its results, held against the record of them."""

import re
from pathlib import Path

import pytest

from tools import manifest
from transformer_circuits.book import notebooks
from transformer_circuits.training import checkpoint

ROOT = Path(__file__).parents[2]


def sources(chapter, kind):
    cells = notebooks.read(notebooks.path(chapter))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def test_our_runs_are_about_a_thousand_times_shorter_than_those_of_ten_billion_tokens():
    shape, plan = checkpoint.settings("two-layer")
    times = 10e9 / (plan.steps * plan.batch * shape.n_ctx)  # the small models of Olsson et al.
    (said,) = re.findall(
        r"runs are about a (\w+) times shorter",
        " ".join(sources("13-how-they-form", "markdown")),
    )
    assert said == "thousand" and 500 < times < 2000


def test_a_third_of_the_score_compares_the_previous_tokens_and_one_head_is_not_enough():
    figures = manifest.read(ROOT / manifest.COMMITTED)["chapters"]["12-how-they-work"]["figures"]
    text = " ".join(sources("12-how-they-work", "markdown"))
    (terms,) = (of for title, of in figures.items() if title.startswith("Advantage of the right"))
    advantage = dict(zip(terms["words"]["query from"], terms["numbers"]["advantage"], strict=True))
    assert text.count("A third of the score compares the *previous* tokens") == 1
    assert abs(advantage["one back"] / sum(advantage.values()) - 1 / 3) < 0.03
    edges = figures["The eight costliest edges, on the second copy"]
    cost = dict(zip(edges["words"]["edge"], edges["numbers"]["nats lost"], strict=True))
    first, second = (
        max(nats for edge, nats in cost.items() if edge.startswith(head)) for head in ("0.0", "0.5")
    )
    assert text.count("only one of the first-layer heads that the circuit needs") == 1
    assert 0.7 * first < second < first


@pytest.mark.parametrize(
    "chapter, measurement, size",
    [
        (
            "18-five-years-on",
            "about_five_years_on.kept_by_strongest_directions",
            "{carried:.1%} of the edge",
        ),
        ("19-heads-over-text", "about_heads_over_text.near_matches", "{share:.1%} of the gain"),
        (
            "16-what-freezing-hides",
            "about_term_importance.patterns_over_virtual",
            "{n_documents} documents",
        ),
        ("12-how-they-work", "about_how_they_work.lead_of_key_edge", "{of_head[h]:.2f} nats"),
        (
            "03-attention-heads",
            "about_attention_heads.attention_one_back",
            "{back[picked.head, far]:.2f}",
        ),
    ],
)
def test_a_verdict_that_can_mislead_stands_with_the_size_of_what_it_is_about(
    chapter, measurement, size
):
    (cell,) = (s for s in sources(chapter, "code") if f"{measurement}.decide()" in s)
    assert size in cell.partition(".decide()")[0]
