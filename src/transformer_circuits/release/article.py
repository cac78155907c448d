"""The replication article: our prose (`article.md`), the numbers of a manifest.

It says what was replicated, in part and not; what stood in the way; and what to ask the authors.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from transformer_circuits import files
from transformer_circuits.claims import registry, rules, scorecard
from transformer_circuits.claims.registry import Claim
from transformer_circuits.release import comparison, manifest
from transformer_circuits.release.hub import cards

NAME = "article.md"
"""The article's file, beside its manifest."""
TITLE = "A replication of *A Mathematical Framework for Transformer Circuits*"
IN_PART = (rules.MIXED, rules.UNDECIDED, rules.UNPOWERED)
"""Verdicts between the two clear ones."""
_DEFAULT = "“{}”: by which measure would you say so, and from which value on?"
"""The question about a claim that has none of its own, for it had come out before."""
_LATER = "Later work"
_HERE = Path(__file__).parent


def text(found: Mapping) -> str:
    """The article that follows from a manifest, as Markdown.

    Raises:
        UserError: if its claims are not those of `data/claims.toml`.
    """
    if (listed := [*found["claims"]]) != [*registry.read()]:
        odd = sorted(set(listed) ^ set(registry.read())) or "their order"
        raise files.UserError(
            f"the manifest has other claims than data/claims.toml ({odd}): run "
            "`python -m transformer_circuits reproduce --write`"
        )
    paper, later = _Claims(found, ("paper",)), _Claims(found, ("follow-up", "retelling"))
    counted = comparison.n_compared(found)
    template = _HERE.joinpath(NAME).read_text(encoding="utf-8")
    return template.format(
        title=TITLE,
        **_about(),
        **paper.counts("paper"),
        **later.counts("later"),
        n_seeds=len(next(iter(found["models"].values()))["seeds"]),
        models=_models(found["models"]),
        parts=_parts(found),
        **_rules(),
        families=cards.shares(files.read_toml(files.data_dir() / "corpus.toml")),
        references=_references(),
        reproduced=paper.short([rules.REPRODUCED]),
        part=paper.long(IN_PART, why=True),
        not_reproduced=paper.long([rules.NOT_REPRODUCED]),
        later=later.named([*IN_PART, rules.NOT_REPRODUCED]),
        untested=paper.untested(),
        questions=paper.questions(),
        later_questions=later.questions(),
        minutes=f"{found['machine']['minutes for all chapters']:.0f}",
        cores=found["machine"]["cores"],
        processor=found["machine"]["processor"],
        figures=counted["figures and tables"],
        checks=counted["checks"],
        claims=counted["claims"],
    )


def write(path: Path, found: Mapping) -> None:
    """Write the article that follows from a manifest.

    Raises:
        UserError: as `text`.
        OSError: as `files.atomic`.
    """
    written = text(found)
    with files.atomic(path) as temporary:
        temporary.write_text(written, encoding="utf-8")


def in_step(committed: Path) -> bool:
    """Whether the article beside a manifest is the one that follows from it.

    Raises:
        UserError: naming the manifest, if it is not there or damaged.
    """
    article = committed.with_name(NAME)
    expected = text(manifest.read(committed))
    return article.is_file() and article.read_text(encoding="utf-8") == expected


class _Claims:
    """The claims of some sources with what a manifest found, as parts of the article."""

    def __init__(self, found: Mapping, sources: Sequence[str]):
        self.found = found["claims"]
        self.rows = [claim for claim in registry.read().values() if claim.source in sources]

    def _with(self, verdicts: Iterable[str]) -> list[Claim]:
        """In the order of the verdicts, then in that of the file of claims."""
        return [c for v in verdicts for c in self.rows if self.found[c.id]["verdict"] == v]

    def counts(self, prefix: str) -> dict[str, int]:
        groups = {
            "tested": rules.VERDICTS,
            "reproduced": [rules.REPRODUCED],
            "part": IN_PART,
            "not": [rules.NOT_REPRODUCED],
            "identities": [scorecard.HOLDS["identity"]],
            "built": [scorecard.HOLDS["built"]],
        }
        counted = {f"{prefix}_{name}": len(self._with(of)) for name, of in groups.items()}
        return counted | {f"{prefix}_own": sum(c.own for c in self._with(rules.VERDICTS))}

    def short(self, verdicts: Iterable[str]) -> str:
        rows = [
            (c.statement, c.rule, _estimates(self.found[c.id], ends=False), _must(c))
            for c in self._with(verdicts)
        ]
        return _table(("claim", "what counts", "estimates", "must be"), rows)

    def long(self, verdicts: Iterable[str], *, why: bool = False) -> str:
        rows = [
            (f"{c.statement} (reported: {c.reported})", c.rule, _estimates(self.found[c.id]), _must(c),
             *([f"{self.found[c.id]['verdict']}: {self.found[c.id]['why']}"] if why else []))
            for c in self._with(verdicts)
        ]  # fmt: skip
        columns = ["claim", "what counts", "estimates (95 % intervals)", "must be"]
        return _table([*columns, "verdict"] if why else columns, rows)

    def named(self, verdicts: Iterable[str]) -> str:
        rows = [(c.statement, c.section, self.found[c.id]["verdict"]) for c in self._with(verdicts)]
        return _table(("claim", "made by or in", "verdict"), rows)

    def untested(self) -> str:
        rows = self._with(registry.UNTESTED)
        said = "; ".join(f"{c.statement} ({self.found[c.id]['verdict']})" for c in rows)
        return f"Of the paper's claims, {len(rows)} were not tested: {said or 'none'}."

    def questions(self) -> str:
        """One for each claim that did not clearly come out, except where the belief was our own."""
        asked = questions()
        unclear = self._with([*IN_PART, rules.NOT_REPRODUCED])
        of_others = [c for c in unclear if not c.own]
        return "\n".join(f"1. {asked.get(c.id) or _DEFAULT.format(c.statement)}" for c in of_others)


def questions() -> dict[str, str]:
    """What to ask about a claim that did not clearly come out, by its id."""
    return tomllib.loads(_HERE.joinpath("questions.toml").read_text(encoding="utf-8"))


def _estimates(found: Mapping, *, ends: bool = True) -> str:
    """Of every seed, to three digits, with or without the ends of its interval."""
    of = [rules.Interval(*(seed[k] for k in ("mean", "low", "high", "n")))
          for seed in found["seeds"].values()]  # fmt: skip
    return "; ".join(str(one) if ends else f"{one.mean:.3g}" for one in of)


def _must(claim: Claim) -> str:
    rule = registry.rules()[claim.id]
    return f"{rule.side}\u00a0{rule.threshold:g}"


def _about() -> dict[str, str]:
    """Who wrote this, and which version it is."""
    import yaml  # Jupyter Book's; chapters do without

    citation = files.data_dir().parent / "CITATION.cff"
    about = yaml.safe_load(citation.read_text(encoding="utf-8"))
    names = [
        one.get("name") or f"{one['given-names']} {one['family-names']}" for one in about["authors"]
    ]
    return {"authors": ", ".join(names), "version": str(about["version"])}


def _rules() -> dict[str, int]:
    """How many rules there are, and how many were not written before they could be measured."""
    registered = [rule.registered for rule in registry.rules().values()]
    ends = {"rules_late": "trainings were made", "rules_mended": "after a first measurement"}
    ends |= {"rules_unproven": "unproven"}
    counted = {name: sum(end in one for one in registered) for name, end in ends.items()}
    return {"rules": len(registered)} | counted


def _references() -> str:
    """The paper, and whoever made a claim by name and year, from the book's bibliography."""
    import pybtex  # Jupyter Book's; chapters do without

    bibliography = files.data_dir().parent / "chapters/reference/references.bib"
    sections = [claim.section for claim in registry.read().values()]
    found = re.findall(r"(\w+) (?:et al\.|and \w+) (\d{4})", "\n".join(sections))
    named = {f"{name.lower()}{year}" for name, year in found}
    listed = pybtex.PybtexEngine().format_from_file(
        bibliography, style="plain", citations=sorted({"elhage2021"} | named),
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
    return _table(columns, rows)


def _parts(found: Mapping) -> str:
    """Facts about trained models, by part of the paper and by verdict."""
    groups = {
        "reproduced": [rules.REPRODUCED],
        "in part, or undecided": IN_PART,
        "not reproduced": [rules.NOT_REPRODUCED],
        "not tested": registry.UNTESTED,
    }
    group_of = {verdict: name for name, verdicts in groups.items() for verdict in verdicts}
    counted = Counter(
        (
            scorecard.part(claim) if claim.source == "paper" else _LATER,
            group_of.get(found["claims"][claim.id]["verdict"]),
        )
        for claim in registry.read().values()
    )
    rows = [
        (part, *(counted[part, name] for name in groups)) for part in (*scorecard.PARTS, _LATER)
    ]
    return _table(("facts about trained models", *groups), [row for row in rows if any(row[1:])])


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown; of no rows, a sentence."""
    lines = [" | ".join(str(cell).replace("|", "\\|") for cell in row) for row in rows]
    if not lines:
        return "None."
    rule = " | ".join(["---"] * len(columns))
    return "\n".join(f"| {line} |" for line in (" | ".join(columns), rule, *lines))
