"""The plan, the slides and the notes for the speaker belong together."""

import json
import re

from transformer_circuits import files
from transformer_circuits.analysis import heads
from transformer_circuits.analysis.one_layer import skip_trigrams
from transformer_circuits.text import tokenizer
from transformer_circuits.training import checkpoint

SEMINAR = files.data_dir().parent / "seminar"
SLIDES = re.split(
    r"^(?=\(slides-)", (SEMINAR / "slides.md").read_text(encoding="utf-8"), flags=re.M
)
PLAN = (SEMINAR / "plan-90.md").read_text(encoding="utf-8")
MANIFEST = json.loads((SEMINAR.parent / "results" / "manifest.json").read_text("utf-8"))


def notes(slide):
    """What stands in the speaker's notes of a slide, by its first word."""
    (text,) = re.findall(r"^```\{revealjs-notes\}\n(.*?)^```$", slide, re.M | re.S)
    return dict(re.findall(r"^(Minutes|Goal|Say|Ask|Answer): (.*)$", text, re.M))


def shown_by(page, title):
    """The record of the figure or table of a page whose title has these words."""
    figures = MANIFEST["chapters"][page]["figures"]
    (record,) = (of for name, of in figures.items() if title in name)
    return record


MINUTES = [int(notes(slide)["Minutes"]) for slide in SLIDES]


def test_the_minutes_of_the_slides_are_those_of_the_plan():
    planned, in_plan = 0, []
    for begin, end, row in re.findall(r"^\| (\d+)–(\d+) \|(.*)\|$", PLAN, re.M):
        assert int(begin) == planned
        planned = int(end)
        if shown := [int(number) for number in re.findall(r"\d+", row.split("|")[-1])]:
            assert sum(MINUTES[k - 1] for k in shown) == int(end) - int(begin), row
            in_plan += shown
    assert planned == 90 and in_plan == [*range(1, len(in_plan) + 1)] and len(in_plan) <= 16
    titles = [re.search(r"^##? (.*)$", slide, re.M)[1] for slide in SLIDES]
    mechanism = [
        titles.index(of)
        for of in ("The mechanism, in four clicks", "Cut one reading, and only that")
    ]
    assert sum(MINUTES[k] for k in mechanism) == 15, "the most of all"


def test_every_slide_has_a_goal_and_none_has_that_of_another():
    goals = [notes(slide)["Goal"] for slide in SLIDES]
    assert all(goal.startswith("everybody can ") for goal in goals) and len({*goals}) == len(goals)


def test_the_short_lesson_takes_twenty_minutes_and_ends_with_the_five_sentences():
    rows = re.findall(
        r"^\| (\d+)–(\d+) \|.*\| (\d+) \|[^|]*\|$",
        (SEMINAR / "plan-20.md").read_text(encoding="utf-8"),
        re.M,
    )
    begins, ends, shown = zip(*(map(int, row) for row in rows), strict=True)
    assert begins == (0, *ends[:-1]) and ends[-1] == 20
    assert all(
        end - begin <= MINUTES[k - 1] for begin, end, k in zip(begins, ends, shown, strict=True)
    )
    assert "## Five sentences, on one line" in SLIDES[shown[-1] - 1]


def test_what_pairs_are_to_find_is_in_the_model():
    """The words of the exercise, with the head and the outputs that the speaker's notes name."""
    (slide,) = [slide for slide in SLIDES if "# Three tokens at once" in slide]
    (offered,) = re.findall(r"^(`[^`|\n].*)$", slide, re.M)
    named = dict(re.findall(r"`([^`]+)` in head (\d\.\d)", offered))
    assert named == {"king": "0.1", "back": "0.0"}
    answers = {" (": ("0.2", ")"), " [": ("0.2", "]"), " king": ("0.1", " reign"),
               " back": ("0.0", "ward")}  # fmt: skip
    model = checkpoint.load("one-layer")
    bracket = shown_by("what-one-layer-can-say", "looks at a bracket")["text"]
    assert f"Head {answers[' ('][0]} at the token" in bracket, "the head of the page"
    for word, (head, output) in answers.items():
        if word[1] not in "([":
            assert output.strip() in notes(slide)["Answer"] and head in notes(slide)["Answer"]
        layer, index = map(int, head.split("."))
        raised = skip_trigrams.factors(model, heads.Head(layer, index)).logits[
            :, tokenizer.token(word)
        ]
        assert tokenizer.token(output) in raised.topk(5).indices.tolist()
        if word[1] in "([":
            assert f"| `␣{word[1]}` | {head} |" in slide
            strongest = tokenizer.labels(raised.topk(4).indices)
            assert " &ensp; ".join(f"`{token}`" for token in strongest) in "".join(SLIDES)


def test_the_bug_on_paper_is_one_of_the_model():
    (slide,) = [slide for slide in SLIDES if "# The bug, on paper" in slide]
    said = "head 0.4 raises all four, and the wrong one, back … to → forth, most of all"
    assert said in notes(slide)["Answer"]
    of = skip_trigrams.factors(checkpoint.load("one-layer"), heads.Head(0, 4))
    looks = re.findall(r"^\| \*… (\w+)\* looks (\.\d+) ", slide, re.M)
    raises = re.findall(r"→ \*(\w+)\*: (\d\.\d+)", slide)
    assert [word for word, _ in looks + raises] == ["and", "to", "forth", "the"]
    source = tokenizer.token(" back")
    for word, shown in looks:
        assert abs(of.attention[tokenizer.token(f" {word}"), source] - float(shown)) < 0.005
    for word, shown in raises:
        assert abs(of.logits[tokenizer.token(f" {word}"), source] - float(shown)) < 0.005
    back, *ends = (tokenizer.token(word) for word in (" back", " forth", " the"))
    pushes = {
        (here, end): of.attention[tokenizer.token(here), back] * of.logits[end, back]
        for here in (" and", " to")
        for end in ends
    }
    assert min(pushes.values()) > 0.5 and max(pushes, key=pushes.get) == (" to", ends[0])


def exercises():
    """Label, title and minutes of every exercise of the book."""
    for path in sorted((SEMINAR.parent / "chapters").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
        yield from re.findall(
            r"\{exercise\} (.*)\n:label: (\S+)\n(?:.*\n)*?\*[●○]{3} \w+, about (\d+) minutes\*",
            text,
        )


def test_the_path_has_the_titles_and_minutes_of_its_exercises():
    page = (SEMINAR / "exercises.md").read_text(encoding="utf-8")
    path = files.read_toml(SEMINAR / "exercises.toml")["path"]
    known = {label: (title, minutes) for title, label, minutes in exercises()}
    shown = re.findall(r"^\d\. ★ \[(.*)\]\(#(.*?)\), (\d+) minutes", page, re.M)
    assert shown == [(known[label][0], label, known[label][1]) for label in path]
    assert f"about {sum(int(minutes) for *_, minutes in shown)} minutes" in page
    handout = (SEMINAR / "handout.md").read_text(encoding="utf-8")
    assert all(f"*{title}*" in handout for title, _, _ in shown)
