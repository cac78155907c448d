"""First code cell of every chapter, which makes it run in Colab, too."""

import re
from pathlib import Path

from transformer_circuits import files
from transformer_circuits.book import notebooks

LOADING = """\
elif not find_spec("transformer_circuits"):
    sys.exit("This kernel is not the book's. Run `make lab` in the folder of the book.")
from transformer_circuits import book

book.setup()"""
"""End of each of the two cells: in a kernel without the package, one line with the remedy."""
CLONING = (
    """\
# Run this first. In Colab it fetches the book's code; elsewhere it only loads it.
import sys
from glob import glob
from importlib.util import find_spec

if "google.colab" in sys.modules and "book/src" not in " ".join(sys.path):
    git = "git clone --depth=1 {url}"
    get_ipython().system(f"{{git}} book; {{sys.executable}} -m pip install -qe book")
    sys.path += glob("book/src")
"""
    + LOADING
)
"""First code cell of every chapter; `{url}` is `repository.url` of `_config.yml`.

In Colab it shows the output of git and pip, and ends with an error if they fetched nothing. A
kernel with `book/src` on its path (those of `run_missing` have it) fetches nothing.
"""
UNPACKING = (
    """\
# Run this first. In Colab, upload book.zip to the files on the left before that.
import sys
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile, is_zipfile

if "google.colab" in sys.modules and "book/src" not in " ".join(sys.path):
    whole = [path for path in Path().glob("book*.zip") if is_zipfile(path)]
    if not whole:  # what is still being uploaded is listed, too
        sys.exit("Upload book.zip, wait until it is all there, and run this again.")
    ZipFile(max(whole, key=lambda path: path.stat().st_mtime)).extractall()
    get_ipython().system(f"{sys.executable} -m pip install -qe book")
    sys.path.append("book/src")
"""
    + LOADING
)
"""First cell where the repository has no address: it fetches nothing of the book from anywhere.

`make colab-zip` writes `book.zip`, and a release has it. Uploaded again, it is `book (1).zip`: the
newest complete one will do, `book-all.zip` as well. Where there is none, the cell ends with one
line with the remedy. The few chapters of `notebooks.ALL_MODELS` ask for `book-all.zip`.
"""


def text(config: Path, chapter: str = "") -> str:
    """First cell of a chapter, for the repository that `_config.yml` names or for none."""
    import yaml  # Jupyter Book's; chapters do without

    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    url = (settings.get("repository") or {}).get("url")
    return CLONING.format(url=url) if url else unpacking(chapter)


def unpacking(chapter: str = "", archive: str = "book") -> str:
    """First cell that takes a chapter's code from an archive, or from the larger one."""
    if chapter in notebooks.ALL_MODELS:
        archive += "-all"
    return re.sub(r"book(?=\S*\.zip)", archive, UNPACKING)


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
