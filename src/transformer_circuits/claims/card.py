"""Card of a model: evidence on its induction heads, in one file that another program can check.

Nothing on it needs a text, so that any vocabulary will do: all is measured on random tokens. The card has
those of its lines by length, of heads and of edges in it; the rule, and what a head does where nothing
repeats, draw their own by fixed seeds. `tests/claims/second_program.py` is a second program, on NumPy alone,
that recomputes lines of it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from tabulate import tabulate

from transformer_circuits import files
from transformer_circuits.analysis import (
    by_length,
    composition,
    head_roles,
    heads,
    path_patching,
    repeats,
)
from transformer_circuits.analysis.by_length import ByLength
from transformer_circuits.claims import catalogue, claim, rules, subjects
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.interop import own_model
from transformer_circuits.model import cross_entropy, general
from transformer_circuits.model.transformer import Transformer

PASSAGES = 2
"""Number of passages, of those of `head_roles.LENGTH` tokens, on which edges are cut."""
HEADLINE_RULE = "induction-head-exists"
"""Rule that the headline follows."""
CONTROL_DRAWS = 2
"""Most draws of a random control; the book draws twenty."""
SCHEMA = Path(__file__).with_name("card.schema.json")
"""JSON schema of `card.json`, for programs that read it."""


def of_heads(model: Transformer, found: ByLength) -> list[dict[str, Any]]:
    """Row for each head: its attention, and its role."""
    return [
        {
            "head": str(row.head), "role": row.role, "here": row.here, "one back": row.one_back,
            "begin": row.begin, "matches": row.matches, "looks most": f"{back} back",
            "where nothing repeats": fixed,
        }
        for row, back, fixed in zip(head_roles.census(model), found.distance, found.attention_there, strict=True)
    ]  # fmt: skip


def of_lengths(found: ByLength) -> list[dict[str, Any]]:
    """Row for each length of passage: share of right predictions, and attention to matches by head."""
    ever = [i for i in range(len(found.heads)) if found.holds(i)]
    rows = []
    for k, length in enumerate(found.lengths):
        right = {"right first": found.accuracy[k]} if found.accuracy else {}
        matches = {str(found.heads[i]): float(found.matches[k, i]) for i in ever}
        rows.append({"length": length, **right, "matched by chance": found.chance[k], **matches})
    return rows


def does_induction(model: Transformer, found: ByLength, verdict: str = "") -> str:
    """Headline: heads that do induction, and lengths at which they fail; or that no head does.

    `verdict`: what the rule `HEADLINE_RULE` came to, if it was asked. No head is called an induction head
    unless both say so: untrained heads may look there, too, where a vocabulary is small.
    """
    roles = [row.role for row in head_roles.census(model)]
    # A fixed distance, or chance in a small vocabulary, matches at one length.
    real = [i for i, role in enumerate(roles) if role == "induction" and len(found.holds(i)) > 1]
    asked = f"on passages of {found.lengths[0]} to {found.lengths[-1]} tokens"
    said = (
        _with_induction_heads(found, real, asked)
        if real
        else f"{_without_induction_heads(found)}, {asked}"
    )
    decided = verdict.partition(":")[0]
    if decided in rules.VERDICTS and bool(real) != (decided == rules.REPRODUCED):
        said = (
            "no head is called an induction head, for two tests disagree: the rule below, on the last "
            f"layer, says {verdict}; by length, {said}"
        )
    return said


def _with_induction_heads(found: ByLength, real: Sequence[int], asked: str) -> str:
    told = []
    for i in real:
        matches, holds = found.matches[:, i], found.holds(i)
        failing = [n for n in found.lengths if n not in holds]
        at = f", fails at {by_length.ranges(failing, found.lengths)}" if failing else ""
        told.append(
            f"{found.heads[i]} ({float(matches.min()):.2f} to {float(matches.max()):.2f}{at})"
        )
    said = f"induction heads: {', '.join(told)}, in brackets attention to what followed, {asked}"
    if not found.accuracy:
        return said
    best = max(found.accuracy)
    worse = [n for n, r in zip(found.lengths, found.accuracy, strict=True) if 2 * r < best]
    at = f", less than half as often at {by_length.ranges(worse, found.lengths)}" if worse else ""
    return f"{said}; the right token is first in {best:.0%} of places{at}"


def _without_induction_heads(found: ByLength) -> str:
    """Headline where no head does induction, with the reason for each that matches at some length."""
    told = []
    for i, head in enumerate(found.heads):
        if not (holds := found.holds(i)):
            continue
        only, back = by_length.ranges(holds, found.lengths), found.distance[i]
        why = f" and looks {back} back whatever stands there ({found.attention_there[i]:.2f})"
        told.append(
            f"{head} matches at {only} alone{why * (found.attention_there[i] > head_roles.LOOKS)}"
        )
    if not told and found.heads:
        top, chance = int(found.matches.max(dim=0).values.argmax()), max(found.chance)
        told = [
            f"{found.heads[top]} matches best, {float(found.matches[:, top].max()):.2f} at most; chance, {chance:.2f}"
        ]
    return "; ".join(["no head does induction", *told])


def of_edges(model: Transformer, n: int = 8) -> list[dict[str, Any]] | str:
    """Costliest edges into the head that matches best, by cutting; or, as text, why there are none.

    `nats`: rise of the loss on the second copy without the edge. [nats per token]
    """
    if model.config.n_layers != 2 or model.mlps:
        return "it is written for two layers, without MLPs"
    if general.OUTPUTS in model.forms:
        return "outputs are no tokens that come next"
    # Passages of the middle length that come twice, and the targets of the second copy.
    tokens = head_roles.twice(model.config)[1][:PASSAGES].to(model.W_E.device)
    targets = repeats.targets_of_copy(tokens, head_roles.lengths(model.config)[1], 1)
    targets[:, -1] = -100  # of a copy that is cut short, nothing comes after the last token
    trace, later = model.trace(tokens), head_roles.induction_head(model)
    losses = path_patching.losses_without_edges(model, trace, later, targets).sum(dim=(2, 3))
    rises = losses / (targets != -100).sum() - cross_entropy.mean(trace.logits, targets)
    costs = [
        {"kind": kind, "later": str(later), "earlier": str(earlier), "nats": float(nats)}
        for kind, row in zip(composition.KINDS, rises, strict=True)
        for earlier, nats in zip(heads.of_layer(model, 0), row, strict=True)
    ]
    return sorted(costs, key=lambda edge: -edge["nats"])[:n]


def of_rule(subject: Subject) -> dict[str, Any]:
    """Row of the rule that the headline follows: threshold, controls, power and interval."""
    measured = catalogue.measurements()[HEADLINE_RULE]
    rule = measured.claim
    row = {
        "rule": HEADLINE_RULE, "claim": rule.statement, "must be": f"{rule.side} {rule.threshold:g}",
        "threshold from": rule.threshold_from, "registered": claim.registered()[HEADLINE_RULE],
    }  # fmt: skip
    if not subject.model.layers:
        return {**row, "verdict": "left out: there are no heads"}
    try:
        # Each draw is a whole model: of a large one, twenty take minutes and gigabytes.
        decision = replace(measured, draws=min(CONTROL_DRAWS, measured.draws)).decision([subject])
    except subjects.Unavailable as error:
        return {**row, "verdict": f"unavailable: {error}"}
    return row | {
        "estimate": asdict(decision.seeds[subject.name]),
        "controls": {name: of and asdict(of) for name, of in decision.controls.items()},
        "power": {name: asdict(planted) for name, planted in decision.planted.items()},
        "verdict": f"{decision.verdict}: {decision.why}",
    }


@torch.no_grad()
def of_model(source: str | Path, config: own_model.Config = None, **how: Any) -> dict[str, Any]:
    """Card as data. Arguments as for `own_model.read`.

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
        "read": loaded.report,
        "made by": f"transformer_circuits {version('transformer_circuits')}, torch {torch.__version__}",
        "by length": of_lengths(found),
        "heads": of_heads(model, found),
        "edges": of_edges(model),
        "tokens": {
            "by length": [by_length.twice(model.config, n).tolist() for n in found.lengths],
            "heads": [tokens.tolist() for tokens in head_roles.twice(model.config)],
        },
        # Last, for its controls are whole models, too.
        "rule": of_rule(Subject(str(source), model, torch.empty(0, dtype=torch.long), readers_own=True)),
    }  # fmt: skip
    return _finite({"induction": does_induction(model, found, card["rule"]["verdict"]), **card})


def _finite(value: Any) -> Any:
    """Part of the card in which None stands for what has no number: a control without any case of
    what a rule speaks of, or the score of a head that writes nothing.
    """
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def written(value: Any) -> str:
    """Cell of the text; a number to two places."""
    if value is None:
        return "unavailable"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def text(card: Mapping[str, Any]) -> str:
    """Card as text: the headline, and a table for each part that is not long."""
    rule = card["rule"]
    settings = {name: of for name, of in card["read"].items() if name != "tensors"}
    decided = {name: rule[name] for name in ("claim", "must be", "verdict")}
    parts = {
        "Random tokens that come twice, by length": card["by length"],
        "The rule that the first line follows; one model is one seed": list(decided.items()),
        "Heads, on random tokens that come twice; shares of attention": card["heads"],
        "Edges that are cut: what the second copy then costs more [nats]": card["edges"],
        "How the file was read": [*card["read"].get("tensors", {}).items(), *settings.items()],
    }
    lines = [card["induction"], f"{card['model']['source']}, SHA-256 {card['model']['sha256']}"]
    for title, rows in parts.items():
        if isinstance(rows, str):
            rows = [{"left out": rows}]
        if not rows:
            continue
        pairs = not isinstance(rows[0], Mapping)
        named = [dict(zip(("", " "), row, strict=True)) for row in rows] if pairs else rows
        cells = [{name: written(of) for name, of in row.items()} for row in named]
        table = tabulate(cells, headers="keys", disable_numparse=True, maxcolwidths=70)
        lines += ["", title, "", table]
    return "\n".join(lines) + "\n"


def write(source: str | Path, folder: Path, config: own_model.Config = None, **how: Any) -> str:
    """Write `card.json` and `card.txt` into a folder, and return the text of the second.

    Raises:
        UserError: as `of_model`.
    """
    card = of_model(source, config, **how)
    contents = {"card.json": files.as_json(card, indent=1) + "\n", "card.txt": text(card)}
    for name, content in contents.items():
        with files.atomic(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8")
    return contents["card.txt"]
