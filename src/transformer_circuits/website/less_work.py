"""Sphinx extension: a build takes half the time, as less is done anew for each page; none is another.

A profile of a build showed three things that cost more than half of it: the collector of garbage looks
through all pages again and again, the bar at the side is made of copies of the contents of every page
down to the last function, and the extension that makes tips takes whole pages apart, figures too.
"""

import gc
import re
from functools import partial

LEADS_TO_TIP = re.compile(
    r'<a [^>]*#(?:term-|equation-|id\d)[^>]*>|<div class="math[^>]*id="equation-.*?</div>',
    re.DOTALL,
)
"""What a page has a tip for, and an equation, which is one; see `tippy_skip_urls` in `_config.yml`."""
EXPLAINED = ('id="term-', 'class="citation"')
"""What is on the pages that explain terms and works cited: these are read as a whole."""


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    gc.set_threshold(20_000, 50, 100)
    _connect(app)
    return {"parallel_read_safe": True}


def _connect(app) -> None:
    app.connect("html-page-context", _titles_alone, priority=100)
    app.connect("html-page-context", _lend, priority=449)  # sphinx_tippy reads the page at 450
    app.connect("html-page-context", _give_back, priority=451)


def _titles_alone(app, pagename, templatename, context, doctree) -> None:
    context["toctree"] = partial(of_titles, app.env, context["toctree"])


def of_titles(env, toctree, **options) -> str:
    """What `toctree` makes while every page says that nothing below its title is to be listed."""
    before = {page: dict(env.metadata[page]) for page in env.found_docs}
    try:
        for page in before:
            env.metadata[page]["tocdepth"] = 1
        return toctree(**options)
    finally:
        env.metadata.update(before)


def with_tips(body: str) -> str:
    """The parts of a page that tips belong to or are made of."""
    whole = any(mark in body for mark in EXPLAINED)
    return body if whole else "".join(LEADS_TO_TIP.findall(body))


def _lend(app, pagename, templatename, context, doctree) -> None:
    if doctree is not None:
        context["whole_body"] = context["body"]
        context["body"] = with_tips(context["body"])


def _give_back(app, pagename, templatename, context, doctree) -> None:
    if doctree is not None:
        context["body"] = context.pop("whole_body")
