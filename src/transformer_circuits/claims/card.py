"""The card of a model: what its heads do, and the rules that apply, in one file that can be checked.

Nothing on it needs a text, so that any vocabulary will do: all is measured on random tokens that come
twice, which the card has in it, or read off the weights. `tests/claims/test_card.py` has a second
program, on NumPy alone, that recomputes lines of it.
"""

import copy
import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from tabulate import tabulate
from torch import nn

from transformer_circuits import files
from transformer_circuits.analysis import (
    by_length,
    composition,
    copying_scores,
    head_roles,
    heads,
    path_patching,
    repeats,
)
from transformer_circuits.analysis.by_length import ByLength
from transformer_circuits.claims import catalogue, rules, subjects
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.figures.values import written
from transformer_circuits.interop import own_model
from transformer_circuits.model import cross_entropy, general
from transformer_circuits.model.transformer import Transformer

PASSAGES = 2
"""Of those of `head_roles.LENGTH` tokens: on which edges are cut, and paths left out."""
ALL_FORMS: Mapping[str, tuple[str, ...]] = {
    "induction-random": general.all_but(general.OUTPUTS),
    "induction-head-exists": general.ALL,
    "induction-mechanism": general.all_but(general.OUTPUTS),
    "k-composition": (general.NORM, general.STREAM, general.BIASES),
    "only-k-composition": (general.NORM, general.STREAM, general.BIASES),
}
"""The rules that need no text, and which of `general.FORMS` each takes into account."""
EXISTS = "induction-head-exists"
"""The rule that the headline follows."""
DRAWS = 2
"""Of random controls, at most; the book draws twenty."""
SCHEMA = Path(__file__).with_name("card.schema.json")
"""What `card.json` has, as a JSON schema for programs that read it."""
TOKENS = 4096
"""Of a larger vocabulary, rules take so many, drawn at random: their controls are whole models."""


def left_out(model: Transformer, *takes: str, layers: int | None = None) -> str:
    """Why a section cannot be had of a model, if it cannot; what it takes as in `Transformer.require`."""
    if layers is not None and model.config.n_layers != layers:
        return f"it is written for {layers} layers, and the model has {model.config.n_layers}"
    if layers is not None and model.mlps:
        return "it is exact without MLPs only"
    unknown = [form for form in general.FORMS if form in model.forms and form not in takes]
    return f"it does not know {unknown[0]}" if unknown else ""


def of_heads(model: Transformer, found: ByLength) -> list[dict[str, Any]]:
    """Every head: where it looks, what that makes it, and the signs of its OV circuit's eigenvalues."""
    rows, square = [], general.OUTPUTS not in model.forms
    # All heads share it, and W_U W_OV W_E has the eigenvalues of W_E W_U W_OV.
    middle = model.W_E @ model.W_U if square else None
    for number, row in enumerate(head_roles.census(model)):
        sign = None
        if middle is not None:
            values = (middle @ heads.W_OV(model, row.head)).eigenvalues()
            sign = copying_scores.positivity(values) if values.any() else None
        looks = {
            "here": row.here, "one back": row.one_back, "begin": row.begin, "matches": row.matches,
            "looks most": f"{found.back[number]} back", "where nothing repeats": found.fixed[number],
        }  # fmt: skip
        rows.append({"head": str(row.head), "role": row.role, **looks, "positivity of OV": sign})
    return rows


def of_lengths(found: ByLength) -> list[dict[str, Any]]:
    """One line for each length of passage: what the model predicts, and what the heads match that ever do."""
    ever = [i for i in range(len(found.heads)) if found.holds(i)]
    rows = []
    for k, length in enumerate(found.lengths):
        right = {"right first": found.right[k]} if found.right else {}
        matches = {str(found.heads[i]): float(found.matches[k, i]) for i in ever}
        rows.append({"length": length, **right, "matched by chance": found.chance[k], **matches})
    return rows


def does_induction(model: Transformer, found: ByLength, verdict: str = "") -> str:
    """The headline: which heads do induction and at which lengths they fail, or which only look so.

    `verdict`: what the rule `EXISTS` came to, if it was asked. No head is called an induction head
    unless both say so: untrained heads may look there, too, where a vocabulary is small.
    """
    roles = [row.role for row in head_roles.census(model)]
    # A fixed distance, or chance in a small vocabulary, matches at one length.
    real = [i for i, role in enumerate(roles) if role == "induction" and len(found.holds(i)) > 1]
    said = _real(found, real) if real else _none(found)
    decided = verdict.partition(":")[0]
    if decided in rules.VERDICTS and bool(real) != (decided == rules.REPRODUCED):
        said = (
            "no head is called an induction head, for two tests disagree: the rule below, on the last "
            f"layer, says {verdict}; by length, {said}"
        )
    return said


def _asked(found: ByLength) -> str:
    return f"passages of {found.lengths[0]} to {found.lengths[-1]} tokens"


def _real(found: ByLength, real: Sequence[int]) -> str:
    told = []
    for i in real:
        matches, holds = found.matches[:, i], found.holds(i)
        failing = [n for n in found.lengths if n not in holds]
        at = f", fails at {by_length.ranges(failing, found.lengths)}" if failing else ""
        told.append(
            f"{found.heads[i]} ({float(matches.min()):.2f} to {float(matches.max()):.2f}{at})"
        )
    said = f"induction heads: {', '.join(told)}, in brackets attention to what followed, on {_asked(found)}"
    if not found.right:
        return said
    best = max(found.right)
    worse = [n for n, r in zip(found.lengths, found.right, strict=True) if 2 * r < best]
    at = f", less than half as often at {by_length.ranges(worse, found.lengths)}" if worse else ""
    return f"{said}; the right token is first in {best:.0%} of places{at}"


def _none(found: ByLength) -> str:
    """That no head is one, and of each that matches at some length, what it does in place of induction."""
    told = []
    for i, head in enumerate(found.heads):
        if not (holds := found.holds(i)):
            continue
        only, back = by_length.ranges(holds, found.lengths), found.back[i]
        why = f" and looks {back} back whatever stands there ({found.fixed[i]:.2f})"
        told.append(f"{head} matches at {only} alone{why * (found.fixed[i] > head_roles.LOOKS)}")
    if not told and found.heads:
        top, chance = int(found.matches.max(dim=0).values.argmax()), max(found.chance)
        told = [
            f"{found.heads[top]} matches best, {float(found.matches[:, top].max()):.2f} at most; chance, {chance:.2f}"
        ]
    return "; ".join(["no head does induction", *told]) + f", on {_asked(found)}"


def of_edges(model: Transformer, n: int = 8) -> list[dict[str, Any]] | str:
    """The induction circuit by cutting: the costliest edges into the head that matches best.

    What the loss on the second copy rises by without each. [nats per token]
    """
    if why := left_out(model, *general.all_but(general.OUTPUTS), layers=2):
        return why
    tokens, targets = _second_copy(model)
    trace, later = model.trace(tokens), head_roles.induction_head(model)
    losses = path_patching.losses_without(model, trace, later, targets).sum(dim=(2, 3))
    rises = losses / (targets != -100).sum() - cross_entropy.mean(trace.logits, targets)
    costs = [
        {"kind": kind, "later": str(later), "earlier": str(earlier), "nats": float(nats)}
        for kind, row in zip(composition.KINDS, rises, strict=True)
        for earlier, nats in zip(heads.of_layer(model, 0), row, strict=True)
    ]
    return sorted(costs, key=lambda edge: -edge["nats"])[:n]


def _second_copy(model: Transformer) -> tuple[torch.Tensor, torch.Tensor]:
    """Passages of the middle length that come twice, and the targets of the second copy."""
    tokens = head_roles.twice(model.config)[1][:PASSAGES].to(model.W_E.device)
    targets = repeats.targets_of_copy(tokens, head_roles.lengths(model.config)[1], 1)
    targets[:, -1] = -100  # of a copy that is cut short, nothing comes after the last token
    return tokens, targets


def _with_few_tokens(subject: Subject) -> Subject:
    """The same heads, with `TOKENS` of the vocabulary; the subject itself, where it has no more."""
    model, n_vocab = subject.model, subject.model.config.n_vocab
    if n_vocab <= TOKENS:
        return subject
    drawn = 1 + torch.randperm(n_vocab - 1, generator=torch.Generator().manual_seed(0))
    kept = torch.cat([torch.zeros(1, dtype=torch.long), drawn[: TOKENS - 1]])
    of_outputs = model.W_U[kept] if len(model.W_U) == n_vocab else model.W_U
    W_E, W_U = (nn.Parameter(W, False) for W in (model.W_E[:, kept], of_outputs))
    few = copy.deepcopy(model, {id(model.W_E): W_E, id(model.W_U): W_U})
    few.config = replace(model.config, n_vocab=TOKENS)
    return replace(subject, model=few, text=_random_text(TOKENS))


def _random_text(n_vocab: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(1, max(2, n_vocab), (20_000,), generator=generator)


def of_rules(subject: Subject) -> list[dict[str, Any]]:
    """The rules of the scorecard that need no text: with threshold, controls, power and interval.

    Those that say on how many tokens they were measured take only so many of the vocabulary.
    """
    rows, few = [], _with_few_tokens(subject)
    for name in ALL_FORMS:
        measured = catalogue.measurements()[name]
        # Each draw is a whole model: of a large one, twenty take minutes and gigabytes.
        measurement = replace(measured, draws=min(DRAWS, measured.draws))
        rule = measurement.claim
        row = {
            "rule": name, "claim": measurement.claim.statement, "must be": f"{rule.side} {rule.threshold:g}",
            "threshold from": rule.threshold_from, "registered": rule.registered,
        }  # fmt: skip
        layers = 2 if not subject.model.layers or name not in ("induction-random", EXISTS) else None
        if why := left_out(subject.model, *ALL_FORMS[name], layers=layers):
            rows.append({**row, "verdict": f"left out: {why}"})
            continue
        if few is not subject:
            row["tokens"] = f"{TOKENS} of {subject.model.config.n_vocab}"
        try:
            decision = measurement.decision([few])
        except subjects.Unavailable as error:
            rows.append({**row, "verdict": f"unavailable: {error}"})
            continue
        row |= {
            "estimate": asdict(decision.seeds[subject.name]),
            "controls": {
                name: control and asdict(control) for name, control in decision.controls.items()
            },
            "power": {name: asdict(planted) for name, planted in decision.planted.items()},
        }
        rows.append({**row, "verdict": f"{decision.verdict}: {decision.why}"})
    return rows


@torch.no_grad()
def of_model(source: str | Path, config: own_model.Config = None, **how: Any) -> dict[str, Any]:
    """The card as data. Arguments as for `own_model.read`.

    Raises:
        UserError: if there is no such model, or its contexts or its vocabulary are too small.
    """
    loaded = own_model.read(source, config, **how)
    model = loaded.model
    found = by_length.measured(model)  # before anything that takes long refuses the model
    card = {
        "schema": SCHEMA.name,
        "model": {
            "source": str(source), "begin": how.get("begin", 0),
            "sha256": " ".join(map(files.sha256, own_model.files_of(source))),
            "shape": asdict(model.config), "forms": sorted(model.forms),
        },
        "read": loaded.told,
        "made by": f"transformer_circuits {version('transformer_circuits')}, torch {torch.__version__}",
        "by length": of_lengths(found),
        "heads": of_heads(model, found),
        "edges": of_edges(model),
        "tokens": {
            "by length": [by_length.twice(model.config, n).tolist() for n in found.lengths],
            "heads": [tokens.tolist() for tokens in head_roles.twice(model.config)],
        },
        # Last, for their controls are whole models, too.
        "rules": of_rules(
            Subject(str(source), model, _random_text(model.config.n_vocab), readers_own=True)
        ),
    }  # fmt: skip
    verdict = next((row["verdict"] for row in card["rules"] if row["rule"] == EXISTS), "")
    return _finite({"induction": does_induction(model, found, verdict), **card})


def _finite(value: Any) -> Any:
    """A part of the card in which None stands for what has no number: a control without any case of
    what a rule speaks of, or the score of a head that writes nothing.
    """
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


SECTIONS: Mapping[str, str] = {
    "by length": "Random tokens that come twice, by length: how often the right one is first, and who matches",
    "rules": "The rules that apply, each with its controls and what was planted",
    "heads": "Every head, by where it looks on random tokens that come twice",
    "edges": "The induction circuit by cutting: what the second copy costs more without an edge [nats]",
}
READ = {"read": "How the file was read: its tensors, and its settings, used and not"}


def page(card: Mapping[str, Any]) -> str:
    """The card as one HTML page that loads nothing."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>Card of a model</title>"
        "<style>body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
        "table{border-collapse:collapse}td,th{padding:.2rem .7rem;border-bottom:1px solid #bbb;"
        "text-align:left;vertical-align:top}div{overflow-x:auto}</style>",
        f"<h1>{html.escape(card['model']['source'])}</h1><p><strong>{html.escape(card['induction'])}"
        f"</strong></p><p>Weights: SHA-256 <code>{card['model']['sha256']}</code>. {card['made by']}. "
        "One model is one seed.</p>",
    ]
    for name, title in {"model": "The model", **SECTIONS, **READ}.items():
        if card[name]:
            parts += [f"<h2>{title}</h2>", f"<div>{_table(card[name])}</div>"]
    return "\n".join(parts)


def _table(section: Any) -> str:
    if isinstance(section, str):
        return f"<p>Left out: {html.escape(section)}.</p>"
    if isinstance(section, Mapping):
        return tabulate([(name, _said(value)) for name, value in section.items()], tablefmt="html")
    columns = list(dict.fromkeys(name for row in section for name in row))
    section = [
        row | ({"verdict": rules.marked(row["verdict"])} if "verdict" in row else {})
        for row in section
    ]
    rows = [[_said(row.get(name, "")) for name in columns] for row in section]
    return tabulate(rows, columns, tablefmt="html", disable_numparse=True)


def _said(value: Any) -> str:
    """A cell: an interval as one, a number to three places."""
    if isinstance(value, float):
        return written(value, ".3g")
    if isinstance(value, Mapping):
        if {*value} == {"mean", "low", "high", "n"}:
            return str(rules.Interval(**value) if value["n"] else rules.NOTHING)
        return "; ".join(f"{name} {_said(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(_said, value))
    return "unavailable" if value is None else str(value)


def read(place: Path) -> str:
    """What the card beside a page says of induction."""
    return json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))["induction"]


def write(source: str | Path, folder: Path, config: own_model.Config = None, **how: Any) -> Path:
    """Write `card.json` and `card.html` into a folder; the second is given back."""
    card = of_model(source, config, **how)
    for name, text in (
        ("card.json", files.as_json(card, indent=1) + "\n"),
        ("card.html", page(card)),
    ):
        with files.atomic(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return folder / "card.html"
