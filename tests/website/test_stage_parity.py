"""The stage in the page and in Python: the same states, numbers and marks."""

import base64
import json
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

from transformer_circuits import stage
from transformer_circuits.book import notebooks
from transformer_circuits.stage import one_layer, paragraphs, still, two_layers, zero_layers
from transformer_circuits.stage.reading import FOLDERS, loaded
from transformer_circuits.text import corpus, tokenizer
from transformer_circuits.training import checkpoint
from website import assets
from website.live import weights

DRIVER = Path(__file__).with_name("stage.mjs")
NAMES = [checkpoint.of_seed(name, k) if k else name for name in FOLDERS.values() for k in range(3)]
LINE = "The old king Valdemar spoke, and the people heard Valdemar"
HEADS = [f"{layer}.{head}" for layer in range(2) for head in range(6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the page is served: the tokenizer and all models."""
    place = tmp_path_factory.mktemp("stage")
    place.joinpath("vocabulary.json").write_text(weights.vocabulary(), encoding="utf-8")
    for name in NAMES:
        place.joinpath(f"{name}.json").write_text(weights.dumps(loaded(name)), encoding="utf-8")
    return place


def asked(folder, **what):
    """What Node answers."""
    folder.joinpath("asked.json").write_text(json.dumps(what), encoding="utf-8")
    command = [assets.NODE, DRIVER, folder]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def drawn_text(generator):
    """A line of one kind or another, drawn by lot."""
    kind = generator.randrange(6)
    if kind == 0:
        return LINE
    if kind == 1:  # a name that nobody has
        name = "".join(
            generator.choice("bdfgklmnprstvz") + generator.choice("aeiou") for _ in range(3)
        )
        return LINE.replace("Valdemar", name.capitalize())
    if kind == 2:  # random tokens, twice
        ids = [generator.randrange(300, 6144) for _ in range(7)]
        return tokenizer.load().decode(ids + ids[:4])
    if kind == 3:
        return generator.choice(
            ["", "A", "the old king (his name", "x = f(x)\n" * 3, "Peter, and Peter"]
        )
    if kind == 4:
        return generator.choice(
            ["naïve café 🙂🙂", "日本語 and 日本", 'a "b" \\ c', "don't; don't", "Ж 漢 x"]
        )
    text = generator.choice([d.text for d in corpus.read("small", "validation")][:40])
    start = generator.randrange(len(text))
    return text[start : start + generator.randrange(20, 160)]


def drawn_state(generator):
    """A model, what is done to it, a line and a place, drawn by lot."""
    model = generator.choice([two_layers] * 6 + [one_layer] * 2 + [zero_layers])
    model = model.seed(generator.randrange(3))
    there = model.line.heads
    if there and generator.random() < 0.6:
        model = model.without(*generator.sample(there, generator.randint(1, 3)))
    for _ in range(generator.choice([0, 0, 1, 2, 5]) if len(there) == 12 else 0):
        into = generator.choice(["queries", "keys", "values"])
        model = model.cut(generator.choice(there[:6]), into=into, of=generator.choice(there[6:]))
    text = drawn_text(generator)
    reading = model.read(text)
    at = generator.choice([None, generator.randrange(len(reading.ids)), "piece"])
    if at == "piece":
        at = generator.choice(reading.tokens).removeprefix("␣") or 0
    return model.read(text, at)


def drawn_conditions(generator, reading):
    """Every kind of condition, with bounds drawn by lot."""
    words = [
        "every piece",
        "no piece",
        "next",
        "al",
        " king",
        ")",
        "no such",
        generator.choice(reading.tokens),
    ]
    bounds = [{"above": generator.random()}, {"below": generator.random()}, {"above": 0.5}]
    of_likely = [
        stage.likely(of, **generator.choice([*bounds, {"rank": generator.randint(1, 3)}]))
        for of in words
    ]
    tos = [
        "◦",
        "itself",
        "before",
        "al",
        "no such",
        generator.choice(reading.tokens).removeprefix("␣") or "␣",
    ]
    ats = [None, generator.randrange(25), "V", "d"]
    of_looks = [
        stage.looks(*generator.sample(HEADS, generator.randint(1, 2)), to=to, at=generator.choice(ats), **generator.choice(bounds))
        for to in tos
    ]  # fmt: skip
    return of_likely + of_looks


def cases(n, seed=0):
    """Readings, what they open, and conditions, drawn by lot."""
    generator = random.Random(seed)
    for k in range(n):
        reading = drawn_state(generator)
        yield (
            reading,
            [None, "board", "column", "column 0.1"][k % 4],
            drawn_conditions(generator, reading),
        )


def near(found, expected, most=1e-3):
    """Whether numbers, and all else, are the same, in structures alike."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            near(found[k], expected[k], most) for k in expected
        )
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(near, found, expected, [most] * len(found)))
    if isinstance(expected, float):
        return abs(found - expected) <= most
    return found == expected


def compare(found, reading, opens, conditions):
    """The page's logits, result and marks are Python's, and both draw the looks of the same heads."""
    assert found["heads"] == [*still.looking(reading)], reading.code
    ours = reading.trace.logits[0, [reading.at, *reading.places]]
    theirs = np.array([np.frombuffer(base64.b64decode(row), "<f4") for row in found["logits"]])
    assert np.abs(theirs - ours.numpy()).max() < 1e-3, reading.code
    expected = reading.result(opens, paragraphs.asked(conditions, reading))
    result = found["result"]
    result.pop("ms")
    for side in (result, expected):  # those that are nearly as likely may change places
        for piece in side["pieces"]:
            piece["rank"] *= piece["p"] > 0.1
        side["likeliest"] = sorted(one["p"] for one in side["next"])[-8:]
        side["next"] = {one["label"]: one["p"] for one in side["next"]}
        if side.get("column"):
            side["column"]["top"] = [one["logit"] for one in side["column"]["top"]]
    both = result["next"].keys() & expected["next"].keys()
    result["next"], expected["next"] = (
        {label: side["next"][label] for label in both} for side in (result, expected)
    )
    for name in expected:
        assert near(result[name], expected[name]), (reading.code, name)
    assert result.keys() == expected.keys()
    for condition, verdict in zip(conditions, found["verdicts"], strict=True):
        ours = condition.decide(reading)
        said = (reading.code, condition, ours, verdict)
        if ours.ok is None:
            assert verdict == {"ok": None, "value": None, "bound": None, "says": ours.says}, said
        elif getattr(condition, "rank", None) is None:
            assert abs(verdict["value"] - ours.value) < 1e-3, said
            if abs(ours.value - ours.bound) > 1e-3:  # nearer than that rounding decides
                assert verdict["ok"] == ours.ok, said
        elif ours.value < 10:
            assert verdict["ok"] == ours.ok, said


def packed(reading, opens, conditions, **given):
    """A case, as Node is asked about it."""
    return {
        "state": reading.state,
        "opens": opens,
        "conditions": [condition.json for condition in conditions],
    } | given


def of_pages(monkeypatch):
    """What the cells of every page set: readings, what they open, their conditions."""
    found = []

    def step(reading, text, opens=None, **marks):
        found.append((reading, opens, [*marks.values()]))

    monkeypatch.setattr(stage, "step", step)
    monkeypatch.setattr(
        stage, "stage", lambda reading, *_, opens=None, **__: step(reading, "", opens)
    )
    for path in sorted(notebooks.root().glob("chapters/*.ipynb")):
        names = {}
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            sets = "import stage\n" in source or ("stage" in names and "stage.st" in source)
            if cell["cell_type"] == "code" and sets:
                exec(source, names)
    return found


def test_every_state_that_a_page_sets_is_the_same_in_it(folder, monkeypatch):
    """Computed there; and, as the page brings it, so that no model is needed while the text is read."""
    pages = of_pages(monkeypatch)
    assert {reading.line.model for reading, *_ in pages} == {*FOLDERS} and len(pages) > 20
    here = [case for case in pages if case[0].line.step is None]
    for found, case in zip(
        asked(folder, states=[packed(*case) for case in here])["answers"], here, strict=True
    ):
        compare(found, *case)
        assert all(verdict["ok"] for verdict in found["verdicts"]), case[0].code
    brought = [
        packed(
            reading,
            opens,
            conditions,
            given=reading.result(opens, paragraphs.asked(conditions, reading)),
        )
        for reading, opens, conditions in pages
    ]
    for one in asked(folder, states=brought)["answers"]:
        assert all(verdict["ok"] for verdict in one["verdicts"])


def test_fifty_states_drawn_by_lot_are_the_same_in_the_page(folder):
    drawn = [*cases(50)]
    answers = asked(folder, states=[packed(*case) for case in drawn])["answers"]
    for found, case in zip(answers, drawn, strict=True):
        compare(found, *case)
    kinds = [reading.line.model for reading, *_ in drawn]
    assert {*kinds} == {*FOLDERS} and sum(bool(r.line.cuts and r.line.off) for r, *_ in drawn) > 5
    decided = [v["ok"] for found in answers for v in found["verdicts"]]
    assert min(decided.count(ok) for ok in (True, False, None)) > 50


def test_the_page_writes_and_reads_the_line_of_code_that_python_does(folder):
    readings = [reading for reading, *_ in cases(50, seed=1)]
    readings.append(two_layers.after(375).read('tab\t "quoted" \\ \x07\u2028 é 🙂', at="◦"))
    found = asked(folder, lines=[reading.code for reading in readings])
    for one, reading in zip(found["parsed"], readings, strict=True):
        assert one == {"state": reading.state, "written": reading.code}
    for name, of in FOLDERS.items():
        config, _ = checkpoint.settings(of)
        assert found["models"][name] == {
            "layers": config.n_layers,
            "heads": config.n_heads,
            "seeds": len(checkpoint.seeds(of)),
            "after": checkpoint.steps(checkpoint.folder(of)),
        }


def test_a_line_may_be_written_in_other_ways(folder):
    lines = {
        """ one_layer . without( '0.1' ,"0.0","0.1" ).read( 'it\\'s here', 3 ) """: one_layer.without(
            "0.0", "0.1"
        ).read("it's here", at=3),
        'two_layers.cut("0.2", of="1.0", into="keys").seed(1).read("A\\u0041\\x41", "A")': (
            two_layers.seed(1).cut("0.2", into="keys", of="1.0").read("AAA", at="A")
        ),
    }
    found = asked(folder, lines=[*lines])["parsed"]
    assert [one["state"] for one in found] == [reading.state for reading in lines.values()]


CUT = 'two_layers.cut("0.2", '
WRONG = {
    "": "expected two_layers, one_layer or zero_layers (character 1)",
    "two_layer.read": "expected two_layers, one_layer or zero_layers, not two_layer (character 1)",
    "two_layers": "after two_layers expected “.” (character 10)",
    "two_layers.": "after two_layers. expected without, cut, seed, after or read (character 11)",
    "two_layers.withot": "after two_layers. expected without, cut, seed, after or read, not withot (character 12)",
    "one_layer.cut": "after one_layer. expected without, seed or read, not cut (character 11)",
    "zero_layers.": "after zero_layers. expected seed or read (character 12)",
    "two_layers.without": "after two_layers.without expected “(” (character 18)",
    "two_layers.without(": 'after two_layers.without( expected a head, "0.0" to "1.5" (character 19)',
    "two_layers.without(0.2)": 'after two_layers.without( expected a head, "0.0" to "1.5", not 0.2 (character 20)',
    'two_layers.without("2.0")': 'after two_layers.without( expected a head, "0.0" to "1.5", not "2.0" (character 20)',
    'two_layers.without("0.2': 'after two_layers.without( expected a head, "0.0" to "1.5", closed by its quote, not "0.2 (character 20)',
    'two_layers.without("0.2" "1.0")': 'after two_layers.without("0.2" expected “)”, not "1.0" (character 26)',
    'two_layers.without("0.2")': 'after two_layers.without("0.2") expected “.” (character 25)',
    'two_layers.cut("1.0"': 'after two_layers.cut( expected a head, "0.0" to "0.5", not "1.0" (character 16)',
    CUT + "off=": 'after two_layers.cut("0.2", expected into or of, not off (character 23)',
    CUT + 'into="key"': 'after two_layers.cut("0.2", into= expected "queries", "keys" or "values", not "key" (character 28)',
    CUT + 'into="keys")': 'after …layers.cut("0.2", into="keys" expected “, of=”, not ) (character 34)',
    CUT + 'of="0.1"': 'after two_layers.cut("0.2", of= expected a head, "1.0" to "1.5", not "0.1" (character 26)',
    "two_layers.seed(3)": "after two_layers.seed( expected 0, 1 or 2, not 3 (character 17)",
    "two_layers.after(300)": "after two_layers.after( expected 75, 200, 325, 375, 475 or 935, not 300 (character 18)",
    "two_layers.after(75).seed(1)": "after two_layers.after(75).seed( expected 0 (of others no moment was kept), not 1 (character 27)",
    "two_layers.read(": "after two_layers.read( expected a line of text in quotes (character 16)",
    'two_layers.read("A': 'after two_layers.read( expected a line of text in quotes, closed by its quote, not "A (character 17)',
    'two_layers.read("A", an=': 'after two_layers.read("A", expected at, not an (character 22)',
    'two_layers.read("A", at=A': 'after two_layers.read("A", at= expected a piece in quotes or a place, not A (character 25)',
    'two_layers.read("A").seed(1)': 'after two_layers.read("A") expected the end, for read ends the line, not . (character 21)',
}  # fmt: skip


def test_an_error_says_what_was_expected_and_where(folder):
    found = asked(folder, lines=[*WRONG])["parsed"]
    assert {line: one.get("message") for line, one in zip(WRONG, found, strict=True)} == WRONG
    assert found[4]["column"] == 11


COMPLETED = {
    "": ["two_layers", "one_layer", "zero_layers"],
    "tw": ["two_layers"],
    "two_layers": [".without(", ".cut(", ".seed(", ".after(", ".read("],
    "two_layers.": ["without(", "cut(", "seed(", "after(", "read("],
    "one_layer.s": ["seed("],
    "one_layer.without(": ['"0.0"', '"0.1"', '"0.2"', '"0.3"', '"0.4"', '"0.5"'],
    'two_layers.without("1.': ['"1.0"', '"1.1"', '"1.2"', '"1.3"', '"1.4"', '"1.5"'],
    'two_layers.cut("0.2"': [", into=", ", of="],
    CUT: ["into=", "of="],
    CUT + "into=": ['"queries"', '"keys"', '"values"'],
    CUT + "into='k": ['"keys"'],
    CUT + 'into="keys"': [", of="],
    CUT + 'into="keys", of="1.0"': [")"],
    "two_layers.seed(": ["0", "1", "2"],
    "two_layers.after(3": ["325", "375"],
    "two_layers.read(": ['"'],
    'two_layers.read("A': [],
    'two_layers.read("A")': [],
}


def test_what_may_stand_at_the_caret_is_offered(folder):
    carets = [(line + "rest", len(line)) for line in COMPLETED]
    found = asked(folder, carets=carets)["completed"]
    words = {line: [one["word"] for one in of] for line, of in zip(COMPLETED, found, strict=True)}
    assert words == COMPLETED
    assert [one["from"] for one in found[6]] == [19] * 6


def test_what_the_page_cannot_do_is_said(folder):
    wrong = {
        "not in this page": two_layers.after(375).read(LINE).state,
        "1201 tokens but two_layers reads 512": two_layers.read("").state | {"text": "a b" * 600},
    }
    states = [{"state": state, "opens": None, "conditions": []} for state in wrong.values()]
    for message, found in zip(wrong, asked(folder, states=states)["answers"], strict=True):
        assert message in found["message"]


def test_a_place_that_is_not_on_the_line_is_left_out_and_said_to_be(folder):
    line = two_layers.read(LINE).state
    states = [line | {"at": at} for at in ("Ron", 21, "V", 20)]
    states = [{"state": state, "opens": None, "conditions": []} for state in states]
    found = [one["result"] for one in asked(folder, states=states)["answers"]]
    assert [one.get("lost") for one in found] == [True, True, None, None]
    assert [one["at"] for one in found] == [two_layers.read(LINE).at] * 3 + [20]


TWICE = """
import { sentences } from "STAGE/shown.js";
const patterns = [[[[1], [0.2, 0.8], [0.3, 0.45, 0.25]]]];
const result = { tokens: ["◦", "␣a", "␣b"], pieces: [], next: [], at: 2, first: -1, patterns, L: 1, H: 1 };
process.stdout.write(sentences({ off: [], cuts: [] }, result, ["0.0"]).at(-1));
"""


def test_a_second_look_that_is_drawn_is_said_too():
    script = TWICE.replace("STAGE", assets.STAGE.as_uri())
    said = subprocess.run(
        [assets.NODE, "--input-type=module", "-e", script], capture_output=True, text=True
    )
    places = "0.0 (45\u00a0%) looks at “a”, 0.0 (30\u00a0%) looks at the beginning of the line and 0.0 (25\u00a0%) looks at itself"
    assert said.stdout == f"From “b”, {places}.", said.stderr
