"""The book as slides, as single sheets, and as one PDF, made of the pages that `make book` read."""

import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformer_circuits import files

SLIDES = "seminar/slides"
SHEETS = ("seminar/handout", "chapters/reference/notation-card")
"""Pages that are also printed, each on one sheet."""
_FOOTER = (
    '<div style="font-size:8px;width:100%;text-align:center"><span class="pageNumber"></span></div>'
)

PATIENCE = 300_000
"""Most milliseconds of one action in a browser: ten times the usual, for a machine that is busy."""

LINKS_ON_PAPER = """document.querySelectorAll("a[href]").forEach((link) => {
    if (link.protocol !== "file:") return;
    const here = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (here) link.setAttribute("href", link.hash);
    else link.removeAttribute("href");
})"""
"""Script that rewrites links to other pages as links within this one, and drops those without a target.

A PDF has no other pages, but Sphinx links to files.
"""


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

    `found`: the path from `chromium`.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"], timeout=PATIENCE
        )
        browser.on("context", lambda context: context.set_default_timeout(PATIENCE))
        yield browser
        browser.close()


def print_pdf(page: Path, target: Path, *, sheet: bool = False) -> int:
    """Print a page with a Chromium, all folded parts open. Returns the number of sheets of paper.

    `sheet`: for a page made to fit on one sheet: small margins, no page number, no outline.

    Raises:
        FileNotFoundError: if the page is not built, or there is no Chromium.
    """
    browser_path = chromium()
    if browser_path is None or not page.is_file():
        raise FileNotFoundError(f"{page} and a Chromium are needed; Chromium is {browser_path}")
    edge = "9mm" if sheet else "18mm"
    with opened(browser_path) as browser, files.atomic(target) as temporary:
        tab = browser.new_page()
        tab.goto(page.resolve().as_uri(), wait_until="load")
        tab.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
        if not sheet:  # the marks of sheets are among the pages of the whole book
            tab.evaluate("document.querySelectorAll('.sheet').forEach((mark) => mark.remove())")
        tab.evaluate(LINKS_ON_PAPER)
        tab.pdf(
            path=temporary, format="A4", print_background=True, outline=not sheet, tagged=True,
            scale=1 if sheet else 0.75, display_header_footer=not sheet, header_template="<span></span>",
            footer_template=_FOOTER,
            margin={"top": edge, "bottom": edge, "left": "15mm", "right": "15mm"},
        )  # fmt: skip
        return temporary.read_bytes().count(b"/Type /Page\n")


def pdfs(root: Path, single: Path) -> dict[Path, int]:
    """Print the book as one page, and every sheet; returns the number of pages of each.

    `single`: the folder in which Jupyter Book built that one page.
    """
    build = root / "_build"
    for page in (single / "chapters").glob("*.html"):
        # It lies in the folder of the first chapter, but links from the top.
        shutil.copy(page, single / "book.html")
    book = build / "transformer-circuits.pdf"
    printed = {book: print_pdf(single / "book.html", book)}
    for name in SHEETS:
        target = build / f"{Path(name).name}.pdf"
        printed[target] = print_pdf(build / "html" / f"{name}.html", target, sheet=True)
    return printed
