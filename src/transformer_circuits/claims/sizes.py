"""The study of size, `data/study`: what is measured on each of its models when its training ends.

`python -m transformer_circuits experiments --study` trains them, and leaves one line for each in
`data/study/runs.jsonl`. Lines hold all that chapters need of a model, as the weights stay in the cache.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from transformer_circuits import files
from transformer_circuits.analysis import composition, edge_effects
from transformer_circuits.claims import about_composition as edges_of
from transformer_circuits.claims import (
    about_why_they_form,
    card,
    catalogue,
    registry,
    rules,
    subjects,
)
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.experiments import plan, study
from transformer_circuits.experiments.formation import Series
from transformer_circuits.experiments.plan import Planned
from transformer_circuits.experiments.study import Trained
from transformer_circuits.model import cross_entropy
from transformer_circuits.text import corpus, tokenizer
from transformer_circuits.training import checkpoint
from transformer_circuits.training.trainer import Trainer

OF = "two-layer"
"""Whose rules are measured on the models of the study."""
BETWEEN = (about_why_they_form.__name__,)
"""Modules of rules that compare trainings, so that one model has nothing for them to measure."""


WITH_NORM = (*card.ALL_FORMS, "below-random", "score-is-not-use")
"""The rules that are measured on models with a norm: whether they have the circuit, and all that asks
composition scores, which depend on the basis where there is none."""


def verdicts(trained: Sequence[Trained], claim: str, basis: str = study.STORED) -> dict[int, str]:
    """What the rule of a claim comes to on the recorded seeds of each width; "" if not measured.

    Records have no controls, so this says only where the estimates lie. What was measured in another
    way than the rule has now is recorded under its id with that way behind it: "id, every head counted".
    """
    by_width = {}
    for width, of_width in study.by_width(trained).items():
        seeds = {
            model.line["run"] + str(model.seed): model.interval(claim, basis) for model in of_width
        }
        had = {name: rules.Interval(*interval) for name, interval in seeds.items() if interval}
        rule = registry.rules()[claim.partition(", ")[0]]
        by_width[width] = rules.verdict(rule, had, {})[0] if had else ""
    return by_width


def series() -> Series:
    """The trainings of `data/study/plan.toml`."""
    return Series(plan.study(), plan.study().with_name("runs.jsonl"), at_end=keep)


def keep(planned: Planned, run: Trainer) -> dict[str, Any]:
    """Save the model of a training that has ended, in the cache, and measure it as it was saved."""
    if planned.choices.norm:  # a config does not say so: what is saved would be loaded without it
        model = run.model.requires_grad_(False).eval()
        log = tuple(run.log)
        return measured(
            Subject(planned.title, model, subjects.held_out(), log, own=True, of_the_book=True)
        )
    folder = files.cache_dir() / "study" / planned.title_of_state
    digest = files.sha256(corpus.build(planned.training.corpus)["train"])
    checkpoint.save(folder, run.model, planned.training, digest, run.log)
    return measured(dataclasses.replace(subjects.of_folder(folder), name=planned.title))


def measured(subject: Subject) -> dict[str, Any]:
    """What a line has beside the log; numbers have four significant digits.

    `measured`: when the rules were last mended that it was measured by.
    `held_out`: the loss on the `windows` of `cross_entropy`, in nats per token and per character.
    `estimates`: of every rule of the two-layer model, mean and interval over so many units; with a
    norm, of those of `WITH_NORM`.
    `estimates_white`: the same of those that read the basis of the stream, where the stream
    between the layers is white on training text; with a norm, which fixes the basis, none.
    `edges`: see `edges`.
    """
    normed, measurements = bool(subject.model.forms), catalogue.measurements()
    of = [
        name
        for name, measurement in measurements.items()
        if measurement.rule.of == OF and measurement.__module__ not in BETWEEN
        if name in WITH_NORM or not normed
    ]
    in_both = [name for name in of if measurements[name].reads_basis]
    line = {
        "measured": study.MEASURED,
        "held_out": held_out(subject),
        "estimates": estimates(subject, of),
        "estimates_white": {} if normed else estimates(subjects.white(subject), in_both),
        "edges": edges(subject),
    }
    return _rounded(line)


def held_out(subject: Subject) -> dict[str, int | float]:
    """The loss on held-out text; by character, too, as vocabularies cut a text into more or fewer."""
    losses = cross_entropy.evaluate(subject.model, subject.text)
    _, targets = subject.windows(len(losses))
    characters = sum(map(len, tokenizer.load().decode_batch(targets.tolist())))
    return {
        "windows": len(losses),
        "nats_per_token": float(losses.mean()),
        "either_way": cross_entropy.uncertainty(losses),
        "nats_per_character": float(losses.double().sum()) / characters,
    }


def estimates(subject: Subject, names: list[str]) -> dict[str, dict[str, Any]]:
    """What the measurement of each claim comes to; or why it cannot be had of such a model."""
    measurements, by_claim = catalogue.measurements(), {}
    for name in names:
        try:
            of = measurements[name].interval(subject)
            by_claim[name] = dataclasses.asdict(of) if of.n else {"not applicable": str(of)}
        except subjects.NotToBeHad as error:
            by_claim[name] = {"not applicable": f"{type(error).__name__}: {error}"}
    return by_claim


def edges(subject: Subject) -> dict[str, Any]:
    """Every edge between the layers: its scores in both bases, and what it does on held-out text.

    All by kind, in the order of `composition.KINDS`, then by head of the second layer, then of the
    first. `change` and `loss` are those of `edge_effects.Effects`, over the windows and places of
    `about_composition.sample`; `agreement` is Spearman's of a score with `change`, by kind, and
    `reliability` how well `change` agrees between halves of the windows.
    """
    effects, (inputs, _, places) = edges_of.effects(subject), edges_of.sample(subject)
    change = effects.change.double()
    mean = change.mean(dim=0)
    scores = {
        "stored": edges_of.scores(subject),
        "white": edges_of.scores_in(subject.model, subjects.white_basis(subject)),
    }
    return {
        "kinds": list(composition.KINDS),
        "windows": len(inputs),
        "n_ctx": inputs.shape[1],
        "places": places.tolist(),
        "chance": edges_of.chance(subject.model.config.d_model, subject.model.config.d_head)[0],
        **{name: score.tolist() for name, score in scores.items()},
        "change": mean.tolist(),
        "loss": effects.loss.double().mean(dim=0).tolist(),
        "agreement": {
            name: edges_of.by_kind(score, mean).tolist() for name, score in scores.items()
        },
        "reliability": [
            edge_effects.reliability(change[:, kind]) for kind in range(len(change[0]))
        ],
    }


def _rounded(value: Any) -> Any:
    """The same with four significant digits in every number that is not whole."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
