"""Cross-references between pages: a Sphinx extension.

It lists all figures and all exercises, shows a figure on another page by its title, and links the
first mention of a glossary term in each section to its entry. Terms need no markup, so notebooks
stay readable without Sphinx.
"""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_subtitle, solution_node

from transformer_circuits.figures.html import captioned

FIGURE = re.compile(
    r'<figure id="([^"]+)"[^>]*><figcaption[^>]*>(.*?)</figcaption>(.*?)</figure>', re.DOTALL
)
"""What `figures.html.captioned` writes."""
KINDS = ("figures", "exercises")
PICTURE = re.compile(r'<div class="circuit-plot".*?</svg></div>', re.DOTALL)
NO_TERMS_IN = (
    nodes.reference, nodes.literal, nodes.literal_block, nodes.title, nodes.math, nodes.raw,
    nodes.block_quote, nodes.table, nodes.term,
)  # fmt: skip
"""Where terms are not linked: in links, code, titles, quotations, and tables, whose cells are narrow."""
NO_TERMS_ON = (
    "chapters/reference/api", "chapters/reference/bibliography", "chapters/reference/figures",
    "seminar/",
)  # fmt: skip
"""Prefixes of pages on which no term is linked."""
ONCE_A_PAGE = {"head", "logit", "source", "destination", "window", "seed", "edge", "control"}
"""Terms so frequent that only their first mention on a page is linked."""
LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Found:
    """A figure or an exercise of a page."""

    id: str
    title: str
    picture: str = ""
    """HTML of a figure's drawing; empty for what needs a script to be seen."""
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


class Repository(SphinxRole):
    """`{repository}`, whatever its text: the address that `_config.yml` names, written out."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        address = self.config.html_theme_options["repository_url"]
        # As code: the theme shortens addresses that stand for themselves, and on paper that is no use.
        return [nodes.reference("", "", nodes.literal("", address), refuri=address)], []


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.add_directive("index-of", IndexOf)
    app.add_directive("chapter-figure", ChapterFigure)
    app.add_role("repository", Repository())
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
        found.append(Found(name, html.unescape(title), picture[0] if picture else ""))
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
    if app.builder.name == "html" and not docname.startswith(NO_TERMS_ON):
        _link_terms(app, doctree, docname)


def _reference(app, docname: str, page: str, anchor: str, text: str) -> nodes.reference:
    uri = f"{app.builder.get_relative_uri(docname, page)}#{anchor}"
    return nodes.reference("", text, internal=True, refuri=uri)


def _listed(app, docname: str, kind: str) -> list[nodes.Node]:
    """The title of every page that has some, each with the list of them."""
    env, entries = app.env, []
    for page in sorted(_found(env)):
        items = []
        for found in _found(env)[page][kind]:
            link = _reference(app, docname, page, found.id, found.title)
            note = nodes.Text(f" {found.note}" if found.note else "")
            items.append(nodes.list_item("", nodes.paragraph("", "", link, note)))
        if items:
            title = nodes.strong("", env.titles[page].astext())
            entries += [nodes.paragraph("", "", title), nodes.bullet_list("", *items)]
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


def key(term: str) -> str:
    """What a term is looked up by: in lower case, unless it is all capitals, as BEGIN is."""
    return term if term.isupper() else term.lower()


def glossary(env) -> dict[str, tuple[str, str]]:
    """The page and anchor of every term of the glossary, by its `key`."""
    entries = env.get_domain("std").get_objects()
    return {
        key(name): (page, anchor) for name, _, kind, page, anchor, _ in entries if kind == "term"
    }


def pattern(terms: Mapping[str, object]) -> re.Pattern:
    """Finds a term as a word by itself, singular or plural; of two, the longer one.

    A term in capitals is found in capitals alone: "begins" is a verb, and no BEGIN token.
    """
    longest_first = sorted(terms, key=len, reverse=True)
    either = (
        re.escape(term) if term.isupper() else f"(?i:{re.escape(term)})" for term in longest_first
    )
    return re.compile(rf"(?<![\w-])({'|'.join(either)})s?(?![\w-])")


def _link_terms(app, doctree, docname: str) -> None:
    terms = {term: place for term, place in glossary(app.env).items() if place[0] != docname}
    if not terms:
        return
    expression, seen = pattern(terms), set()
    for text in list(prose(doctree)):
        section = next((n for n in _above(text) if isinstance(n, nodes.section)), None)
        parts, end = [], 0
        for match in expression.finditer(text.astext()):
            term = match[1] if match[1] in terms else match[1].lower()
            mention = term, None if term in ONCE_A_PAGE else id(section)
            if mention in seen:
                continue
            seen.add(mention)
            parts.append(nodes.Text(text.astext()[end : match.start()]))
            link = _reference(app, docname, *terms[term], match[0])
            link["classes"].append("term")
            parts.append(link)
            end = match.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text.astext()[end:])])


def _above(node: nodes.Node) -> Iterator[nodes.Node]:
    while node := node.parent:
        yield node


def prose(doctree) -> Iterator[nodes.Text]:
    """Every piece of text in a paragraph, but where terms are not linked."""
    for text in doctree.findall(nodes.Text):
        above = list(_above(text))
        if any(isinstance(n, nodes.paragraph) for n in above) and not any(
            isinstance(n, NO_TERMS_IN) for n in above
        ):
            yield text
