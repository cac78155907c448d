"""What both kinds of card say: where things are, who made them, and tables in Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from huggingface_hub import CardData

from transformer_circuits import files

NAME = "README.md"
"""The card's file: what a hub shows of a folder."""
LANGUAGES = ["en", "code"]
NO_OWNER, NO_ADDRESS = "YOUR-ACCOUNT", "ADDRESS-OF-THE-REPOSITORY"
_FAMILIES = {"python": "Python", "docs": "documentation", "prose": "prose", "html": "web pages",
             "latex": "LaTeX", "c++": "C++ headers"}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A checkout, with what it says of itself, and an account on a hub, which may be empty."""

    root: Path
    owner: str

    @property
    def text(self) -> str:
        """What the folder of the text is called on the hub."""
        return f"{self.owner or NO_OWNER}/transformer-circuits-text"

    def model(self, name: str) -> str:
        """What the folder of a model is called on the hub."""
        return f"{self.owner or NO_OWNER}/transformer-circuits-{name}"

    @cached_property
    def address(self) -> str:
        """Of the repository.

        Raises:
            UserError: if `_config.yml` cannot be read.
        """
        return (self._yaml("_config.yml").get("repository") or {}).get("url") or NO_ADDRESS

    @cached_property
    def citation(self) -> Mapping[str, Any]:
        """What `CITATION.cff` says.

        Raises:
            UserError: if it cannot be read, or says too little.
        """
        about = self._yaml("CITATION.cff")
        if missing := {"title", "authors", "license"} - about.keys():
            raise files.damaged(self.root / "CITATION.cff", f"does not say {sorted(missing)}")
        return about

    def bibtex(self) -> str:
        """`CITATION.cff` as an entry of BibTeX.

        Raises:
            UserError: if one of the files it is made of cannot be read.
        """
        about = self.citation
        names = [
            f"{{{one['name']}}}"
            if "name" in one
            else f"{one['family-names']}, {one['given-names']}"
            for one in about["authors"]
        ]
        given = {
            "title": about["title"], "author": " and ".join(names), "doi": about.get("doi"),
            "year": str(about.get("date-released") or "")[:4], "version": about.get("version"),
            "url": self.address,
        }  # fmt: skip
        lines = [f"  {key} = {{{value}}}" for key, value in given.items() if value]
        return "@software{transformer_circuits_executed,\n" + ",\n".join(lines) + "\n}"

    def _yaml(self, name: str) -> Mapping[str, Any]:
        import yaml  # Jupyter Book's; chapters do without

        path = self.root / name
        try:
            found = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, yaml.YAMLError) as error:
            raise files.damaged(path, f"cannot be read: {error}") from error
        if not isinstance(found, dict):
            raise files.damaged(path, "is no table")
        return found


def filled(template: str, data: CardData, place: Place, **values: object) -> str:
    """A card: its front matter, then one of our templates with everything filled in.

    Raises:
        UserError: if `_config.yml` or `CITATION.cff` cannot be read.
    """
    prose = Path(__file__).with_name(template).read_text(encoding="utf-8")
    own = {"title": place.citation["title"], "address": place.address, "bibtex": place.bibtex()}
    return f"---\n{data.to_yaml()}\n---\n\n{prose.format(**own, **values)}"


def shares(manifest: Mapping[str, Any]) -> str:
    """How much of the training text is of which family, by characters; `manifest`: corpus.toml's."""
    counts = manifest["characters"]["full"]
    total = sum(counts.values())
    return ", ".join(f"{n / total:.0%} {family(kind)}" for kind, n in counts.items())


def family(kind: str) -> str:
    """A family of texts in words; as it is called, where there are no others."""
    return _FAMILIES.get(kind, kind)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
