"""Summaries of a page for other places: its title and first sentences, and its text for the search.

A page opened from a file cannot read others, so the page of the search loads the text of all as one
script.
"""

import html
from pathlib import Path

from docutils import nodes

from transformer_circuits import files

LONGEST = 200
"""Most characters of a description; more would be cut off wherever it is shown."""
SITE = "Transformer Circuits, Executed"
TEXTS = "search/texts.js"
"""Script with the texts of all pages, below `_static/`."""


def summary(doctree: nodes.document) -> str:
    """First paragraph of a page in plain words, cut after a complete word; empty without one."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > LONGEST:
            text = text[:LONGEST].rsplit(" ", 1)[0].rstrip(",;:.") + " …"
        return text
    return ""


def text(doctree: nodes.document) -> str:
    """Prose of a page, for excerpts: paragraphs, lists and definitions, without code and tables."""
    prose = (
        " ".join(node.astext().split())
        for node in doctree.findall(nodes.TextElement)
        if isinstance(node, (nodes.paragraph, nodes.term))
    )
    return " ".join(filter(None, prose))


def tags(title: str, description: str) -> str:
    """The `meta` elements for a page's head; those for chats by the Open Graph protocol.

    There is no picture and no address among them: both need to know where the book is published.
    """
    named = {"name": {"description": description}}
    named["property"] = {
        "og:title": title,
        "og:description": description,
        "og:type": "article",
        "og:site_name": SITE,
    }
    return "".join(
        f'<meta {kind}="{name}" content="{html.escape(content)}" />\n'
        for kind, pairs in named.items()
        for name, content in pairs.items()
    )


def _describe(app, pagename, templatename, context, doctree) -> None:
    if doctree is not None and "nosearch" not in (context.get("meta") or {}):
        app.book_texts[pagename] = text(doctree)
    if doctree is not None and (description := summary(doctree)):
        title = nodes.Text(context.get("title", SITE)).astext()
        context["metatags"] = context.get("metatags", "") + tags(title, description)


def _write_texts(app, exception) -> None:
    if exception is None and app.builder.name == "html":
        held = files.as_json(app.book_texts, ensure_ascii=False, sort_keys=True)
        with files.atomic(Path(app.outdir) / "_static" / TEXTS) as temporary:
            temporary.write_text(f"Book.texts = {held};\n", encoding="utf-8")


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.book_texts = {}
    app.connect("html-page-context", _describe)
    app.connect("build-finished", _write_texts)
    return {"parallel_read_safe": True}
