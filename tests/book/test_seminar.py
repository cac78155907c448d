"""The plan, the slides and the notes for the speaker belong together."""

import json
import re

import pytest

from transformer_circuits import files
from transformer_circuits.analysis import ablation, heads
from transformer_circuits.analysis.one_layer import skip_trigrams
from transformer_circuits.book import notebooks
from transformer_circuits.text import tokenizer
from transformer_circuits.training import checkpoint
from transformer_circuits.website import serving

SEMINAR = files.data_dir().parent / "seminar"
SLIDES = re.split(
    r"^(?=\(slides-)", (SEMINAR / "slides.md").read_text(encoding="utf-8"), flags=re.M
)
PLAN = (SEMINAR / "plan-90.md").read_text(encoding="utf-8")
MANIFEST = json.loads((SEMINAR.parent / "results" / "manifest.json").read_text("utf-8"))
PACE = 130
"""Words a minute, of somebody who speaks so that all can follow."""


def notes(slide):
    """What stands in the speaker's notes of a slide, by its first word."""
    (text,) = re.findall(r"^```\{revealjs-notes\}\n(.*?)^```$", slide, re.M | re.S)
    return dict(re.findall(r"^(Minutes|Say|Ask|Answer): (.*)$", text, re.M))


@pytest.mark.parametrize("slide", SLIDES, ids=lambda text: re.search(r"^##? (.*)$", text, re.M)[1])
def test_a_slide_says_what_to_say_and_ask_and_what_is_right(slide):
    found = notes(slide)
    assert found.keys() == {"Minutes", "Say", "Ask", "Answer"}
    said = len(" ".join(found.values()).split())
    assert said >= 40 and len(found["Say"].split()) <= PACE * int(found["Minutes"]) / 2
    shown = re.sub(r"^```.*?^```$|\$\$.*?\$\$|^:::.*?^:::$", "", slide, flags=re.M | re.S)
    assert len(shown.split()) <= 95, "readable from the last row"


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


def test_two_sessions_have_ninety_minutes_each_without_a_gap():
    text = (SEMINAR / "plan-2x90.md").read_text(encoding="utf-8")
    rows = [(int(a), int(b)) for a, b in re.findall(r"^\| (\d+)–(\d+) \|", text, re.M)]
    second = rows.index((0, 10), 1)
    for session in (rows[:second], rows[second:]):
        assert [a for a, _ in session] == [0, *(b for _, b in session[:-1])]
        assert session[-1][1] == 90


def percent(shares):
    *most, last = (f"{100 * share:.0f}" for share in shares)
    return f"{', '.join(most)} and {last} %"


def stated_of_resting():
    of = shown_by("what-to-believe", "Of three rules one passes")
    (k,) = (k for k, rule in enumerate(of["words"]["rules"]) if rule.startswith("resting"))
    trained, untrained, line = (
        of["numbers"][name][k] for name in ("three trainings", "untrained", "line")
    )
    assert 7 < min(trained) / untrained < 8
    return [
        f"rests* on the first token: {percent(trained)}; untrained {100 * untrained:.0f} %; bound "
        f"{100 * line:.0f} %.",
        f"A rule says above {100 * line:.0f} %; three trainings come to {percent(trained)}, a "
        f"model without training to {100 * untrained:.0f} %.",
        "more than seven times what a model without training shows",
    ]


def stated_of_growing():
    of = shown_by("13-how-they-form", "Million tokens until a head first")["numbers"]
    half, rise = {}, {}
    for kind in ("previous", "matching"):
        tenth, middle, most = (of[f"{kind} {share}%"][:3] for share in (10, 50, 90))
        half[kind] = f"{min(middle):.1f} to {max(middle):.1f}"
        took = [end - begin for begin, end in zip(tenth, most, strict=True)]
        rise[kind] = f"{min(took):.1f} to {max(took):.1f}"
    return [
        f"half done after {half['previous']} million tokens, the search after {half['matching']}.",
        f"the notes take {rise['previous']} million tokens, the search {rise['matching']}, of 24.6.",
    ]


def stated_of_the_name():
    of = shown_by("a-name-comes-again", "Two layers finish a name")["numbers"]
    on, off = of["probability, as it is"], of["probability, without head 0.2"]
    assert min(on) > 1 / 2 and round(1 / off[0]) == 9 and max(off[1:]) < 0.015
    shares = [f"{100 * share:.0f}" for share in on]
    model = checkpoint.load("two-layer")
    line = tokenizer.context("The old king Valdemar spoke, and the people heard Valdemar")
    frozen = ablation.without(model, [(0, 2)])(line, model.trace(line).patterns)[0, -5:-1]
    back = frozen.softmax(dim=-1).gather(1, line[0, -4:, None])[:, 0]
    returned = ", ".join(f"{100 * share:.0f}" for share in back)
    return [
        "every piece drops from above one half: the first to one in nine, the others to one in a "
        "hundred or less",
        f"all comes back: {returned} %, of {', '.join(shares)}.",
    ]


def stated_of_the_tour():
    """Of what the live page computes, on the text of its tour."""
    script = (serving.LIVE / "examples.js").read_text(encoding="utf-8")
    line = tokenizer.context(re.search(r'const NAME =\n  "(.*)";', script)[1])
    model = checkpoint.load("two-layer")
    first, at, _ = (line[0] == tokenizer.token("ad")).nonzero()[:, 0].tolist()
    less, trace = ablation.without(model, [(0, 2)]), model.trace(line)
    shares = [
        100 * float(logits[0, place].softmax(dim=0)[tokenizer.token("ne")])
        for logits, place in ((trace.logits, first), (trace.logits, at), (less(line), at),
                              (less(line, trace.patterns), at))
    ]  # fmt: skip
    assert shares[0] < 1 and shares[2] < 0.15
    return [f"about {shares[1]:.0f} % the second", "Off, 0.1 % or less",
            f"Frozen, about {shares[3]:.0f} %"]  # fmt: skip


def stated_of_copying():
    of = shown_by("does-it-copy", "Every head of the second layer leans towards copying")
    heads = [head.partition(" ")[0] for head in of["words"]["head"]]
    first = dict(zip(heads, of["numbers"]["ranks first what it looks at"], strict=True))
    score = dict(zip(heads, of["numbers"]["copying score"], strict=True))
    assert min(score[f"1.{k}"] for k in range(6)) > 1 / 2 and score["1.1"] > 0.95
    assert all(abs(first[head] - 1 / 2) < 0.05 for head in ("1.0", "1.2"))
    assert round(1 / first["1.1"]) == 8
    return ["put the token itself first for about half of all tokens",
            "head 1.1, which scores nearly one, does so for one in eight"]  # fmt: skip


def stated_of_the_sum():
    of = shown_by("one-channel", "a finder says “al” loudest")
    shares = dict(zip(of["words"]["al: bars"], of["numbers"]["al: values"], strict=True))
    finders = sum(share for name, share in shares.items() if "(finder)" in name)
    assert abs(finders / sum(shares.values()) - 2 / 5) < 0.03
    longest = sorted(shares, key=shares.get)[-3:]
    assert [name.partition(" ")[0] for name in longest] == ["embedding", "0.0", "1.0"]
    return ["the finders, give two fifths", "longest three bars aloud: 1.0, 0.0, the token's own"]


def stated_in_tables():
    cut = shown_by("what-a-second-layer-reads", "Cut from the keys, the name is gone")["numbers"]
    columns = [cut[f"probability, Cut notes from {of}"] for of in ("queries", "keys", "values")]
    columns.append(cut["probability, Cut notes from nothing"])
    yield "| head 0.2 cut out of their | queries | keys | values | nothing |"
    for piece, place in (("al", 0), ("ar", -1)):
        yield f"| *{piece}* | " + " | ".join(f"{100 * of[place]:.0f} %" for of in columns) + " |"
    table = shown_by("the-induction-circuit", "How often the right token is ranked first of 6,144")
    *seeds, less, _, one = (f"{100 * share:.1f}" for share in table["numbers"]["random tokens"])
    yield "two layers {}, {} and {} %, one layer".format(*seeds) + (
        f" {one} %, two layers without head 0.2 {less} %."
    )


def test_every_share_on_slides_and_handout_is_the_one_that_pages_show():
    """What is stated in words as well; and no percentage is stated that no record has."""
    said = "".join(SLIDES) + (SEMINAR / "handout.md").read_text(encoding="utf-8")
    for stated in (
        stated_of_resting, stated_of_growing, stated_of_the_name, stated_of_the_tour,
        stated_of_copying, stated_of_the_sum, stated_in_tables,
    ):  # fmt: skip
        for phrase in stated():
            assert said.count(phrase) == 1, phrase
            said = said.replace(phrase, "")
    assert re.findall(r".{30}%", said) == []


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


def test_it_is_said_of_each_exercise_how_important_it_is():
    listed = files.read_toml(SEMINAR / "exercises.toml")
    labels = [label for of in listed.values() for label in of]
    assert sorted(labels) == sorted(label for _, label, _ in exercises())
    assert len(listed["path"]) == 5 and len(listed["worth"]) < len(listed["curious"])
    chapters = {label[3:5] for label in labels}
    assert {label[3:5] for label in listed["path"] + listed["worth"]} == chapters


def test_the_path_has_the_titles_and_minutes_of_its_exercises():
    page = (SEMINAR / "exercises.md").read_text(encoding="utf-8")
    path = files.read_toml(SEMINAR / "exercises.toml")["path"]
    known = {label: (title, minutes) for title, label, minutes in exercises()}
    shown = re.findall(r"^\d\. ★ \[(.*)\]\(#(.*?)\), (\d+) minutes", page, re.M)
    assert shown == [(known[label][0], label, known[label][1]) for label in path]
    assert f"about {sum(int(minutes) for *_, minutes in shown)} minutes" in page
    handout = (SEMINAR / "handout.md").read_text(encoding="utf-8")
    assert all(f"*{title}*" in handout for title, _, _ in shown)


def test_every_page_of_the_short_book_has_an_exercise_without_python():
    page = (SEMINAR / "exercises.md").read_text(encoding="utf-8")
    for name in notebooks.SHORT:
        text = notebooks.path(name).read_text(encoding="utf-8")
        (label,) = re.findall(r"\((\w+-break)\)=", text)
        assert "Without a computer: " in text and f"(#{label})" in page
    assert len(re.findall(r"\(#\w+-break\)", page)) == len(notebooks.SHORT)
