"""What pages say of results and of our models, held against the records of them."""

import re

import pytest
import torch
from torch.nn.functional import cross_entropy

from tools import manifest
from transformer_circuits.analysis import ablation
from transformer_circuits.book import notebooks
from transformer_circuits.text import tokenizer
from transformer_circuits.training import checkpoint
from transformer_circuits.website import serving

ROOT = notebooks.root()
FOUND = manifest.read(ROOT / manifest.COMMITTED)
CLAIMS = FOUND["claims"]


def sources(chapter, kind):
    cells = notebooks.read(notebooks.path(chapter))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def text(page):
    if page.suffix != ".ipynb":
        return page.read_text(encoding="utf-8")
    cells = notebooks.read(page)["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def figure(chapter, part):
    """The figure or table whose title has these words."""
    figures = FOUND["chapters"][chapter]["figures"]
    (found,) = (of for title, of in figures.items() if part in title)
    return found


def means(claim):
    return [seed["mean"] for seed in CLAIMS[claim]["seeds"].values()]


def test_our_runs_are_about_four_hundred_times_shorter_than_those_of_ten_billion_tokens():
    shape, plan = checkpoint.settings("two-layer")
    times = 10e9 / (plan.steps * plan.batch * shape.n_ctx)  # the small models of Olsson et al.
    (said,) = re.findall(
        r"runs are about (\w+ \w+) times shorter", text(notebooks.path("13-how-they-form"))
    )
    assert said == "four hundred" and 350 < times < 450


def test_a_quarter_of_the_score_compares_the_previous_tokens_and_one_head_is_not_enough():
    said = text(notebooks.path("12-how-they-work"))
    terms = figure("12-how-they-work", "Advantage of the right")
    pairs = zip(terms["words"]["query from"], terms["words"]["key from"], strict=True)
    advantage = dict(zip(pairs, terms["numbers"]["advantage"], strict=True))
    assert said.count("A quarter of the score compares the *previous* tokens") == 1
    assert abs(advantage["one back", "two back"] / sum(advantage.values()) - 1 / 4) < 0.03
    edges = figure("12-how-they-work", "The eight costliest edges, on the second copy")
    cost = [*zip(edges["words"]["edge"], edges["numbers"]["nats lost"], strict=True)]
    first, second = (
        max(nats for edge, nats in cost if edge.startswith(head)) for head in ("0.2", "0.0")
    )
    assert said.count("only one of the first-layer heads that the circuit needs") == 1
    assert 0.7 * first < second < first


@pytest.mark.parametrize(
    "chapter, measurement, size",
    [
        ("18-five-years-on", "about_five_years_on.kept_by_strongest_directions",
         "{carried:.1%} of the edge"),
        ("19-heads-over-text", "about_heads_over_text.near_matches", "{share:.1%} of the gain"),
        ("16-what-freezing-hides", "about_term_importance.patterns_over_virtual",
         "{n_documents} documents"),
        ("12-how-they-work", "about_how_they_work.lead_of_key_edge",
         "*look[0][h, :2], of_head[h])"),
        ("03-attention-heads", "about_attention_heads.attention_one_back",
         "{back[picked.head, far]:.2f}"),
    ],
)  # fmt: skip
def test_a_verdict_that_can_mislead_stands_with_the_size_of_what_it_is_about(
    chapter, measurement, size
):
    """In its cell; or, where the verdict has a cell to itself, at the end of the one before."""
    decides, code = f"{measurement}.decide()", sources(chapter, "code")
    ((place, cell),) = ((k, s) for k, s in enumerate(code) if decides in s)
    assert size in (code[place - 1] if cell == decides else cell.partition(decides)[0])


HOLD = {
    "induction-head-exists", "induction-on-text", "induction-mechanism", "two-spectra",
    "one-layer-no-induction", "icl-algorithms", "importance-second-layer",
}  # fmt: skip
WEAKER = {"importance-first-layer", "others-local"}


def test_what_one_is_told_to_believe_is_what_the_rules_came_to():
    assert {CLAIMS[claim]["verdict"] for claim in HOLD} == {"reproduced"}
    assert {CLAIMS[claim]["verdict"] for claim in WEAKER} == {"not reproduced"}
    assert CLAIMS["score-is-not-use"]["verdict"] == "undecided"
    assert CLAIMS["induction-resting"]["verdict"] == "undecided"
    assert all(abs(mean - 1 / 2) < 0.1 for mean in means("induction-resting"))
    assert all(abs(mean - 1 / 3) < 0.06 for mean in means("others-local"))
    said = text(notebooks.path("what-to-believe"))
    assert "then adds a seventh to nearly a fifth, where the paper has a hundredth." in said
    shares = figure("15-term-importance", "the first more than in the paper")["numbers"]
    *_, beside = zip(*(shares[f"seed {seed}"] for seed in range(3)), strict=True)
    assert all(1 / 7 - 0.01 < share < 1 / 5 for share in beside)
    assert abs(shares["in the paper"][-1] - 1 / 100) < 0.001


@pytest.mark.parametrize("page", ["21-scorecard", "what-we-found", "what-to-believe"])
def test_no_page_counts_how_many_claims_hold_as_if_that_were_a_result(page):
    """Claims are of several hands and differ in weight; tables say how many of whom, and no prose does."""
    assert not re.search(
        r"\b\d+ (of \d+ )?(claims|hold|of them hold|on trained)", text(notebooks.path(page))
    )


def test_the_short_book_is_short():
    pages = map(notebooks.path, notebooks.SHORT)
    assert sum(len(text(page).split()) for page in pages) < 9000


def test_how_much_the_plain_story_explains_is_what_scrubbing_recovers():
    said = text(notebooks.path("the-induction-circuit"))
    assert "Then about a quarter is left of what the finders do for predictions." in said
    assert "about three fifths are left, in the one model" in said
    assert all(abs(mean - 0.25) < 0.03 for mean in means("causal-scrubbing"))
    recovered = figure("12-how-they-work", "scrubbed")["words"]["recovered"]
    plain, with_recoder = (int(share.rstrip("%")) / 100 for share in recovered)
    assert abs(plain - 0.25) < 0.05 and abs(with_recoder - 3 / 5) < 0.05


def test_how_often_a_repeat_is_continued_is_what_the_table_says():
    said = text(notebooks.path("the-induction-circuit"))
    table = figure("the-induction-circuit", "How often the right token is ranked first")["numbers"]
    on_text, at_random = (
        [100 * share for share in table[column]]
        for column in ("passages of held-out text", "random tokens")
    )
    of_rule = [100 * mean for mean in means("induction-random")]
    assert at_random[:3] == pytest.approx(of_rule, rel=1e-3), "page and rule ask the same"
    first, second, third = (f"{share:.0f}" for share in at_random[:3])
    assert f"right one for {first}, {second} and {third} % of the random tokens" in said
    assert "Take the note-taker away, and none is right." in said and at_random[3] < 0.05
    assert "more than three in four are right" in said and min(on_text[:3]) > 75
    assert "it is about three in ten" in said and all(abs(s - 30) < 4 for s in on_text[3:5])
    assert "is right for a third of such text" in said and abs(on_text[5] - 100 / 3) < 3


def test_what_the_tour_measures_where_nothing_comes_twice_agrees_with_the_cost_of_the_head():
    """On the sentences of its control the head costs something, less than on text at large."""
    script = (serving.LIVE / "examples.js").read_text(encoding="utf-8")
    once = re.findall(r'"(.+)"', re.search(r"const ONCE = \[\n(.*?)\n\];", script, re.S)[1])
    contexts = [tokenizer.context(sentence) for sentence in once]
    assert len(once) >= 8 and all(ids.unique().numel() == ids.numel() for ids in contexts)
    table = figure("12-how-they-work", "Cost of each head, nats per token")
    costs = dict(zip(table["words"]["head"], table["numbers"]["text"], strict=True))
    model = checkpoint.load("two-layer")

    def losses(model):
        per_token = [cross_entropy(model(ids)[0, 1:-1], ids[0, 2:]) for ids in contexts]
        return torch.stack(per_token).mean()

    with torch.no_grad():
        cost = float(losses(ablation.without(model, [(0, 2)])) - losses(model))
    assert 0.1 < cost < costs["0.2"]


INTRODUCED = [
    "README.md", "seminar/slides.md", "seminar/handout.md", *(f"chapters/{name}.ipynb" for name in (
        "a-name-comes-again", "00-how-to-read", "04-zero-layers", "05-one-layer", "09-two-layers",
        "10-who-reads-whom", "11-induction-heads", "12-how-they-work", "13-how-they-form",
        "19-heads-over-text", "20-why-they-form",
    )),
]  # fmt: skip


@pytest.mark.parametrize("place", INTRODUCED)
def test_what_helped_our_models_is_said_where_they_are_introduced(place):
    """In one sentence, with the numbers of the models' own settings."""
    plans = [
        checkpoint.settings(seed)
        for name in ("zero-layer", "one-layer", "two-layer", "two-layer-mlp")
        for seed in checkpoint.seeds(name)
    ]  # (shape, training)
    assert {training.best_of for _, training in plans} == {1}  # windows as they come
    assert all(training.rms_embed for _, training in plans)
    (steps,) = {training.steps for _, training in plans}
    (blind,) = {training.blind_steps for shape, training in plans if shape.n_layers > 1}
    sentence = (
        "Our models had help in training: every token's embedding was kept at one length, and a "
        f"second layer, where there is one, was told no positions for the first {blind} of "
        f"{steps:,} steps."
    )
    assert text(ROOT / place).count(sentence) == 1
