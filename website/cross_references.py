"""Cross-references between pages: a Sphinx extension.

It lists all exercises, shows a figure on another page by its title, and links terms
of the glossary (see `glossary_links`).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_subtitle, solution_node

from transformer_circuits import files, record, stage
from transformer_circuits.book import notebooks
from transformer_circuits.figures.html import captioned, inline
from transformer_circuits.record import SVG
from website import glossary_links

IMPORTANCE = files.data_dir().parent / "seminar" / "exercises.toml"
IMPORTANT = {"path": "★ one of the five", "worth": "worth doing", "curious": "for the curious"}
"""Words on the importance of exercises, by the list they are in."""
MADE_OF_HTML = re.compile('class="circuit-drawings"')
"""Pattern of the HTML of a figure that is more than one picture."""
LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Found:
    """Figure or exercise of a page."""

    id: str
    title: str
    text: str = ""
    """Text alternative of a figure."""
    picture: bytes = b""
    """Picture of a figure, SVG or PNG; empty for one that needs a script to be seen."""
    kind: str = ""
    """Kind of the picture, as in `record.Record`."""
    note: str = ""
    """Level and minutes of an exercise."""
    shown: str = ""
    """HTML of a drawing, which has a layout for phones; else empty."""


class exercise_index(nodes.General, nodes.Element):  # noqa: N801 (docutils names nodes so)
    """Placeholder for the list of exercises, replaced when all pages are read."""


class chapter_figure(nodes.General, nodes.Element):  # noqa: N801
    """Placeholder for a figure of another page."""


class ExerciseIndex(SphinxDirective):
    """Directive `{exercise-index}`: all of the book, by chapter."""

    def run(self) -> list[nodes.Node]:
        return [exercise_index()]


class ChapterFigure(SphinxDirective):
    """Directive `{chapter-figure} page`, with the figure's title as content."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        _, page = self.env.relfn2path(self.arguments[0])
        docname = self.env.path2doc(page) or self.arguments[0]
        node = chapter_figure(page=docname, title=" ".join(self.content))
        self.set_source_info(node)
        return [node]


class Stage(SphinxDirective):
    """`{stage} title`, with a line of code as content: the stage in its state, as a chapter's cell puts it.

    `:mode:` is `live`, with a caret and panels below, or `slide`; `:opens:` as for `paragraphs.step`.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"mode": directives.unchanged_required, "opens": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        words = {name: getattr(stage, name) for name in ("two_layers", "one_layer", "zero_layers")}
        reading = eval(" ".join(self.content), words)
        stage.paragraphs.new_page()
        shown = stage.stage(reading, self.arguments[0], self.options.get("opens")).html
        mode = f' data-mode="{self.options["mode"]}" data-stage-strip'
        return [nodes.raw("", shown.replace(" data-stage-strip", mode, 1), format="html")]


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.add_directive("exercise-index", ExerciseIndex)
    app.add_directive("stage", Stage)
    app.add_directive("chapter-figure", ChapterFigure)
    app.connect("source-read", _collect_figures, priority=600)  # after `insert_outputs`
    app.connect("doctree-read", _collect)
    app.connect("env-purge-doc", lambda app, env, docname: _found(env).pop(docname, None))
    app.connect("env-merge-info", lambda app, env, docs, other: _found(env).update(_found(other)))
    app.connect("doctree-resolved", _resolve)
    return {"parallel_read_safe": True}


def _found(env) -> dict[str, dict[str, list[Found]]]:
    """Figures and exercises of every page that has been read, in their order."""
    if not hasattr(env, "book_found"):
        env.book_found = {}
    return env.book_found


def figures(notebook: Mapping) -> list[Found]:
    """Figures among the outputs of a notebook's cells."""
    listed = []
    for output in notebooks.outputs(notebook):
        held = record.of(output)
        if held and held["kind"] == "figure":
            shown = "".join(output["data"].get("text/html", ""))
            listed.append(
                Found(
                    held["id"], held["title"], held["text"], record.picture(output),
                    held["picture"], shown=shown if MADE_OF_HTML.search(shown) else "",
                )
            )  # fmt: skip
    return listed


def _exercises(doctree) -> Iterator[Found]:
    for node in doctree.findall(exercise_enumerable_node):
        title = next(node.findall(exercise_subtitle)).astext()
        yield Found(node["label"], title, note=_level(node).astext())


def _level(exercise: nodes.Element) -> nodes.Element:
    """Node with the level and the minutes of an exercise."""
    return next(n for n in exercise.findall(nodes.emphasis) if n.astext()[0] in "●○")


def _say_how_important(env, doctree) -> None:
    """Write the importance of each exercise, from `seminar/exercises.toml`, behind its minutes."""
    exercises = list(doctree.findall(exercise_enumerable_node))
    if exercises:
        env.note_dependency(str(IMPORTANCE))
        listed = files.read_toml(IMPORTANCE)
        importance = {label: words for list_, words in IMPORTANT.items() for label in listed[list_]}
        for node in exercises:
            _level(node).append(nodes.Text(f" · {importance[node['label']]}"))


def _collect_figures(app, docname: str, source: list[str]) -> None:
    if Path(app.env.doc2path(docname)).suffix != ".ipynb":
        return
    shown = figures(json.loads(source[0]))
    names = [figure.id for figure in shown]
    for name in sorted({name for name in names if names.count(name) > 1}):
        LOGGER.warning("two figures have the id %s", name, location=docname)
    _found(app.env)[docname] = {"figures": shown}


def _collect(app, doctree) -> None:
    for node in doctree.findall(
        lambda node: isinstance(node, (exercise_enumerable_node, solution_node))
    ):
        for content in node.findall(nodes.section):  # else all on a page have the same id
            content["ids"] = [f"{node['label']}-content"]
    _say_how_important(app.env, doctree)
    here = _found(app.env).setdefault(app.env.docname, {"figures": []})
    here["exercises"] = list(_exercises(doctree))


def _resolve(app, doctree, docname: str) -> None:
    for node in list(doctree.findall(exercise_index)):
        node.replace_self(_listed(app, docname))
    for node in list(doctree.findall(chapter_figure)):
        node.replace_self(_shown(app, node))
    if app.builder.name == "html" and not docname.startswith(glossary_links.PAGES_WITHOUT):
        glossary_links.link(app, doctree, docname)


def _listed(app, docname: str) -> list[nodes.Node]:
    """Titles of all pages that have exercises, each with their list."""
    env, entries = app.env, []
    for page in sorted(_found(env)):
        items = []
        for entry in _found(env)[page]["exercises"]:
            link = glossary_links.reference(app, docname, page, entry.id, entry.title)
            note = nodes.Text(f" {entry.note}")
            items.append(nodes.list_item("", nodes.paragraph("", "", link, note)))
        if items:
            title = nodes.strong("", env.titles[page].astext())
            entries += [nodes.paragraph("", "", title)]
            entries += [nodes.bullet_list("", *items, classes=["exercise-index"])]
    return entries


def _shown(app, node: chapter_figure) -> list[nodes.Node]:
    """Picture under its title, or a drawing in both layouts."""
    here = _found(app.env).get(node["page"], {"figures": []})["figures"]
    drawn = [figure for figure in here if figure.kind == SVG]
    for figure in drawn:
        if figure.title != node["title"]:
            continue
        if figure.shown and app.builder.name == "html":
            shown = figure.shown.replace(f' id="{figure.id}"', "", 1)
        else:  # slides are never as narrow as a phone
            picture = inline(figure.picture.decode(), figure.title, figure.text)
            shown = captioned(figure.title, picture)
        return [nodes.raw("", shown, format="html")]
    titles = [figure.title for figure in drawn]
    LOGGER.warning(
        '%s has no figure "%s" but %s', node["page"], node["title"], titles, location=node
    )
    return []
