"""First code cell of every chapter, which makes it run in Colab, too."""

from pathlib import Path

from transformer_circuits import files
from transformer_circuits.book import notebooks

CELL = """\
# Run this first. {first}
import sys

if "google.colab" in sys.modules and "book/src" not in str(sys.path):
    get_ipython().system("{fetching}; python -m pip install -qe book")
    sys.path.append("book/src")
from transformer_circuits import book  # not found? In Colab see line 1, else `make lab`

book.setup()"""
"""First code cell of every chapter. What fails in Colab says so itself, and then the import fails.

A kernel with `book/src` on its path (those of `run_missing` have it) fetches nothing.
"""
CLONING = CELL.format(
    first="In Colab it fetches the book's code; elsewhere it only loads it.",
    fetching="git clone --depth=1 {url} book",
)
"""First cell with the address of the repository, `repository.url` of `_config.yml`."""
UNPACKING = CELL.format(
    first="In Colab, upload book.zip to the files on the left before that.",
    fetching="unzip -qo 'book*.zip'",
)
"""First cell where the repository has no address: it fetches nothing of the book from anywhere.

`make colab-zip` writes `book.zip`, and a release has it. Uploaded again, it is `book (1).zip`, and
all that are complete are unpacked. The few chapters of `notebooks.ALL_MODELS` ask for `book-all.zip`.
"""


def text(config: Path, chapter: str = "") -> str:
    """First cell of a chapter, for the repository that `_config.yml` names or for none."""
    import yaml  # Jupyter Book's; chapters do without

    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    url = (settings.get("repository") or {}).get("url")
    return CLONING.replace("{url}", url) if url else unpacking(chapter)


def unpacking(chapter: str = "", archive: str = "book") -> str:
    """First cell that takes a chapter's code from an archive, or from the larger one."""
    larger = "-all" if chapter in notebooks.ALL_MODELS else ""
    return UNPACKING.replace("book.zip", f"{archive}{larger}.zip")


def put(notebook: dict, cell: str) -> bool:
    """Make a cell the first with code of a notebook, in place; returns whether there was one to replace."""
    code = (candidate for candidate in notebook["cells"] if candidate["cell_type"] == "code")
    if first := next(code, None):
        first["source"] = cell.splitlines(keepends=True)
    return bool(first)


def write() -> None:
    """Write the first cell for `_config.yml` into every chapter."""
    for name in notebooks.names():
        chapter, cell = notebooks.path(name), text(notebooks.root() / "_config.yml", name)
        notebook = notebooks.read(chapter)
        if not put(notebook, cell):
            raise files.UserError(f"{chapter} has no code cell: leave an empty one where it goes")
        with files.atomic(chapter) as temporary:
            text_of_notebook = (
                files.as_json(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
            )
            temporary.write_text(text_of_notebook, encoding="utf-8")
