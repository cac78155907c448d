"""The card of a model: planted induction is found in every form, and NumPy alone recomputes its lines."""

import json
import math
import os
import re
import subprocess
import sys

import forms
import jsonschema
import numpy as np
import pytest
import second_program
import torch
from safetensors.torch import save_file

from transformer_circuits import __main__ as cli
from transformer_circuits import files, settings
from transformer_circuits.analysis import by_length
from transformer_circuits.claims import card
from transformer_circuits.interop import own_model
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer


def headline(model):
    return card.does_induction(model, by_length.measured(model))


SCHEMA = json.loads(card.SCHEMA.read_text())
LONG = {"n_ctx": 41, "d_vocab": 50, "d_model": 138, "d_head": 42}
PLANTABLE = [
    "as in the paper",
    "layer norm, rotary",
    "grouped",
    "three layers",
    "RMS norm, rotary, grouped",
]
"""Forms in which a head can look one back by its weights alone, as it does here."""


def planted(name, seed=1):
    """Weights by TransformerLens's names in which head 0.0 looks one back and the last layer's head 0
    looks for what followed, among random heads that write little.
    """
    c = forms.config(name) | LONG
    w = {k: 0.02 * W if W.ndim == 3 else W for k, W in forms.draw(c, bias=0.0).items()}
    rng, n, d, last = np.random.default_rng(seed), 32, c["d_model"], c["n_layers"] - 1
    code = np.sign(rng.standard_normal((50, n))) * 3
    w["embed.W_E"] = np.zeros((50, d))
    w["embed.W_E"][:, :n] = code
    w["unembed.W_U"] = np.zeros((d, 50))
    w["unembed.W_U"][2 * n : 3 * n] = 0.05 * code.T
    if "pos_embed.W_pos" in w:
        w["pos_embed.W_pos"] = np.zeros((41, d))
        w["pos_embed.W_pos"][:, 3 * n : 3 * n + 41] = 6 * np.eye(41)
    first, then = "blocks.0.attn.", f"blocks.{last}.attn."
    for at in (first, then):
        for k in "QKVO":
            w[f"{at}W_{k}"][0] = 0
    if c["positional_embedding_type"] == "rotary":  # the query is one step behind the key
        half, rate = 21, 10000.0 ** (-np.arange(21) / 21)
        w[first + "b_K"][0, :half] = w[first + "b_Q"][0, :half] = 12
        w[first + "b_Q"][0] = 12 * np.concatenate([np.cos(rate), -np.sin(rate)])
    else:
        at = np.arange(41)
        w[first + "W_Q"][0, 3 * n + at[1:], at[:-1]] = 20
        w[first + "W_K"][0, 3 * n + at, at] = 20
    some = np.arange(n)
    w[first + "W_V"][0, some, some] = w[first + "W_O"][0, some, n + some] = 1
    w[then + "W_Q"][0, some, some] = w[then + "W_K"][0, n + some, some] = 6
    w[then + "W_V"][0, some, some] = 1
    w[then + "W_O"][0, some, 2 * n + some] = 1
    return w, c


def saved(w, c, place):
    save_file(
        {k: torch.from_numpy(np.ascontiguousarray(W)) for k, W in w.items()},
        place / "w.safetensors",
    )
    (place / "config.json").write_text(json.dumps(c))
    return place


@pytest.mark.parametrize("name", PLANTABLE)
def test_the_planted_induction_head_is_found_and_without_its_note_there_is_none(tmp_path, name):
    w, c = planted(name)
    last = c["n_layers"] - 1
    model = own_model.load(saved(w, c, tmp_path))
    found = by_length.measured(model)
    roles = {row["head"]: row["role"] for row in card.of_heads(model, found)}
    assert roles["0.0"] == "previous token" and roles[f"{last}.0"] == "induction"
    said = card.does_induction(model, found)
    assert re.match(
        rf"induction heads: {last}.0 \([01].* on passages of 3 to 20 tokens; the right", said
    )
    w["blocks.0.attn.W_O"][0] = 0
    said = headline(own_model.load(saved(w, c, tmp_path)))
    assert re.match(
        r"no head does induction; .* matches best, 0\.\d\d at most; chance, 0\.\d\d", said
    )


def looks_back(w, c, head, back):
    """The head's queries and keys, so that it looks so far back by places alone."""
    at, n = f"blocks.{head[0]}.attn.", 32
    half = c["d_head"] // 2
    if c["positional_embedding_type"] == "rotary":
        turn = back * 10000.0 ** (-np.arange(half) / half)
        w[at + "b_K"][head[1]] = np.repeat([12, 0], half)
        w[at + "b_Q"][head[1]] = 12 * np.concatenate([np.cos(turn), -np.sin(turn)])
        w[at + "W_Q"][head[1]] = w[at + "W_K"][head[1]] = 0
    else:
        places = np.arange(back, 41)
        w[at + "W_Q"][head[1]] = w[at + "W_K"][head[1]] = 0
        w[at + "W_Q"][head[1], 3 * n + places, places - back] = 20
        w[at + "W_K"][head[1], 3 * n + np.arange(41), np.arange(41)] = 20


@pytest.mark.parametrize("name", ["as in the paper", "layer norm, rotary"])
@pytest.mark.parametrize("seed", range(10))
def test_planted_shortcuts_are_told_from_real_induction(tmp_path, name, seed):
    """A fixed distance, of which passages of one length are enough to look inductive."""
    w, c = planted(name, seed)
    said = headline(own_model.load(saved(w, c, tmp_path)))
    assert said.startswith("induction heads: 1.0 (") and "fails" not in said
    back = 5 + seed
    looks_back(w, c, (1, 0), back)
    said = headline(own_model.load(saved(w, c, tmp_path)))
    assert said.startswith("no head does induction; ")
    assert re.search(
        rf"1\.0 matches at [3 and]*{back + 1} alone and looks {back} back whatever stands", said
    )


@pytest.mark.parametrize("n_ctx", [6, 7, 8, 12, 50, 121, 170])
def test_a_head_that_looks_as_far_back_whatever_stands_there_does_no_induction(n_ctx):
    """In a short context, too, where passages of the longest lengths do not fit twice."""
    back, n, zero = max(2, min(80, (n_ctx - 1) // 2) - 1), n_ctx, torch.zeros
    at = "blocks.0.attn."
    weights = {at + f"W_{k}": torch.eye(n)[None].clone() for k in "QKVO"}
    weights |= {at + f"b_{k}": zero(1, n) for k in "QKV"}
    weights |= {at + "b_O": zero(n), "embed.W_E": zero(40, n), "pos_embed.W_pos": torch.eye(n)}
    weights |= {"unembed.W_U": zero(n, 40), "unembed.b_U": zero(40)}
    looks = (torch.arange(n) - back).clamp(min=0)
    weights[at + "W_Q"][0] = 30 * n**0.5 * torch.eye(n)[looks]
    sizes = {"n_layers": 1, "n_heads": 1, "d_model": n, "d_head": n, "n_ctx": n, "d_vocab": 40}
    model = own_model.load(weights, forms.PLAIN | sizes)
    said = headline(model)
    assert said.startswith(
        f"no head does induction; 0.0 matches at {back + 1} alone and looks {back} back"
    )


def test_a_head_that_fails_on_long_passages_is_said_to(tmp_path):
    """Its notes end at place 6: it looks them up where passages are short, and nowhere behind them."""
    w, c = planted("as in the paper")
    w["blocks.0.attn.W_Q"][0, 3 * 32 + 7 :] = 0
    model = own_model.load(saved(w, c, tmp_path))
    found = by_length.measured(model)
    lengths, [matches] = found.lengths, found.matches[:, [c["n_heads"]]].T.tolist()
    assert lengths == [3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20] and min(matches[:4]) > 0.4 > max(
        matches[9:]
    )
    fails = [length for length, share in zip(lengths, matches, strict=True) if share <= 0.4]
    said = f"1.0 ({min(matches):.2f} to {max(matches):.2f}, fails at {fails[0]} to 20)"
    assert said in card.does_induction(model, found)
    assert (
        "the right token is first in 100% of places, less than half as often at"
        in card.does_induction(model, found)
    )


@pytest.mark.parametrize(
    ("looks", "says"), [(True, "undecided"), (True, "not reproduced"), (False, "reproduced")]
)
def test_no_head_is_called_an_induction_head_against_the_rule_below(tmp_path, looks, says):
    w, c = planted("as in the paper")
    w["blocks.0.attn.W_O"][0] *= looks
    model = own_model.load(saved(w, c, tmp_path))
    found = by_length.measured(model)
    said = card.does_induction(model, found, f"{says}: it holds for untrained, too")
    assert said.startswith("no head is called an induction head, for two tests disagree: ")
    assert f"on the last layer, says {says}: it holds for untrained, too; by length, " in said
    for verdict in ("left out: it is short", "unavailable: no", "not reproduced: 1"[4 * looks :]):
        assert card.does_induction(model, found, verdict) == card.does_induction(model, found)


def untrained(place, **sizes):
    c = forms.config("as in the paper") | LONG | sizes
    return saved(forms.draw(c), c, place)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        *(({"d_vocab": n}, f"vocabulary has {n} tokens, but nothing is found in less than 4") for n in (1, 3)),
        ({"n_ctx": 5}, "contexts have 5 tokens, but nothing is found in less than 6"),
    ],
)  # fmt: skip
def test_too_small_contexts_and_vocabularies_are_refused_with_both_sides(tmp_path, sizes, said):
    """With two tokens besides the first, untrained heads pay what followed half of their attention."""
    with pytest.raises(files.UserError, match=said):
        card.of_model(untrained(tmp_path, **sizes))


@pytest.mark.parametrize("begin", [0, None])
def test_the_smallest_that_is_asked_has_a_whole_card(tmp_path, begin):
    found = card.of_model(untrained(tmp_path, d_vocab=4, n_ctx=6), begin=begin)
    assert found["induction"].startswith("no head ") and [
        r["length"] for r in found["by length"]
    ] == [3, 4]
    jsonschema.validate(found, SCHEMA)


def test_a_model_without_begin_token_is_asked_without_one(tmp_path):
    """Its heads turn what comes after token 0 into nothing, so that with one first it would be lost."""
    w, c = planted("as in the paper")
    found = card.of_model(saved(w, c, tmp_path), begin=None)
    groups = [*found["tokens"]["by length"], *found["tokens"]["heads"]]
    assert all(0 not in row for group in groups for row in group)
    assert found["model"]["begin"] is None and found["model"]["shape"]["begin"] is False
    assert found["induction"].startswith("induction heads: 1.0 (")
    for said, again in second_program.recomputed(found, w, c).values():
        assert said == pytest.approx(again, abs=1e-5)


@pytest.fixture(scope="module", params=["layer norm", "layer norm, rotary"])
def written(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("card")
    w, c = planted(request.param)
    text = card.write(saved(w, c, place), place)
    np.savez(place / "weights.npz", **w)
    return c, json.loads((place / "card.json").read_text()), text, place


def test_a_card_says_what_it_rests_on(written):
    c, found, text, place = written
    jsonschema.validate(found, SCHEMA)
    assert found["model"]["sha256"] in text and found["made by"].startswith("transformer_circuits ")
    known = found["rule"]
    said = "reproduced: this one model is beyond the threshold, no control is"
    assert known["verdict"] == said and known["must be"] == "above 0.4"
    assert known["estimate"]["low"] > 0.4 > known["controls"]["untrained"]["high"]
    assert known["power"]["built induction"]["low"] > 0.9
    cut = found["edges"][0]
    assert (cut["kind"], cut["later"], cut["earlier"]) == ("K", "1.0", "0.0")
    assert found["read"]["settings used"]["n_heads"] == c["n_heads"] and "ln1.w" in text
    assert text.startswith("induction heads: 1.0") and text == (place / "card.txt").read_text()


def test_a_second_program_on_numpy_alone_recomputes_lines_of_the_card(written):
    """Attention of a head and right tokens at every length, and what the costliest edge is worth."""
    _, found, _, place = written
    paths = [place / name for name in ("card.json", "weights.npz", "config.json")]
    ran = subprocess.run(
        [sys.executable, second_program.__file__, *paths],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = json.loads(ran.stdout)
    assert len(lines) == 1 + 2 * len(found["by length"])
    for said, again in lines.values():
        assert said == pytest.approx(again, abs=1e-5)


SHAPE = ModelConfig(
    n_layers=2, n_heads=3, d_model=12, d_head=4, n_vocab=50, n_ctx=41, position_base=100.0
)  # fmt: skip


def no_number(name):
    raise ValueError(f"{name} is no JSON")


def test_the_card_is_json_where_a_control_has_no_case(tmp_path):
    """Where every head of the first layer has an effect, the control *heads without effect* has no case."""
    model = Transformer(SHAPE).requires_grad_(False)
    model.randomise(generator=torch.Generator().manual_seed(0))
    save_file(model.state_dict(), tmp_path / "weights.safetensors")
    (tmp_path / "config.toml").write_text(settings.dumps(model=SHAPE))
    text = card.write(tmp_path, tmp_path)
    found = json.loads((tmp_path / "card.json").read_text(), parse_constant=no_number)
    jsonschema.validate(found, SCHEMA)
    assert "nan" not in text and found["induction"].startswith("no head does induction; ")
    assert card._finite({"estimate": [math.nan]}) == {"estimate": [None]}


RULE = ("claim", "must be", "verdict")


def test_the_command_writes_both_files(tmp_path, capsys, monkeypatch):
    w, c = planted("as in the paper")
    place = saved(w, c, tmp_path)
    monkeypatch.setattr(card, "of_rule", lambda subject: dict.fromkeys(RULE, ""))
    cli.main(["card", str(place), "--folder", str(tmp_path / "out"), "--begin", "none"])
    assert capsys.readouterr().out.startswith("induction heads: 1.0 (")
    assert sorted(os.listdir(tmp_path / "out")) == ["card.json", "card.txt"]
