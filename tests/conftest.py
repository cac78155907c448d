"""Models of pairwise different prime sizes, so that no swapped axis can pass unnoticed."""

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
import torch
import yaml

from transformer_circuits import files
from transformer_circuits.book import dependencies, notebooks
from transformer_circuits.claims import catalogue
from transformer_circuits.claims.claim import Claim
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.training.config import TrainConfig

ROOT = Path(__file__).parents[1]
HTML = ROOT / "_build" / "html"
PATIENCE = 300_000
"""Most milliseconds of one action in a browser: ten times the usual, for a machine that is busy."""
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PAGES = [
    TOC["root"],
    *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]),
    "search",
    "genindex",
]
SHAPE = ModelConfig(
    n_layers=2, n_heads=5, d_model=14, d_head=3, n_vocab=17, n_ctx=11, position_base=100.0
)
PLAN = TrainConfig(
    seed=3,
    steps=6,
    batch=4,
    lr_embed=0.01,
    lr_attention=0.02,
    warmup_steps=2,
    decay_from=0.5,
    corpus="small",
)


@contextmanager
def full_disk(n_bytes=100):
    """Inside, no file can grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(7)


@pytest.fixture
def model(generator):
    """A two-layer model with random weights in float64."""
    model = Transformer(SHAPE).double().requires_grad_(False)
    model.randomise(generator=generator)
    return model


@pytest.fixture
def tokens(generator):
    return torch.randint(SHAPE.n_vocab, (2, 7), generator=generator)


@pytest.fixture
def subject(model, generator):
    """What rules are tried on: random weights, and a text of twenty documents."""
    from transformer_circuits.claims.subjects import Subject
    from transformer_circuits.text import tokenizer

    text = torch.randint(1, model.config.n_vocab, (400,), generator=generator)
    text[::20] = tokenizer.BEGIN
    return Subject("small", model, text)


@pytest.fixture(scope="session")
def built():
    """The induction circuit set by hand, on random tokens that come twice."""
    from transformer_circuits.claims import controls
    from transformer_circuits.claims.subjects import Subject
    from transformer_circuits.model import hand_built

    nothing = Subject("", hand_built.induction(n_vocab=2, n_ctx=3), torch.zeros(2).long())
    return controls.built_induction(nothing)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with the modules `one` (which imports `two`), `two` and `other`; writes chapters."""
    package = tmp_path / "src" / "house"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("def f():\n    from house import two\n    return two.x\n")
    (package / "two.py").write_text("x = 2\n")
    (package / "other.py").write_text("y = 1\n")
    for name in ("chapters", "data/models/m"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "data" / "corpus.toml").write_text("")
    (tmp_path / "data" / "claims.toml").write_text("")
    (tmp_path / "data" / "models" / "m" / "config.toml").write_text("")
    monkeypatch.setattr(files, "data_dir", lambda: tmp_path / "data")
    monkeypatch.setattr(dependencies, "_SOURCE", tmp_path / "src")
    monkeypatch.setattr(notebooks, "CHAPTERS", "*.ipynb")
    rows = {
        name: Claim(
            id=name, source="paper", kind=kind, section="Model Details", statement="it holds",
            reported="1", rule="must hold", chapter=where,
        )
        for name, kind, where in (
            ("first", "identity", "x"), ("second", "trained", "x"), ("far", "trained", ""),
        )
    }  # fmt: skip
    monkeypatch.setattr(catalogue, "claims", lambda: rows)

    def written(chapter, *cells, prose="prose"):
        code = [nbformat.v4.new_code_cell(cell, id=f"c{i}") for i, cell in enumerate(cells)]
        whole = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(prose), *code])
        nbformat.write(whole, notebooks.path(chapter))
        return tmp_path

    return written


def pytest_xdist_make_scheduler(config, log):
    """With `--dist loadscope`, the tests of a page run in one process: else several would open it.

    A group of xdist's own would do, but with pytest 9.2 xdist 3.8 forms none (its issue 1386).
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByPage(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            parameter = nodeid.partition("[")[2][:-1]
            return parameter if parameter in PAGES else super()._split_scope(nodeid)

    return ByPage(config, log) if config.getvalue("dist") == "loadscope" else None


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window, for tests marked `browser`.

    All that they wait for is given the same time here, ten times the usual. Where there is none they are skipped, unless `REQUIRE_BROWSER` is set, as it is in continuous
    integration.
    """
    from playwright.sync_api import expect, sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("REQUIRE_BROWSER is set but there is no Chromium")
        pytest.skip("no Chromium here: install Debian's package chromium to run these tests")
    expect.set_options(timeout=PATIENCE / 6)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"], timeout=PATIENCE
        )
        browser.on("context", lambda context: context.set_default_timeout(PATIENCE))
        yield browser
        browser.close()


def watch(page) -> None:
    """Write into `page.wrong` every error that is not caught, is logged, or is a file not found.

    The page is that of a reader who always wants to see everything: no figure waits for a guess.
    """
    page.wrong = []
    page.add_init_script("try { localStorage.setItem('guessing', 'off') } catch {}")
    page.on("pageerror", lambda error: page.wrong.append(error.message))
    page.on("console", lambda said: said.type != "error" or page.wrong.append(said.text))
    # What a page asked for when it was left for another is broken off, and nothing is wrong.
    page.on(
        "requestfailed",
        lambda request: (
            request.failure == "net::ERR_ABORTED" or page.wrong.append(f"failed: {request.url}")
        ),
    )


def barriers(page, context=None, only=()) -> list[tuple[str, str, str]]:
    """What axe calls serious or critical, or an empty head of a column, on a page or in a part of it.

    With `only`, by these rules.
    """
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate(Axe().axe_script)
    # To describe all that is right would take as long, and a page from a file may load none to look at.
    options = {"resultTypes": ["violations"], "preload": False}
    options["rules"] = {"region": {"enabled": False}}  # slow, and moderate: it would not count
    options |= {"runOnly": only} if only else {}
    violations = page.evaluate(
        "async ([context, options]) => (await axe.run(context ?? document, options)).violations",
        [context, options],
    )
    return [
        (violation["id"], node["html"][:120], node["failureSummary"].splitlines()[-1])
        for violation in violations
        if violation["impact"] in ("serious", "critical") or violation["id"] == "empty-table-header"
        for node in violation["nodes"]
    ]


def ready(page) -> None:
    """Wait until what moves is drawn, in the faces that it is to have."""
    for waiting in (
        ".the-stage .moving:not(.the-stage[data-ready] *)",
        "[data-train-here]:not([data-ready])",
        ".circuit-view:not([role=group])",
        "[data-awaits]:not([data-awaits='0'])",
    ):
        page.wait_for_selector(waiting, state="detached")
    painted(page)


@pytest.fixture(scope="session")
def reader(browser):
    """Who opens one page of the book after the other; to be somebody new costs as much as a short page."""
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture(params=PAGES, scope="session")
def opened(reader, request):
    """A page of the built book, opened once for all tests of it in all modules, which leave it as it was.

    What moves is drawn; `wrong` says what went wrong, `name` which page it is.
    """
    if not (HTML / "index.html").is_file():
        pytest.fail(f"{HTML} is not built: run make book")
    page = reader.new_page()
    page.name = request.param
    watch(page)
    page.on("request", lambda request: page.wrong.append(f"asked for {request.url}"))
    page.goto((HTML / f"{request.param}.html").as_uri(), wait_until="load")
    ready(page)
    yield page
    page.close()


def painted(page) -> None:
    """Wait until a change is laid out and drawn, and what follows that in the next frames as well.

    Words of a face that the change is the first to ask for are of another size until it has come.
    """
    page.evaluate("""async () => {
        for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
        await document.fonts.ready;
    }""")


def resized(page, width, height=844) -> None:
    """Give a page this size, and wait until all of it has it."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function("(width) => innerWidth === width", arg=width)
    painted(page)


def arrived(page) -> None:
    """What is on its way is where it goes."""
    page.evaluate("() => document.getAnimations().forEach((one) => one.finish())")


def at_every_width(page, widths, **media) -> Iterator[int]:
    """The page as wide as each of them; then as it was."""
    size = page.viewport_size
    page.emulate_media(**media)
    for width in widths:
        resized(page, width)
        arrived(page)  # side bars glide to their new places
        yield width
    page.emulate_media(media="screen", color_scheme="light")
    resized(page, **size)  # and what printing made light has its own theme again


SITE = "http://book.test"


def serve(page, folder) -> str:
    """Gives a page a folder's files under an address, and returns it. What is kept by a page from a file
    is missing in about one of forty reloads in Chromium 156, so a test of what is kept needs this."""
    page.route(
        f"{SITE}/**",
        lambda route: route.fulfill(path=folder / urlsplit(route.request.url).path.lstrip("/")),
    )
    return SITE


@pytest.fixture
def watched(browser):
    """An empty page that fails the test if anything goes wrong on it or leaves the machine."""
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    watch(page)
    page.on(
        "request",
        lambda request: (
            request.url.startswith(("file:", "data:", "blob:", "about:", SITE))
            or page.wrong.append(f"asked for {request.url}")
        ),
    )
    yield page
    page.close()
    assert page.wrong == []


@pytest.fixture(autouse=True)
def in_a_build(monkeypatch, request):
    """Cells that a test runs stop at a check that fails, as in a build; a browser shows what stands alone."""
    if request.node.get_closest_marker("browser") is None:
        monkeypatch.setenv(files.IN_BOOK, "1")


@pytest.fixture
def in_a_notebook(in_a_build, monkeypatch):
    """As where a reader runs the cells."""
    monkeypatch.delenv(files.IN_BOOK, raising=False)


def view_page(view, tmp_path):
    """The address of a page with a view, which brings all that it needs."""
    body = view._repr_mimebundle_()[0]["text/html"]
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>A view</title>'
    page = tmp_path / "view.html"
    page.write_text(f"{head}<body>{body}</body></html>", encoding="utf-8")
    return page.as_uri()


@pytest.fixture
def saved(watched, tmp_path, in_a_notebook):
    """Opens a view."""

    def open_it(view):
        watched.goto(view_page(view, tmp_path))
        watched.wait_for_selector(".circuit-view[role=group]")
        return watched

    return open_it
