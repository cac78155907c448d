"""Builds of the book and its edition for participants, each beside the last good one, which it then replaces.

A build that fails, or is stopped, leaves the last good book as it was. Two builds of one book do
not run at once. Where nothing has changed since the last good one, nothing is built.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

from transformer_circuits import files
from transformer_circuits.book import notebooks
from website import editions, slides

JUPYTER_BOOK = Path(sys.executable).with_name("jupyter-book")
ALL_PAGES_NEED = (
    "_config.yml", "_toc.yml", "package-lock.json", "requirements.txt", "_templates/**/*",
    "website/*.py",
)  # fmt: skip
"""Files after whose change Sphinx reads every page again; else it reads only changed pages."""
MADE_OF = (
    "*.*", "_static/**/*", "_templates/**/*", "chapters/**/*", "seminar/**/*", "results/**/*",
    "src/**/*", "website/**/*", "data/*.*", "data/models/**/*", "data/cache/executed/*.ipynb",
)  # fmt: skip
"""Files that the book is made of. A link of one page may show text of another, so after a change of
any, every page is written again.
"""


def build(edition: str | None = None) -> Path:
    """Folder of the book, or of the edition `student`, built with its slides.

    Nothing is built if it was built already, of the same files. Of a build that was stopped while
    it replaced the last good one, that one is put back first.

    Raises:
        UserError: if a page has an error or a warning, or another process is building the same.
    """
    root = notebooks.root()
    place = _place(edition)
    target = (place if edition else place.parent) / "html"
    stamp, made_of = place / "whole-made-of.txt", _hash(MADE_OF)
    old = place / "old"
    with files.alone_in(place):
        if old.exists() and not target.exists():
            os.replace(old, target)
        if (target / "index.html").is_file() and stamp.is_file() and stamp.read_text() == made_of:
            print(f"{target} is up to date")
            return target
        stamp.unlink(missing_ok=True)
        source = editions.write() if edition else root
        made = place / "_build"
        shutil.rmtree(made / "html", ignore_errors=True)
        _run(source, place)
        written = slides.write(source, made)
        shutil.copytree(written, made / "html" / written.name)
        # For who debugs the theme, 3.6 MB; colours for code, of which slides have none, 1.9 MB.
        for unused in ("**/*.map", "**/revealjs/plugin/highlight/*"):
            for path in filter(Path.is_file, (made / "html").glob(unused)):
                path.unlink()
        shutil.rmtree(old, ignore_errors=True)
        if target.exists():
            os.replace(target, old)
        os.replace(made / "html", target)
        shutil.rmtree(old, ignore_errors=True)
        stamp.write_text(made_of)
    return target


def _place(edition: str | None) -> Path:
    """Folder in which Jupyter Book works: in the folder `_build` of this one."""
    return notebooks.root() / "_build" / (edition or "book")


def _run(source: Path, place: Path) -> None:
    """Have Jupyter Book build; a warning is an error.

    Sphinx does not warn twice of a page that was read. So its memory of pages counts only if the
    last build went well, and was made of the same files.
    """
    kept = place / "made-of.txt"
    made_of = _hash(ALL_PAGES_NEED)
    if not (kept.is_file() and kept.read_text() == made_of):
        shutil.rmtree(place / "_build" / ".doctrees", ignore_errors=True)
    kept.unlink(missing_ok=True)
    command = [JUPYTER_BOOK, "build", source, "--path-output", place]
    command += ["-W", "--keep-going", "-n"]
    # Its extensions are in the folder `website` of this checkout.
    environment = os.environ | {"PYTHONPATH": str(notebooks.root())}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in takewhile(lambda line: "=====" not in line, process.stdout):
            print(line, end="", flush=True)
        process.stdout.read()  # where Jupyter Book believes that the book will stay
    if process.returncode:
        raise files.UserError(
            f"{source} was not built, see above; the last good book, if there is one, is as it was"
        )
    kept.write_text(made_of)


def _hash(patterns: tuple[str, ...]) -> str:
    """Hash of all files of the checkout that patterns match."""
    root, digest = notebooks.root(), hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in root.glob(pattern)}):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(f"{path.relative_to(root)} {files.sha256(path)}\n".encode())
    return digest.hexdigest()
