"""What the repository says of itself, for the article and for cards; and tables in Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

NO_ADDRESS = "ADDRESS-OF-THE-REPOSITORY"
"""Stands where `_config.yml` has none yet."""
_FAMILIES = {"python": "Python", "docs": "documentation", "prose": "prose", "html": "web pages",
             "latex": "LaTeX", "c++": "C++ headers"}  # fmt: skip


def settings(path: Path) -> Mapping[str, Any]:
    """What a file of settings in YAML says."""
    import yaml  # Jupyter Book's; chapters do without

    return yaml.safe_load(path.read_text(encoding="utf-8"))


def address(root: Path) -> str:
    """Where the repository is, as `_config.yml` says; empty if it does not."""
    return (settings(root / "_config.yml").get("repository") or {}).get("url") or ""


def citation(root: Path) -> Mapping[str, Any]:
    """What `CITATION.cff` says."""
    return settings(root / "CITATION.cff")


def authors(citation: Mapping[str, Any]) -> list[str]:
    """Their names, as `CITATION.cff` has them."""
    return [
        one.get("name") or f"{one['given-names']} {one['family-names']}"
        for one in citation["authors"]
    ]


def bibtex(root: Path) -> str:
    """`CITATION.cff` as an entry of BibTeX."""
    about = citation(root)
    names = [
        f"{{{one['name']}}}" if "name" in one else f"{one['family-names']}, {one['given-names']}"
        for one in about["authors"]
    ]
    fields = {
        "title": about["title"], "author": " and ".join(names), "doi": about.get("doi"),
        "year": str(about.get("date-released") or "")[:4], "version": about.get("version"),
        "url": address(root) or NO_ADDRESS,
    }  # fmt: skip
    lines = [f"  {key} = {{{value}}}" for key, value in fields.items() if value]
    return "@software{transformer_circuits_executed,\n" + ",\n".join(lines) + "\n}"


def family(kind: str) -> str:
    """A family of texts in words."""
    return _FAMILIES.get(kind, kind)


def shares(corpus: Mapping[str, Any]) -> str:
    """How much of the training text is of which family, by characters; `corpus`: corpus.toml's."""
    counts = corpus["characters"]["full"]
    return ", ".join(f"{n / sum(counts.values()):.0%} {family(kind)}" for kind, n in counts.items())


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown; of no rows, a sentence."""
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    lines = [columns, ["---"] * len(columns), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if cells else "None."
