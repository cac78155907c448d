"""What search engines and chats show of a page: its title and its first sentences."""

import html

from docutils import nodes

LONGEST = 200
"""Of a description; more is cut off wherever it is shown. [characters]"""
SITE = "Transformer Circuits, Executed"


def summary(doctree: nodes.document) -> str:
    """The first paragraph of a page in plain words, cut after a whole word; empty without one."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > LONGEST:
            text = text[:LONGEST].rsplit(" ", 1)[0].rstrip(",;:.") + " …"
        return text
    return ""


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
    if doctree is not None and (description := summary(doctree)):
        title = nodes.Text(context.get("title", SITE)).astext()
        context["metatags"] = context.get("metatags", "") + tags(title, description)


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.connect("html-page-context", _describe)
    return {"parallel_read_safe": True}
