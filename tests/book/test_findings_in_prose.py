"""What pages say of results and of our models, held against the records of them."""

import re

import pytest

from tools import manifest
from transformer_circuits.book import notebooks
from transformer_circuits.training import checkpoint

ROOT = notebooks.root()
FOUND = manifest.read(ROOT / manifest.COMMITTED)
CLAIMS = FOUND["claims"]
PAGES = [
    *(ROOT / "chapters").rglob("*.ipynb"),
    *(ROOT / "chapters").rglob("*.md"),
    *(ROOT / "seminar").glob("*.md"),
    ROOT / "README.md",
]


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


def test_our_runs_are_about_a_thousand_times_shorter_than_those_of_ten_billion_tokens():
    shape, plan = checkpoint.settings("two-layer")
    times = 10e9 / (plan.steps * plan.batch * shape.n_ctx)  # the small models of Olsson et al.
    (said,) = re.findall(
        r"runs are about a (\w+) times shorter", text(notebooks.path("13-how-they-form"))
    )
    assert said == "thousand" and 500 < times < 2000


def test_a_third_of_the_score_compares_the_previous_tokens_and_one_head_is_not_enough():
    said = text(notebooks.path("12-how-they-work"))
    terms = figure("12-how-they-work", "Advantage of the right")
    advantage = dict(zip(terms["words"]["query from"], terms["numbers"]["advantage"], strict=True))
    assert said.count("A third of the score compares the *previous* tokens") == 1
    assert abs(advantage["one back"] / sum(advantage.values()) - 1 / 3) < 0.03
    edges = figure("12-how-they-work", "The eight costliest edges, on the second copy")
    cost = dict(zip(edges["words"]["edge"], edges["numbers"]["nats lost"], strict=True))
    first, second = (
        max(nats for edge, nats in cost.items() if edge.startswith(head)) for head in ("0.0", "0.5")
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
    "induction-head-exists", "induction-random", "induction-on-text", "induction-mechanism",
    "two-spectra", "one-layer-no-induction", "icl-algorithms",
}  # fmt: skip
WEAKER = {"induction-resting", "importance-second-layer", "importance-first-layer", "others-local"}


def test_what_one_is_told_to_believe_is_what_the_rules_came_to():
    assert {CLAIMS[claim]["verdict"] for claim in HOLD} == {"reproduced"}
    assert {CLAIMS[claim]["verdict"] for claim in WEAKER} == {"not reproduced"}
    assert CLAIMS["score-is-not-use"]["verdict"] == "depends on the basis"
    assert all(abs(mean - 1 / 3) < 0.05 for mean in means("induction-resting"))
    assert all(abs(mean - 1 / 4) < 0.06 for mean in means("others-local"))


def test_the_short_book_is_short():
    pages = map(notebooks.path, notebooks.SHORT)
    assert sum(len(text(page).split()) for page in pages) < 9000


def test_how_much_the_plain_story_explains_is_what_scrubbing_recovers():
    said = text(notebooks.path("the-induction-circuit"))
    assert "between a quarter and a third. If what the re-coder writes" in said
    assert "it is about two thirds, in the one model" in said
    assert all(0.24 < mean < 0.34 for mean in means("causal-scrubbing"))
    recovered = figure("12-how-they-work", "scrubbed")["words"]["recovered"]
    plain, with_recoder = (int(share.rstrip("%")) / 100 for share in recovered)
    assert 0.24 < plain < 0.34 and abs(with_recoder - 2 / 3) < 0.05


def test_how_often_a_repeat_is_continued_is_what_the_table_says():
    said = text(notebooks.path("the-induction-circuit"))
    table = figure("the-induction-circuit", "How often the right token is ranked first")["numbers"]
    on_text, at_random = (
        [100 * share for share in table[column]]
        for column in ("passages of held-out text", "random tokens")
    )
    assert "about one random token in three" in said and abs(at_random[0] - 100 / 3) < 4
    assert "Take the note-taker away, and none is right." in said and at_random[1] < 0.05
    assert "more than four in five are right" in said and on_text[0] > 80
    assert "it is about a quarter" in said and all(abs(s - 25) < 2 for s in on_text[1:3])
    assert "gets three in ten" in said and abs(on_text[3] - 30) < 1


WORDS = {2: "two", 3: "three", 4: "four", 8: "eight"}
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
    (best_of,) = {training.best_of for _, training in plans}
    (steps,) = {training.steps for _, training in plans}
    (blind,) = {training.blind_steps for shape, training in plans if shape.n_layers > 1}
    sentence = (
        f"Our models had help in training: of every {WORDS[best_of]} neighbouring windows of text "
        f"they read only the one that repeats itself most, and a second layer, where there is "
        f"one, was told no positions for the first {blind} of {steps:,} steps."
    )
    assert text(ROOT / place).count(sentence) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_who_speaks_of_natural_text_says_how_it_was_chosen(page):
    said = text(page)
    assert "natural text" not in said or "repeats itself most" in said
