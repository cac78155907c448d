"""Figures of the README: those of the chapters, as files that a code host can show."""

from transformer_circuits import files, record
from transformer_circuits.book import notebooks

FIGURES = {
    "kl-by-width.svg": ("04-zero-layers", "Wider models hold more of the bigram table"),
    "right-first.svg": (
        "11-induction-heads",
        "How often the right token is first, of the whole vocabulary",
    ),
}
"""Chapter and title of each figure, by the name of its file in `_static/`."""


def write() -> None:
    """Write every figure as the executed chapters have it.

    Raises:
        UserError: if a chapter is not executed with the present code, or has no such figure.
    """
    executed = notebooks.fresh()
    pictures = {name: _picture(executed, *where) for name, where in FIGURES.items()}
    for name, svg in pictures.items():
        with files.atomic(notebooks.root() / "_static" / name) as temporary:
            temporary.write_bytes(svg)


def _picture(executed: dict[str, dict], chapter: str, title: str) -> bytes:
    """SVG picture that a chapter shows under a title."""
    if chapter not in executed:
        raise files.UserError(f"{chapter} is not executed with this code; run `make book` first")
    for output in notebooks.outputs(executed[chapter]):
        if (record.of(output) or {}).get("title") == title:
            # Code hosts have dark pages, too, but do not tell a file that it lies on one.
            return record.picture(output).replace(b"<svg ", b'<svg style="background:#fff" ', 1)
    raise files.UserError(f"{chapter} shows no figure called {title!r}")
