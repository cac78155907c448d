"""The README's figures are those of the chapters."""

import pytest

from transformer_circuits import files
from transformer_circuits.book import notebooks
from transformer_circuits.figures import html
from transformer_circuits.record import SVG, Record
from transformer_circuits.website import front_page


def test_readme_shows_every_figure_and_its_chapter_has_it():
    readme = (notebooks.root() / "README.md").read_text(encoding="utf-8")
    for name, (chapter, title) in front_page.FIGURES.items():
        assert f"](_static/{name})" in readme
        assert f'title="{title}"' in "".join(
            notebooks.code(notebooks.read(notebooks.path(chapter)))
        )
    assert readme.count("](_static/") == len(front_page.FIGURES)


@pytest.fixture
def copies(monkeypatch, tmp_path):
    """Executed chapters that show two pictures each, by chapter; the README's picture is its title."""
    (tmp_path / "_static").mkdir()
    monkeypatch.setattr(notebooks, "root", lambda: tmp_path)
    copies = {}
    for chapter, title in front_page.FIGURES.values():
        pictures = {"Another": "<svg >another</svg>", title: f"<svg >{title}</svg>"}
        figures = [
            html.Figure(svg, Record("figure", of, picture=SVG)) for of, svg in pictures.items()
        ]
        bundles = [figure._repr_mimebundle_() for figure in figures]
        outputs = [{"data": data, "metadata": metadata} for data, metadata in bundles]
        copies[chapter] = {"cells": [{"cell_type": "code", "outputs": outputs}]}
    monkeypatch.setattr(notebooks, "fresh", lambda: copies)
    return copies


def test_figures_are_taken_from_the_executed_chapters(copies, tmp_path):
    front_page.write()
    for name, (_, title) in front_page.FIGURES.items():
        shown = (tmp_path / "_static" / name).read_text()
        assert shown == f'<svg style="background:#fff" >{title}</svg>'


def test_what_is_missing_is_named_and_nothing_is_written(copies, tmp_path):
    (chapter, title) = list(front_page.FIGURES.values())[-1]
    copies[chapter]["cells"][0]["outputs"].pop()
    with pytest.raises(files.UserError, match=f"{chapter} shows no figure called '{title}'"):
        front_page.write()
    del copies[chapter]
    with pytest.raises(files.UserError, match=f"{chapter} is not executed"):
        front_page.write()
    assert not list((tmp_path / "_static").iterdir())
