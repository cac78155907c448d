"""Model card: what each head does, and the rules that apply, in one file that can be checked.

Nothing on the card needs a text, so any vocabulary will do: all is measured on random tokens that
come twice, which are part of the card, or read off the weights. `tests/claims/test_card.py` has a
second program, on NumPy alone, that recomputes lines of it.
"""

import copy
import html
import itertools
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
    composition,
    copying_scores,
    head_roles,
    heads,
    induction,
    layer_norm,
    path_patching,
    repeats,
    term_importance,
)
from transformer_circuits.analysis.head_roles import Row
from transformer_circuits.analysis.heads import Head
from transformer_circuits.claims import catalogue, rules, subjects
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.figures.values import written
from transformer_circuits.interop import own_model
from transformer_circuits.model import cross_entropy, general
from transformer_circuits.model.transformer import Transformer

PASSAGES = 2
"""Number of passages of `head_roles.LENGTH` tokens on which edges are cut, and paths left out."""
ALL_FORMS: Mapping[str, tuple[str, ...]] = {
    "induction-random": general.all_but(general.OUTPUTS),
    "induction-head-exists": general.ALL,
    "induction-mechanism": general.all_but(general.OUTPUTS),
    "k-composition": (general.NORM, general.STREAM, general.BIASES),
    "only-k-composition": (general.NORM, general.STREAM, general.BIASES),
}
"""Rules that need no text, and the `general.FORMS` that each takes into account."""
EXISTS = "induction-head-exists"
"""Rule that the headline follows."""
DRAWS = 2
"""Most draws of a random control; the book draws twenty."""
TOKENS = 4096
"""Tokens, drawn at random, that rules take of a larger vocabulary: their controls are whole models."""


def left_out(model: Transformer, *takes: str, layers: int | None = None) -> str:
    """Reason why a model cannot have a section, or "" if it can; `takes` as in `Transformer.require`."""
    if layers is not None and model.config.n_layers != layers:
        return f"it is written for {layers} layers, and the model has {model.config.n_layers}"
    if layers is not None and model.mlps:
        return "it is exact without MLPs only"
    unknown = [form for form in general.FORMS if form in model.forms and form not in takes]
    return f"it does not know {unknown[0]}" if unknown else ""


def of_heads(model: Transformer) -> list[dict[str, Any]]:
    """Row for every head: its attention, its role, and the signs of its OV circuit's eigenvalues."""
    rows, square = [], general.OUTPUTS not in model.forms
    lengths = [str(length) for length in head_roles.lengths(model.config)]
    # All heads share it, and W_U W_OV W_E has the eigenvalues of W_E W_U W_OV.
    middle = model.W_E @ model.W_U if square else None
    for row in head_roles.census(model):
        sign = None
        if middle is not None:
            values = (middle @ heads.W_OV(model, row.head)).eigenvalues()
            sign = copying_scores.positivity(values) if values.any() else None
        looks = {
            "here": row.here,
            "one back": row.one_back,
            "begin": row.begin,
            "matches": row.matches,
            "matches by length": dict(zip(lengths, row.by_length, strict=True)),
        }
        rows.append({"head": str(row.head), "role": row.role, **looks, "positivity of OV": sign})
    return rows


def does_induction(model: Transformer, verdict: str = "") -> str:
    """Sentence on which heads do induction, by their attention and by the rule `EXISTS`.

    `verdict`: that of the rule, if it was asked. A head is called an induction head only if both
    say so: untrained heads may look there, too, where a vocabulary is small.
    """
    rows, lengths = head_roles.census(model), head_roles.lengths(model.config)
    finders = [row for row in rows if row.role == "induction"]
    listed = ", ".join(f"{row.head} ({_over_lengths(row, lengths)})" for row in finders)
    shares = f"in brackets, attention to what followed, on passages of {lengths[0]} to {lengths[-1]} tokens"
    best: Row | None = max(rows, key=lambda row: row.matches, default=None)
    chance = induction.uniform_matching(head_roles.twice(model.config)[0])
    pays = f", the best, {best.head}, pays {best.matches:.2f}" if best else ""
    none = (
        f"none pays more than {head_roles.LOOKS} of its attention, and more than to all else that is "
        f"counted, to what followed{pays}; uniform attention, {chance:.2f}"
    )
    decided = verdict.partition(":")[0]
    if decided in rules.VERDICTS and bool(finders) != (decided == rules.REPRODUCED):
        where = f"most attention goes to what followed in {listed}; {shares}" if finders else none
        return (
            f"no head is called an induction head: {where}; but the rule below, on the best head of the "
            f"last layer, says {verdict}"
        )
    return f"induction heads: {listed}; {shares}" if finders else f"no head does induction: {none}"


def _over_lengths(row: Row, lengths: Sequence[int]) -> str:
    """Range of a head's matching, and the lengths where it fails."""
    failing = sorted(
        {n for n, m in zip(lengths, row.by_length, strict=True) if m <= head_roles.LOOKS}
    )
    at = f", fails at {' and '.join(map(str, failing))}" if failing else ""
    return f"{min(row.by_length):.2f} to {max(row.by_length):.2f}{at}"


def of_composition(model: Transformer, n: int = 5) -> list[dict[str, Any]] | str:
    """Strongest pairs of each kind between all layers: shares, and scores as the weights are stored.

    A share, of the later head's input on the second copy, is the same in every basis of the stream,
    and pairs are ordered by it. A model with a norm, or another form that `composition.shares`
    refuses, has scores alone, which order edges badly where nothing fixes the basis; `of_edges`
    shows their effects.
    """
    if why := left_out(model, *general.all_but(general.ROTARY)):
        return why
    pairs = []
    layers, (tokens, _) = range(model.config.n_layers), _second_copy(model)
    for late, early in itertools.combinations(reversed(layers), 2):
        shares = None if left_out(model) else composition.shares(model, tokens, late, early)
        for k, kind in enumerate(composition.KINDS):
            scores = composition.scores(model, kind, late, early, basis="stored")
            strength = scores if shares is None else shares[k]
            for later, earlier in composition.top_pairs(strength, min(n, scores.numel())):
                pair = {
                    "later": str(Head(late, later.head)),
                    "earlier": str(Head(early, earlier.head)),
                }
                if shares is not None:
                    pair["share"] = float(strength[later.head, earlier.head])
                score = float(scores[later.head, earlier.head])
                pairs.append({"kind": kind, **pair, "score": score})
    return pairs


def of_edges(model: Transformer, n: int = 8) -> list[dict[str, Any]] | str:
    """Costliest edges into the head that matches best, by cutting: the induction circuit.

    The cost is the rise of the loss on the second copy without the edge. [nats per token]
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


def of_terms(model: Transformer) -> dict[str, float] | str:
    """Loss on the second copy with paths through at most 0, 1, … heads, patterns and norms held."""
    takes = general.all_but(general.OUTPUTS)
    if why := left_out(model, *takes, layers=model.config.n_layers):
        return why
    tokens, targets = _second_copy(model)
    linear = layer_norm.freeze(model, tokens)
    losses = term_importance.losses(linear, tokens, targets)
    counted = int((targets != -100).sum())
    return {name: float(of_part.sum()) / counted for name, of_part in losses.items()}


def _second_copy(model: Transformer) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = head_roles.twice(model.config)[head_roles.LENGTHS.index(head_roles.LENGTH)][:PASSAGES]
    tokens = tokens.to(model.W_E.device)
    return tokens, repeats.targets_of_copy(tokens, (tokens.shape[1] - 1) // 2, 1)


def _with_few_tokens(subject: Subject) -> Subject:
    """Subject with `TOKENS` tokens of the vocabulary; the same subject, if it has no more."""
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
    """Rules of the scorecard that need no text: with threshold, controls, power and interval.

    A rule with "tokens" in its row was measured on a part of the vocabulary.
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
    """Card as data. Arguments as for `own_model.read`.

    Raises:
        UserError: if there is no such model, or its contexts or its vocabulary are too small.
    """
    loaded = own_model.read(source, config, **how)
    model = loaded.model
    card = {
        "model": {
            "source": str(source), "begin": how.get("begin", 0),
            "sha256": " ".join(map(files.sha256, own_model.files_of(source))),
            "shape": asdict(model.config), "forms": sorted(model.forms),
        },
        "read": loaded.told,
        "made by": f"transformer_circuits {version('transformer_circuits')}, torch {torch.__version__}",
        "induction": does_induction(model),  # before anything that takes long refuses the model
        "heads": of_heads(model),
        "composition": of_composition(model),
        "edges": of_edges(model),
        "terms": of_terms(model),
        "tokens": [tokens.tolist() for tokens in head_roles.twice(model.config)],
        # Last, for their controls are whole models, too.
        "rules": of_rules(
            Subject(str(source), model, _random_text(model.config.n_vocab), readers_own=True)
        ),
    }  # fmt: skip
    verdict = next((row["verdict"] for row in card["rules"] if row["rule"] == EXISTS), "")
    return _finite(card | {"induction": does_induction(model, verdict)})


def _finite(value: Any) -> Any:
    """Part of the card with None in place of numbers that are not finite.

    Such numbers are a control without any case of the rule, or the score of a head that writes
    nothing.
    """
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


SECTIONS: Mapping[str, str] = {
    "rules": "The rules that apply, each with its controls and what was planted",
    "heads": "Every head, by where it looks on random tokens that come twice",
    "composition": "Composition: which share of what a head reads another wrote, and scores as stored",
    "edges": "The induction circuit by cutting: what the second copy costs more without an edge [nats]",
    "terms": "What the second copy costs with paths through at most so many heads [nats]",
}
READ = {"read": "How the file was read: its tensors, and its settings, used and not"}


def page(card: Mapping[str, Any]) -> str:
    """Card as one HTML page that loads nothing."""
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
    """Text of a cell: an interval as one, a number to three places."""
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
    """Statement on induction in the card beside a page."""
    return json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))["induction"]


def write(source: str | Path, folder: Path, config: own_model.Config = None, **how: Any) -> Path:
    """Write `card.json` and `card.html` into a folder; returns the path of the second."""
    card = of_model(source, config, **how)
    for name, text in (
        ("card.json", files.as_json(card, indent=1) + "\n"),
        ("card.html", page(card)),
    ):
        with files.atomic(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return folder / "card.html"
