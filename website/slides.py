"""Slides, made of the pages that `make book` read."""

import shutil
import warnings
from pathlib import Path

from transformer_circuits import files

PAGE = "seminar/slides"


def write(source: Path, build: Path) -> Path:
    """Write the page of slides for reveal.js; returns the folder `slides`, which goes into the book.

    `source`, `build`: the folder with the pages, and the one in which Jupyter Book built `html`.

    Raises:
        UserError: if Sphinx could not write it.
    """
    from jupyter_book.sphinx import build_sphinx

    written = build / "slides"
    # The table of contents looks at every object there is, and the command line has loaded torch
    # with its deprecated ones.
    warnings.filterwarnings("ignore", "`torch.distributed.reduce_op`", FutureWarning)
    failed = build_sphinx(
        source,
        written,
        noconfig=True,
        path_config=source / "_config.yml",
        confoverrides={
            "external_toc_path": (source / "_toc.yml").as_posix(),
            "latex_individualpages": False,
            "nitpicky": True,
            "html_domain_indices": False,  # one page has no index of modules
        },
        doctreedir=build / ".doctrees",
        filenames=[str(source / f"{PAGE}.md")],
        builder="revealjs",
        warningiserror=True,
        keep_going=True,
        quiet=True,
    )
    if failed:
        raise files.UserError(f"the slides were not written: {failed}")
    # Sphinx writes the first page of the book with any other, Jupyter Book what leads there.
    shutil.rmtree(written / "chapters")
    (written / "index.html").unlink(missing_ok=True)
    return written
