"""Links from the first mention of a glossary term in each section to its entry, with its meaning as a tip.

Terms need no markup, so notebooks stay readable without Sphinx.
"""

import re
from collections.abc import Iterator, Mapping

from docutils import nodes

NOT_IN = (
    nodes.reference, nodes.literal, nodes.literal_block, nodes.title, nodes.math, nodes.raw,
    nodes.block_quote, nodes.table, nodes.term,
)  # fmt: skip
"""Nodes in which terms are not linked: links, code, titles, quotations, and tables, whose cells are
narrow.
"""
PAGES_WITHOUT = (
    "chapters/reference/api", "chapters/reference/bibliography",
    "seminar/",
)  # fmt: skip
"""Prefixes of pages on which no term is linked."""
ONCE_A_PAGE = {
    "head", "logit", "source", "destination", "window", "seed", "edge", "control",
    "board", "note", "note-taker", "finder", "re-coder",
}  # fmt: skip
"""Terms so frequent that only their first mention on a page is linked."""


def reference(app, docname: str, page: str, anchor: str, text: str) -> nodes.reference:
    """Link from one page to a place on another."""
    uri = f"{app.builder.get_relative_uri(docname, page)}#{anchor}"
    return nodes.reference("", text, internal=True, refuri=uri)


def key(term: str) -> str:
    """Key by which a term is looked up: in lower case, unless it is all capitals, as BEGIN is."""
    return term if term.isupper() else term.lower()


def glossary(env) -> dict[str, tuple[str, str]]:
    """Page and anchor of every term of the glossary, by its `key`."""
    entries = env.get_domain("std").get_objects()
    return {
        key(name): (page, anchor) for name, _, kind, page, anchor, _ in entries if kind == "term"
    }


def meanings(glossary_page: nodes.Element) -> dict[str, str]:
    """First sentence of each definition, by the anchor of its term; without those that need a formula."""
    by_anchor = {}
    for item in glossary_page.findall(nodes.definition_list_item):
        definition = next(item.findall(nodes.definition)).astext()
        sentence = re.split(r"(?<=[.?!])\s", " ".join(definition.split()), maxsplit=1)[0]
        if "\\" not in sentence:
            by_anchor |= {id: sentence for term in item.findall(nodes.term) for id in term["ids"]}
    return by_anchor


def _meanings(app) -> dict[str, str]:
    """Meanings in the book's glossary, read once in a build."""
    if not hasattr(app, "book_meanings"):
        pages = {page for page, _ in glossary(app.env).values()}
        app.book_meanings = {}
        for page in pages:
            app.book_meanings |= meanings(app.env.get_doctree(page))
    return app.book_meanings


def pattern(terms: Mapping[str, object]) -> re.Pattern:
    """Pattern of a term as a word by itself, singular or plural; of two, the longer one.

    A term in capitals is found in capitals alone: "begins" is a verb, and no BEGIN token.
    """
    longest_first = sorted(terms, key=len, reverse=True)
    either = (
        re.escape(term) if term.isupper() else f"(?i:{re.escape(term)})" for term in longest_first
    )
    return re.compile(rf"(?<![\w-])({'|'.join(either)})s?(?![\w-])")


def link(app, doctree, docname: str) -> None:
    """Link the terms on a page that is not the glossary's own."""
    terms = {term: place for term, place in glossary(app.env).items() if place[0] != docname}
    if not terms:
        return
    expression, seen, means = pattern(terms), set(), _meanings(app)
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
            made = reference(app, docname, *terms[term], match[0])
            made["classes"].append("term")
            made["reftitle"] = means.get(terms[term][1], "")
            parts.append(made)
            end = match.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text.astext()[end:])])


def _above(node: nodes.Node) -> Iterator[nodes.Node]:
    while node := node.parent:
        yield node


def prose(doctree) -> Iterator[nodes.Text]:
    """Pieces of text in a paragraph, but where terms are not linked."""
    for text in doctree.findall(nodes.Text):
        above = list(_above(text))
        if any(isinstance(n, nodes.paragraph) for n in above) and not any(
            isinstance(n, NOT_IN) for n in above
        ):
            yield text
