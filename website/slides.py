"""Slides, made of the pages that `make book` read; and the Chromium in which pages are tested."""

import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformer_circuits import files

SLIDES = "seminar/slides"
PATIENCE = 300_000
"""Most milliseconds of one action in a browser: ten times the usual, for a machine that is busy."""


def slides(source: Path, build: Path) -> Path:
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
        filenames=[str(source / f"{SLIDES}.md")],
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


def chromium() -> str | None:
    """Path of the Chromium of this machine, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


@contextmanager
def opened(path: str) -> Iterator:
    """Chromium without a window, whose pages have `PATIENCE`; closed at the end.

    `path`: that from `chromium`.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"], timeout=PATIENCE
        )
        browser.on("context", lambda context: context.set_default_timeout(PATIENCE))
        yield browser
        browser.close()
