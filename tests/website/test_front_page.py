"""The README's figures are those of the chapters."""

import pytest

from transformer_circuits import files
from transformer_circuits.book import notebooks
from transformer_circuits.figures import html
from transformer_circuits.record import SVG, Record
from website import front_page

DRAWN = '<svg viewBox="0 0 9 9"><text font-size="9">{}</text></svg>'


def test_readme_shows_every_figure_and_its_chapter_has_it():
    readme = (notebooks.root() / "README.md").read_text(encoding="utf-8")
    for name, (chapter, title) in front_page.FIGURES.items():
        assert f"](_static/{name})" in readme
        assert f'title="{title}"' in "".join(
            notebooks.code(notebooks.read(notebooks.path(chapter)))
        )
    assert readme.count("](_static/") == len(front_page.FIGURES)


def test_figures_are_taken_from_the_executed_chapters_or_none_is(monkeypatch, tmp_path):
    (tmp_path / "_static").mkdir()
    copies = {}
    for chapter, title in front_page.FIGURES.values():
        figure = html.Figure(DRAWN.format(title), Record("figure", title, picture=SVG))
        data, metadata = figure._repr_mimebundle_()
        output = {"data": data, "metadata": metadata}
        copies[chapter] = {"cells": [{"cell_type": "code", "outputs": [output]}]}
    monkeypatch.setattr(notebooks, "root", lambda: tmp_path)
    monkeypatch.setattr(notebooks, "fresh", lambda: copies)
    last = list(front_page.FIGURES.values())[-1][0]
    shown = copies.pop(last)
    with pytest.raises(files.UserError, match=f"{last} is not executed"):
        front_page.write()
    copies[last] = {"cells": []}
    with pytest.raises(files.UserError, match=f"{last} shows no figure called"):
        front_page.write()
    assert not list((tmp_path / "_static").iterdir())
    copies[last] = shown
    front_page.write()
    for name, (_, title) in front_page.FIGURES.items():
        written = (tmp_path / "_static" / name).read_text()
        assert written == DRAWN.format(title).replace(" ", ' style="background:#fff" ', 1)
