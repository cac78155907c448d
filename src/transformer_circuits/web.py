"""What the built book needs in the browser: a Sphinx extension that serves everything itself.

Each script is loaded only by the pages that use it; `tests/test_built_book.py` holds their weight.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from transformer_circuits import checkpoint, drawing, files, packed

MODULES = files.data_dir().parent / "node_modules"
"""Where npm put what `package.json` names."""
NEEDED_BY = {
    'class="circuit-view': ("book/views.js",),
    'class="hover-chart': ("vendor/vega.min.js", "book/charts.js"),
    "data-live-model": (
        "vendor/tokenizers.js",
        "live/vocabulary.js",
        "live/two-layer.js",
        "book/views.js",
        "book/model.js",
        "book/live.js",
    ),
}
"""Scripts, below `_static/`, of every page that contains a mark."""
LIVE_MODELS = "two-layer", "one-layer"
"""The models of the live page; the first comes with it, the others when asked for."""


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    # The kernels of the build inherit it: outputs then leave out the scripts that pages load.
    os.environ[drawing.IN_BOOK] = "1"
    app.connect("builder-inited", _serve)
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": True}


def _serve(app) -> None:
    """Copy scripts, styles and fonts into the built book.

    Raises:
        FileNotFoundError: if npm has not fetched them.
    """
    if app.builder.format != "html":
        return
    if not MODULES.is_dir():
        raise FileNotFoundError(f"{MODULES} is missing: `make book` fetches it")
    static = Path(app.outdir) / "_static"
    katex = MODULES / "katex" / "dist"
    wanted = {
        MODULES / "vega" / "build" / "vega.min.js": "vendor",
        katex / "katex.min.css": "vendor/katex",
        **{font: "vendor/katex/fonts" for font in (katex / "fonts").glob("*.woff2")},
        **{script: "book" for script in drawing.ASSETS.glob("*.js")},
    }
    for source, folder in wanted.items():
        (static / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(source, static / folder)
    for name, text in _written():
        with files.atomic(static / name) as temporary:
            temporary.write_text(text, encoding="utf-8")


def _written() -> Iterator[tuple[str, str]]:
    """Scripts that are made here: pages opened from a file can load scripts, but no data."""
    tokenizers = MODULES / "@huggingface" / "tokenizers" / "dist" / "tokenizers.min.cjs"
    code = tokenizers.read_text(encoding="utf-8")
    wrapped = f"(function(){{const exports={{}},module={{exports}};{code};globalThis.HFTokenizers=module.exports}})();"
    yield "vendor/tokenizers.js", wrapped
    yield "live/vocabulary.js", f"globalThis.CIRCUIT_VOCABULARY={packed.vocabulary()};"
    for name in LIVE_MODELS:
        weights = packed.dumps(checkpoint.load(name))
        yield f"live/{name}.js", f'(globalThis.CIRCUIT_MODELS??={{}})["{name}"]={weights};'


def _load(app, pagename, templatename, context, doctree) -> None:
    """Add the scripts that this page needs, and only those."""
    for mark, scripts in NEEDED_BY.items():
        if mark in context.get("body", ""):
            for script in scripts:
                app.add_js_file(script, loading_method="defer")
