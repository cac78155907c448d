"""Cross-references between pages: a Sphinx extension.

It lists all figures and all exercises, shows a figure on another page by its title, and links what
the glossary explains (see `terms`).
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_subtitle, solution_node

from transformer_circuits.figures.html import captioned
from transformer_circuits.website import gallery, terms

FIGURE = re.compile(
    r'<figure id="([^"]+)"[^>]*><figcaption[^>]*>(.*?)</figcaption>(.*?)</figure>', re.DOTALL
)
"""What `figures.html.captioned` writes."""
KINDS = ("figures", "exercises")
PICTURE = re.compile(r'<div class="circuit-plot".*?</svg></div>', re.DOTALL)
LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Found:
    """A figure or an exercise of a page."""

    id: str
    title: str
    picture: str = ""
    """HTML of a figure's drawing; empty for what needs a script to be seen."""
    small: tuple[bytes, str] | None = None
    """The figure in the index of figures, see `gallery.small`."""
    note: str = ""
    """The level and the minutes of an exercise."""


class index_of(nodes.General, nodes.Element):  # noqa: N801 (docutils names nodes so)
    """Placeholder for an index, replaced when all pages are read."""


class chapter_figure(nodes.General, nodes.Element):  # noqa: N801
    """Placeholder for a figure of another page."""


class IndexOf(SphinxDirective):
    """`{index-of} figures` or `{index-of} exercises`: all of the book, by chapter."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [index_of(kind=directives.choice(self.arguments[0], KINDS))]


class ChapterFigure(SphinxDirective):
    """`{chapter-figure} page`, with the figure's title as content."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        _, page = self.env.relfn2path(self.arguments[0])
        docname = self.env.path2doc(page) or self.arguments[0]
        node = chapter_figure(page=docname, title=" ".join(self.content))
        self.set_source_info(node)
        return [node]


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.add_directive("index-of", IndexOf)
    app.add_directive("chapter-figure", ChapterFigure)
    app.connect("doctree-read", _collect)
    app.connect("env-purge-doc", lambda app, env, docname: _found(env).pop(docname, None))
    app.connect("env-merge-info", lambda app, env, docs, other: _found(env).update(_found(other)))
    app.connect("doctree-resolved", _resolve)
    return {"parallel_read_safe": True}


def _found(env) -> dict[str, dict[str, list[Found]]]:
    """The figures and exercises of every page that has been read, in their order."""
    if not hasattr(env, "book_found"):
        env.book_found = {}
    return env.book_found


def figures(text: str) -> list[Found]:
    """The figures in HTML that a cell has put out."""
    found = []
    for name, title, body in FIGURE.findall(text):
        picture = PICTURE.search(body) if "circuit-view" not in body else None
        shown = picture[0] if picture else ""
        found.append(Found(name, html.unescape(title), shown, gallery.small(body)))
    return found


def _exercises(doctree) -> Iterator[Found]:
    for node in doctree.findall(exercise_enumerable_node):
        title = next(node.findall(exercise_subtitle)).astext()
        level = next(n.astext() for n in node.findall(nodes.emphasis) if n.astext()[0] in "●○")
        yield Found(node["label"], title, note=level)


def _collect(app, doctree) -> None:
    shown = [figure for raw in doctree.findall(nodes.raw) for figure in figures(raw.astext())]
    names = [figure.id for figure in shown]
    for name in sorted({name for name in names if names.count(name) > 1}):
        LOGGER.warning("two figures have the id %s", name, location=app.env.docname)
    for node in doctree.findall(
        lambda node: isinstance(node, (exercise_enumerable_node, solution_node))
    ):
        for content in node.findall(nodes.section):  # else all on a page have the same id
            content["ids"] = [f"{node['label']}-content"]
    here = {"figures": shown, "exercises": list(_exercises(doctree))}
    _found(app.env)[app.env.docname] = here


def _resolve(app, doctree, docname: str) -> None:
    for node in list(doctree.findall(index_of)):
        node.replace_self(_listed(app, docname, node["kind"]))
    for node in list(doctree.findall(chapter_figure)):
        node.replace_self(_shown(app, node))
    if app.builder.name == "html" and not docname.startswith(terms.PAGES_WITHOUT):
        terms.link(app, doctree, docname)


def _listed(app, docname: str, kind: str) -> list[nodes.Node]:
    """The title of every page that has some, each with the list of them."""
    env, entries = app.env, []
    for page in sorted(_found(env)):
        items = []
        for found in _found(env)[page][kind]:
            link = terms.reference(app, docname, page, found.id, found.title)
            if found.small and app.builder.name == "html":
                name = f"{page.rpartition('/')[2]}-{found.id}"
                address = gallery.write(Path(app.outdir), name, found.small)
                up = "../" * docname.count("/")
                picture = f'<img src="{up}{address}" alt="" loading="lazy">'
                link.insert(0, nodes.raw("", picture, format="html"))
            note = nodes.Text(f" {found.note}" if found.note else "")
            items.append(nodes.list_item("", nodes.paragraph("", "", link, note)))
        if items:
            title = nodes.strong("", env.titles[page].astext())
            entries += [nodes.paragraph("", "", title)]
            entries += [nodes.bullet_list("", *items, classes=[f"index-of-{kind}"])]
    return entries


def _shown(app, node: chapter_figure) -> list[nodes.Node]:
    """The picture under its title."""
    here = _found(app.env).get(node["page"], {"figures": []})["figures"]
    for figure in here:
        if figure.title == node["title"] and figure.picture:
            shown = captioned(figure.title, figure.picture)
            return [nodes.raw("", shown, format="html")]
    titles = [figure.title for figure in here if figure.picture]
    LOGGER.warning(
        '%s has no figure "%s" but %s', node["page"], node["title"], titles, location=node
    )
    return []
