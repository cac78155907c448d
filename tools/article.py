"""The replication article: our prose (`article.md`), the numbers of a manifest.

It says what was found; how it was decided; what stood in the way; and what to ask the authors.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean

from tools import about, manifest
from transformer_circuits import files
from transformer_circuits.claims import findings, registry, rules, scorecard, sizes
from transformer_circuits.claims.registry import Claim
from transformer_circuits.experiments import study
from transformer_circuits.figures.values import written

NAME = "article.md"
"""The article's file, beside its manifest."""
TITLE = "A replication of *A Mathematical Framework for Transformer Circuits*"
GROUPS = {
    "tested": (*findings.ANSWERS, *findings.GENERAL),
    "reproduced": (rules.REPRODUCED,),
    "part": (rules.MIXED, rules.UNDECIDED, rules.UNPOWERED),  # what stays open
    "not": (rules.NOT_REPRODUCED,),
    "basis": ("depends on the basis", "no case"),
    "untested": registry.UNTESTED,
    "identities": (scorecard.HOLDS["identity"],),
    "built": (scorecard.HOLDS["built"],),
}
"""Verdicts that the article puts together, by what it calls them."""
SOURCES = {"paper": ("paper",), "later": ("follow-up", "retelling")}
_DEFAULT = "“{}”: by which measure would you say so, and from which value on?"
"""The question about a claim that has none of its own, for it had come out before."""
STORY = (
    "zero-layer-bigram", "family-copy", "one-layer-no-induction", "induction-head-exists",
    "induction-random", "induction-mechanism", "k-composition-use", "causal-scrubbing",
)  # fmt: skip
"""The claims that the article tells where they hold."""
COMPOSITION = ("score-is-not-use", "below-random", "k-composition")
"""The claims about composition scores that the article tells, however they came out."""
DEBATE = {"lan2026", "bai2026", "snell2024", "yamagiwa2026"}
"""Whom it cites beside those who made a claim."""
_HERE = Path(__file__).parent

Row = tuple[Claim, Mapping]
"""A claim, and what a manifest found about it."""


def text(found: Mapping) -> str:
    """The article that follows from a manifest, as Markdown."""
    if (listed := [*found["claims"]]) != [*registry.read()]:
        odd = sorted(set(listed) ^ set(registry.read())) or "their order"
        raise files.UserError(
            f"the manifest has other claims than data/claims.toml ({odd}): run "
            "`python -m tools reproduce --write`"
        )
    of = {
        (source, group): _rows(found, source, *verdicts)
        for source in SOURCES
        for group, verdicts in GROUPS.items()
    }
    later = of["later", "not"] + of["later", "basis"] + of["later", "part"]
    untested = "; ".join(f"{c.statement} ({f['verdict']})" for c, f in of["paper", "untested"])
    citation = about.citation(files.data_dir().parent)
    counted = manifest.counts(found)
    return _HERE.joinpath(NAME).read_text(encoding="utf-8").format(
        title=TITLE,
        authors=", ".join(about.authors(citation)),
        version=citation["version"],
        **{f"{source}_{group}": len(rows) for (source, group), rows in of.items()},
        later_own=sum(claim.own for claim, _ in of["later", "tested"]),
        n_seeds=len(next(iter(found["models"].values()))["seeds"]),
        models=_models(found["models"]),
        **_rules(),
        families=about.shares(files.read_toml(files.data_dir() / "corpus.toml")),
        references=_references(),
        **_study(),
        **_basis(found["chapters"]),
        **_size(
            [claim for claim, _ in of["paper", "not"] + of["paper", "basis"]],
            [claim for claim, _ in of["paper", "part"]],
            [claim for claim, _ in of["paper", "reproduced"]],
        ),
        composition="\n".join(
            f"- {said(claim, row)}" for claim, row in of["paper", "tested"] + of["later", "tested"]
            if claim.id in COMPOSITION
        ),
        story="\n".join(
            f"- {findings.bare(said(claim, row))}"
            for claim, row in of["paper", "reproduced"]
            if claim.id in STORY
        ),
        reproduced=_table(of["paper", "reproduced"], _SHORT),
        **{
            name: _table(of["paper", group], _LONG)
            for name, group in (("not_reproduced", "not"), ("basis", "basis"), ("part", "part"))
        },
        later=_table([(claim, row) for claim, row in later if not claim.own], _NAMED),
        untested=f"Of the paper's claims, {len(of['paper', 'untested'])} were not tested: "
        f"{untested or 'none'}.",
        questions=_asked(of["paper", "not"] + of["paper", "basis"] + of["paper", "part"]),
        later_questions=_asked(later),
        minutes=f"{found['machine']['minutes for all chapters']:.0f}",
        cores=found["machine"]["cores"],
        processor=found["machine"]["processor"],
        figures=counted["figures and tables"],
        checks=counted["checks"],
        claims=counted["claims"],
    )  # fmt: skip


def write(path: Path, found: Mapping) -> None:
    """Write the article that follows from a manifest."""
    path.write_text(text(found), encoding="utf-8")


def in_step(committed: Path) -> bool:
    """Whether the article beside a manifest is the one that follows from it."""
    article = committed.with_name(NAME)
    expected = text(manifest.read(committed))
    return article.is_file() and article.read_text(encoding="utf-8") == expected


def questions() -> dict[str, str]:
    """What to ask about a claim that did not clearly come out, by its id."""
    return files.read_toml(_HERE / "questions.toml")


def _rows(found: Mapping, source: str, *verdicts: str) -> list[Row]:
    """In the order of the verdicts, then in that of the file of claims."""
    rows = [(claim, found["claims"][claim.id]) for claim in registry.read().values()
            if claim.source in SOURCES[source]]  # fmt: skip
    return [(claim, of) for verdict in verdicts for claim, of in rows if of["verdict"] == verdict]


def _asked(rows: list[Row]) -> str:
    """One question for each claim, except where the belief was our own."""
    asked = questions()
    return "\n".join(
        f"1. {asked.get(claim.id) or _DEFAULT.format(claim.statement)}"
        for claim, _ in rows
        if not claim.own
    )


def interval(seed: Mapping) -> rules.Interval:
    """What a manifest has of a seed."""
    return rules.Interval(*(seed[key] for key in ("mean", "low", "high", "n")))


def _estimates(found: Mapping) -> list[rules.Interval]:
    return [interval(seed) for seed in found["seeds"].values()]


def must_be(claim: Claim, _: object = None) -> str:
    """On which side of which threshold an estimate must lie."""
    rule = registry.rules()[claim.id]
    return f"{rule.side}\u00a0{rule.threshold:g}"


def said(claim: Claim, found: Mapping) -> str:
    """What was found, in the sentence that the verdict chooses.

    A manifest leaves out the seeds that have no case of a claim in the white basis.
    """
    seeds, controls, white, other = (
        {name: interval(one) for name, one in found.get(group, {}).items() if one}
        for group in ("seeds", "controls", "white", "other")
    )
    if white:
        white = dict.fromkeys(seeds, rules.NOTHING) | white
    return findings.say(claim.id, found["verdict"], seeds, controls, white, other)


def _means(claim: Claim, found: Mapping) -> str:
    means = "; ".join(f"{one.mean:.3g}" for one in _estimates(found))
    return f"{means} [{findings.unit(claim.id)}]"


def _intervals(claim: Claim, found: Mapping) -> str:
    return f"{'; '.join(map(str, _estimates(found)))} [{findings.unit(claim.id)}]"


Columns = dict[str, Callable[[Claim, Mapping], object]]
"""By its heading, what a table says of each claim in a column."""
_SHORT: Columns = {
    "rule": lambda claim, _: f"`{claim.id}`",
    "what was found": said,
    "estimates [unit]": _means,
    "must be": must_be,
}
_LONG: Columns = {
    "claim": lambda claim, _: f"{claim.statement} (reported: {claim.reported})",
    "what was found": said,
    "estimates (95 % intervals) [unit]": _intervals,
    "must be": must_be,
}
_NAMED: Columns = {
    "rule": lambda claim, _: f"`{claim.id}`",
    "made by or in": lambda claim, _: claim.section,
    "what was found": said,
}


def _table(rows: list[Row], columns: Columns) -> str:
    return about.table([*columns], [[cell(*row) for cell in columns.values()] for row in rows])


def _rules() -> dict[str, int]:
    """How many rules there are, and how many were not written before they could be measured."""
    registered = [rule.registered for rule in registry.rules().values()]
    ends = {"rules_late": "trainings were made", "rules_mended": "after a first measurement"}
    ends |= {"rules_unproven": "unproven", "rules_refereed": "after a referee's look"}
    counted = {name: sum(end in one for one in registered) for name, end in ends.items()}
    return {"rules": len(registered)} | counted


def _study() -> dict[str, str | int]:
    """How composition scores agree with effects over the models of the study that have the paper's
    proportions; fewer than `ENOUGH_HEADS` heads have too few edges."""
    alike = [one for of in study.in_width_alone().values() for one in of]
    runs = [one.line for one in alike if one.n_heads >= study.ENOUGH_HEADS]
    found: dict[str, str | int] = {"study_n": len(runs)}
    for basis in ("stored", "white"):
        means = [mean(run["edges"]["agreement"][basis]) for run in runs]
        found[f"study_{basis}"] = f"{min(means):.2f} to {max(means):.2f}"
    normed = study.in_width_alone(normed=True)
    for when, of in zip(("early", "late"), normed.values(), strict=True):
        for name, claim in {"lead": "k-composition", "agreement": "score-is-not-use"}.items():
            means = [written(one.interval(claim)[0], ".2f") for one in of]
            found[f"normed_{name}_{when}"] = ", ".join(means)
        white = [mean(one.line["edges"]["agreement"]["white"]) for one in of]
        found[f"normed_white_{when}"] = ", ".join(written(value, ".2f") for value in white)
    return found | {"normed_width": of[0].width}


def _size(
    otherwise: Sequence[Claim], stay_open: Sequence[Claim], hold: Sequence[Claim]
) -> dict[str, str | int]:
    """Which rules come nearer to their claim with width; of the claims that came out otherwise, too.

    And which of these, and of those that stay open, the widest models meet; and which that hold they
    do not.
    """
    *_, runs = study.in_width_alone().values()
    went = {
        name: study.trend(runs, name, rule.side)
        for name, rule in registry.rules().items()
        if name in runs[0].line["estimates"] and runs[0].interval(name)
    }
    enough = [of for of in study.by_width(runs).values() if of[0].n_heads >= study.ENOUGH_HEADS]
    luck = study.by_luck(len(enough[0]), len(enough[-1])) * len(went)

    def listed(of: Sequence[Claim]) -> str:
        return "; ".join(claim.statement for claim in of) or "none"

    def going(way: str) -> str:
        return listed([claim for claim in otherwise if went.get(claim.id) == way])

    widest = max(one.width for one in runs)

    def met(claim: Claim, width: int) -> bool:
        return sizes.verdicts(runs, claim.id)[width] == rules.REPRODUCED

    otherwise_there = [
        claim
        for claim in [*otherwise, *stay_open, *hold]
        if claim.id in went and met(claim, study.OWN_WIDTH) != met(claim, widest)
    ]
    arrived = [claim for claim in otherwise_there if met(claim, widest)]
    left = [claim for claim in otherwise_there if claim not in arrived]

    counted = {
        f"size_{way}": [*went.values()].count(way) for way in ("nearer", "farther", "neither")
    }
    return counted | {
        "size_n": len(runs),
        "size_widths": ", ".join(map(str, study.by_width(runs))),
        "size_arrived": listed(arrived),
        "size_left": listed(left),
        "size_rules": len(went),
        "size_luck": f"{luck:.0f}",
        "size_hope": going("nearer"),
        "size_no_hope": going("farther"),
    }


def _basis(chapters: Mapping) -> dict[str, str]:
    """How measures of an edge agree with its effect, over the seeds of the book's own models."""
    figures = chapters["22-which-basis"]["figures"]

    def of(title: str, column: str, by: str) -> dict[str, list[float]]:
        """The values of a table's column, by the words beside them."""
        record, found = figures[title], {}
        for word, value in zip(record["words"][by], record["numbers"][column], strict=True):
            found.setdefault(word, []).append(value)
        return found

    measures = of("Rank correlation of each measure with the effects of edges", "mean", "measure")
    seeds = [f"seed {seed}" for seed in range(len(measures["share"]))]
    bases = [
        of("Rank correlation with effects, the mean of Q, K and V", seed, "basis") for seed in seeds
    ]
    parts = figures["Without the writer's norm, the basis hardly matters"]
    norms = {"norm": ("as stored", "the reader's norm"), "pairs_stored": ("as stored", "pairs only"),
             "pairs_white": ("white", "pairs only")}  # fmt: skip
    found = {f"basis_{name}": measures[word]
             for name, word in (("stored", "as stored"), ("white", "white"), ("share", "share"))}  # fmt: skip
    found["basis_length"] = [one["length alone, no pair"][0] for one in bases]
    for name, (basis, divided_by) in norms.items():  # means of seeds
        row = parts["words"]["rows"].index(divided_by)
        found[f"basis_{name}"] = [parts["numbers"][basis][row]]
    ends = {name: [f"{end:.2f}" for end in (min(all_), max(all_))] for name, all_ in found.items()}
    every = figures["Rank correlation of scores and effects, by width, million tokens, seed"]
    [mlps] = [row for row, of in enumerate(every["words"]["model"]) if "MLPs" in of]
    of_mlps = {f"mlp_{name}": every["words"][name][mlps] for name in ("stored", "white", "share")}
    return of_mlps | {name: " to ".join(dict.fromkeys(both)) for name, both in ends.items()}


def _references() -> str:
    """The paper, and whoever made a claim by name and year, from the book's bibliography."""
    import pybtex  # Jupyter Book's; chapters do without

    bibliography = files.data_dir().parent / "chapters/reference/references.bib"
    sections = [claim.section for claim in registry.read().values()]
    found = re.findall(r"(\w+) (?:et al\.|and \w+) (\d{4})", "\n".join(sections))
    named = {f"{name.lower()}{year}" for name, year in found}
    listed = pybtex.PybtexEngine().format_from_file(
        bibliography, style="plain", citations=sorted({"elhage2021"} | DEBATE | named),
        output_backend="markdown",
    )  # fmt: skip
    lines = re.split(r"(?m)^\[\d+\] ", re.sub(r"\\([.-])", r"\1", listed))
    return "\n".join(f"1. {' '.join(line.split())}" for line in lines[1:])


def _models(found: Mapping) -> str:
    """A row for each model of the book, whatever its seed."""
    rows = [
        (
            name,
            f"{of['n_layers']} × {of['n_heads']} × {of['d_head']}" if of["n_layers"] else "none",
            of["d_model"], of["d_mlp"] or "none", of["n_ctx"],
            f"{of['n_vocab']:,}", f"{of['tokens'] / 1e6:.1f} million", len(of["seeds"]),
        )
        for name, of in found.items()
    ]  # fmt: skip
    columns = ("model", "layers × heads × d_head", "d_model", "MLP", "context", "vocabulary",
               "tokens read", "seeds")  # fmt: skip
    return about.table(columns, rows)
