"""Questions before and after a lesson: a Sphinx directive that asks them, and their file.

A page has questions and answers, but not which is right. Its script keeps the choices in the
browser and saves them as a file, which `make gain` reads.
"""

import html
import tomllib
from dataclasses import dataclass

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from transformer_circuits import files

FILE = files.data_dir().parent / "seminar" / "inventory.toml"
FORMS = ("A", "B")


@dataclass(frozen=True)
class Question:
    """Question on a concept in one form."""

    concept: str
    asks: str
    options: tuple[str, ...]
    right: int
    """Index of the right option."""
    thinks: tuple[str, ...]
    """Misconception behind each option, by its name; empty for the right one."""


def questions() -> dict[str, list[Question]]:
    """Questions of each form, in one order of concepts."""
    items = tomllib.loads(FILE.read_text(encoding="utf-8"))["item"]
    return {form: [_question(item["concept"], item[form]) for item in items] for form in FORMS}


def _question(concept: str, texts: dict) -> Question:
    options = [text for _, text in texts["wrong"]]
    thinks = [name for name, _ in texts["wrong"]]
    options.insert(texts["place"], texts["right"])
    thinks.insert(texts["place"], "")
    return Question(concept, texts["asks"], tuple(options), texts["place"], tuple(thinks))


def form_html(form: str, asked: list[Question]) -> str:
    """HTML of the questions of a form, with nothing chosen."""
    fields = []
    for number, question in enumerate(asked, 1):
        choices = "".join(
            f'<label><input type="radio" name="{form}-{question.concept}" value="{k}">'
            f" {html.escape(option)}</label>"
            for k, option in enumerate(question.options)
        )
        asks = html.escape(question.asks)
        fields.append(f"<fieldset><legend>{number}. {asks}</legend>{choices}</fieldset>")
    return f'<form class="inventory-form" data-form="{form}" hidden>{"".join(fields)}</form>'


class Inventory(SphinxDirective):
    """Directive `{inventory}`: both forms, of which the script shows one at a time."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(FILE))
        forms = "".join(form_html(form, asked) for form, asked in questions().items())
        body = (
            '<div data-inventory><p class="inventory-none">The questions need JavaScript.</p>'
            f"{forms}</div>"
        )
        return [nodes.raw("", body, format="html")]


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.add_directive("inventory", Inventory)
    return {"parallel_read_safe": True}
