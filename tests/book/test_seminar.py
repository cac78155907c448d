"""Numbers and words that slides and notes say of a model are the model's."""

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


def test_what_pairs_are_to_find_is_in_the_model():
    """The words of the exercise, with the head and the outputs that the speaker's notes name."""
    (slide,) = [slide for slide in SLIDES if "# Three tokens at once" in slide]
    (offered,) = re.findall(r"^(`[^`|\n].*)$", slide, re.M)
    named = dict(re.findall(r"`([^`]+)` in head (\d\.\d)", offered))
    assert named == {"␣king": "0.1", "␣back": "0.0"}
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
