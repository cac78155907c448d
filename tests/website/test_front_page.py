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


def _copies(pictures: dict[str, str]) -> dict[str, dict]:
    """Executed chapters that show pictures, by the title of each."""
    copies = {}
    for chapter, title in front_page.FIGURES.values():
        svgs = {"Another": "<svg >another</svg>", title: pictures.get(title, "<svg ></svg>")}
        figures = [html.Figure(svg, Record("figure", of, picture=SVG)) for of, svg in svgs.items()]
        bundles = [figure._repr_mimebundle_() for figure in figures]
        outputs = [{"data": data, "metadata": metadata} for data, metadata in bundles]
        copies[chapter] = {"cells": [{"cell_type": "code", "outputs": outputs}]}
    return copies


def test_figures_are_taken_from_the_executed_chapters(monkeypatch, tmp_path):
    (tmp_path / "_static").mkdir()
    monkeypatch.setattr(notebooks, "root", lambda: tmp_path)
    titles = [title for _, title in front_page.FIGURES.values()]
    pictures = {title: f"<svg >{k}</svg>" for k, title in enumerate(titles)}
    monkeypatch.setattr(notebooks, "fresh", lambda: _copies(pictures))
    front_page.write()
    for name, (_, title) in front_page.FIGURES.items():
        assert (tmp_path / "_static" / name).read_text() == pictures[title].replace(
            "<svg >", '<svg style="background:#fff" >'
        )


def test_what_is_missing_is_named_and_nothing_is_written(monkeypatch, tmp_path):
    (tmp_path / "_static").mkdir()
    monkeypatch.setattr(notebooks, "root", lambda: tmp_path)
    copies = _copies({})
    (chapter, title) = list(front_page.FIGURES.values())[-1]
    copies[chapter]["cells"][0]["outputs"] = [{"output_type": "stream", "text": title}]
    monkeypatch.setattr(notebooks, "fresh", lambda: copies)
    with pytest.raises(files.UserError, match=f"{chapter} shows no figure called '{title}'"):
        front_page.write()
    del copies[chapter]
    with pytest.raises(files.UserError, match=f"{chapter} is not executed"):
        front_page.write()
    assert not list((tmp_path / "_static").iterdir())
