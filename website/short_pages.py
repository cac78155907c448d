"""Sphinx extension: pages of the short book, each figure beside the words that it belongs to.

A page that opens with a question, in a container `lead`, is one of them. It has no bars at its
sides: one line above shows its number, and links to the contents, its evidence, and the next page.
"""

from docutils import nodes

from transformer_circuits.book import notebooks

SHOWN = ("<figure", "<table", "circuit-view")
"""Marks of an output that stands beside the text; a stage has the full width."""
STAGE = "the-stage"
"""Mark of the output of a stage, which needs the full width."""
STEP = 'class="step"'
"""Mark of the output of a paragraph that sets the stage: it counts as words."""
CHECKED = 'class="claim'
"""Mark of an output that tells of a check: it stands below the figure before it."""
LAST = "Try to break it"
"""Title of a section whose parts stand side by side."""


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.connect("doctree-resolved", _lay_out)
    app.connect("html-page-context", _lead_on)
    return {"parallel_read_safe": True}


def _is_short(doctree: nodes.document | None) -> bool:
    return doctree is not None and any(map(_is_lead, doctree.findall(nodes.container)))


def _is_lead(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "lead" in node["classes"]


def _lay_out(app, doctree: nodes.document, docname: str) -> None:
    if app.builder.name != "html" or not _is_short(doctree):
        return
    for section in list(doctree.findall(nodes.section)):
        children = list(section.children)
        section.clear()
        ends = children[0].astext() == LAST
        section.extend(ending(children) if ends else rows(children))


def rows(children: list[nodes.Node]) -> list[nodes.Node]:
    """Contents of a section, with each figure in a row beside the words around it.

    All words before the first figure stand beside it; before a later one, the last paragraph does.
    The words after it stand beside it, too, up to the next. A figure without words of its own
    stands below the one before it, and so does a table with one paragraph: else a hole would be
    beside the first. Where there is no room beside it, the first figure of the page comes right
    after the question. Titles, stages and sections below this one have the full width.
    """
    laid: list[nodes.Node] = []
    words: list[nodes.Node] = []
    row: nodes.container | None = None

    def close() -> None:
        nonlocal row
        if row is not None:
            row += nodes.container("", *words, classes=["words"])
        else:
            laid.extend(words)
        row = None
        words.clear()

    for child in children:
        if isinstance(child, (nodes.title, nodes.section)) or _is_wide(child):
            close()
            laid.append(child)
        elif _is_figure(child):
            rest, before, after = _around(words, first=row is None)
            if row is not None and not rest and (not before or SHOWN[0] not in _html(child)):
                row[1] += child
                continue
            words[:] = rest
            close()
            row = nodes.container(
                "",
                nodes.container("", *before, classes=["words"]),
                nodes.container("", child, classes=["shown"]),
                classes=["beside"],
            )
            laid.append(row)
            words.extend(after)
        elif row is not None and CHECKED in _html(child):
            row[1] += child
        else:
            words.append(child)
    close()
    return laid


def ending(children: list[nodes.Node]) -> list[nodes.Node]:
    """End of a page: things to try, the exercise, and the way on, as parts side by side."""
    title, *rest = children
    parts: list[nodes.Node] = []
    was_words = None
    for child in rest:
        words = isinstance(child, (nodes.paragraph, nodes.bullet_list))
        if words != was_words:
            parts.append(nodes.container())
        parts[-1] += child
        was_words = words
    return [title, nodes.container("", *parts, classes=["ending"])]


def _around(words: list[nodes.Node], first: bool) -> tuple[list[nodes.Node], ...]:
    """Words before a figure, in three groups: those of the row before, those before it, those after it.

    Before a later figure comes the last paragraph with the code without output that follows it.
    """
    if first:
        k = 1 if words and _is_lead(words[0]) else len(words)
        return [], words[:k], words[k:]
    for k in reversed(range(len(words))):
        if isinstance(words[k], nodes.paragraph) or STEP in _html(words[k]):
            return words[:k], words[k:], []
        if _html(words[k]) or "cell" not in words[k].get("classes", []):
            break
    return words[:], [], []


def _html(node: nodes.Node) -> str:
    return "".join(raw.astext() for raw in node.findall(nodes.raw))


def _is_wide(node: nodes.Node) -> bool:
    return STAGE in _html(node)


def _is_figure(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and any(mark in _html(node) for mark in SHOWN)


def _lead_on(app, pagename, templatename, context, doctree) -> None:
    """Give the template of a page of the short book its number, and the link to its evidence."""
    name = pagename.rpartition("/")[2]
    if name not in notebooks.SHORT or not _is_short(doctree):
        return
    evidence = [
        link["refuri"]
        for paragraph in doctree.findall(nodes.paragraph)
        if paragraph.astext().startswith("The evidence")
        for link in paragraph.findall(nodes.reference)
    ]
    context["short"] = {
        "number": notebooks.SHORT.index(name) + 1,
        "of": len(notebooks.SHORT),
        "evidence": next(iter(evidence), ""),
    }
