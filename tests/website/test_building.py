"""A build takes the place of the last good book at its end, or leaves it as it was."""

import os
import sys

import pytest

from transformer_circuits import files
from website import building, editions

JUPYTER_BOOK = """#!{python}
import sys
from pathlib import Path
source, place = Path(sys.argv[2]), Path(sys.argv[4])
for name in ("html/index.html", "html/_static/theme.js.map", ".doctrees/environment.pickle"):
    (place / "_build" / name).parent.mkdir(parents=True, exist_ok=True)
remembered = place / "_build" / ".doctrees" / "environment.pickle"
page = (source / "page.md").read_text()
seen = "read before" if remembered.exists() else "read now"
remembered.write_text("")
(place / "_build" / "html" / "index.html").write_text(f"{{page}}, {{seen}}")
(place / "_build" / "html" / "_static" / "theme.js.map").write_text("")
print("writing\\n=====\\nopen", place)
sys.exit("wrong" in page)
"""


@pytest.fixture
def written(checkout, monkeypatch, tmp_path):
    """Writes the one page of a book that a stand-in for Jupyter Book builds; `wrong` in it fails."""
    root = checkout("a", "1")
    (root / "_config.yml").write_text("title: A book\n")
    monkeypatch.setattr(building, "JUPYTER_BOOK", tmp_path / "jupyter-book")
    building.JUPYTER_BOOK.write_text(JUPYTER_BOOK.format(python=sys.executable))
    building.JUPYTER_BOOK.chmod(0o755)

    def slides(source, build):
        (build / "slides").mkdir(exist_ok=True)
        (build / "slides" / "deck.html").write_text("slides")
        return build / "slides"

    monkeypatch.setattr(building.slides, "write", slides)

    def write(page):
        (root / "page.md").write_text(page)
        return root / "_build" / "html"

    return write


def test_the_book_comes_with_slides_and_cards_and_without_what_it_once_had(written, capfd):
    html = written("one")
    html.mkdir(parents=True)
    (html / "old.html").write_text("")
    assert building.build() == html
    found = {str(path.relative_to(html)) for path in html.rglob("*") if path.is_file()}
    assert found == {"index.html", "slides/deck.html"}
    assert capfd.readouterr().out == "writing\n", "not where it lay while it was built"


def test_a_build_that_fails_leaves_the_good_book_and_forgets_what_it_read(written, monkeypatch):
    html = written("one")
    building.build()
    written("wrong")
    with pytest.raises(files.UserError, match="was not built, see above; the last good book"):
        building.build()
    assert (html / "index.html").read_text() == "one, read now"
    written("two")
    building.build()
    assert (html / "index.html").read_text() == "two, read now", "else it would not warn again"
    monkeypatch.setattr(building.slides, "write", lambda *_: 1 / 0)
    written("three")
    with pytest.raises(ZeroDivisionError):
        building.build()
    assert (html / "index.html").read_text() == "two, read now"


def test_a_build_stopped_between_the_two_moves_leaves_the_good_book_to_the_next(
    written, monkeypatch
):
    html = written("one")
    building.build()
    written("two")
    moves = iter([os.replace, lambda *_: 1 / 0])
    with monkeypatch.context() as stopped, pytest.raises(ZeroDivisionError):
        stopped.setattr(building.os, "replace", lambda *paths: next(moves)(*paths))
        building.build()
    assert not html.exists()
    monkeypatch.setattr(building, "_run", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        building.build()
    assert (html / "index.html").read_text() == "one, read now"


def test_the_second_of_two_builds_at_once_says_so_and_touches_nothing(written):
    html = written("one")
    building.build()
    written("two")
    working = pytest.raises(files.UserError, match="another process is at work in")
    with files.alone_in(html.parent / "book"), working:
        building.build()
    assert (html / "index.html").read_text() == "one, read now"


def test_nothing_is_built_again_until_something_changes(written, capfd):
    html = written("one")
    building.build()
    building.build()
    assert capfd.readouterr().out == f"writing\n{html} is up to date\n"
    (html.parents[1] / "chapters" / "a.md").write_text("of a page alone")
    building.build()
    assert (html / "index.html").read_text() == "one, read before"
    (html.parents[1] / "_config.yml").write_text("title: Another\n")
    building.build()
    assert (html / "index.html").read_text() == "one, read now"


def test_an_edition_is_built_beside_the_book(written, monkeypatch):
    html = written("one")
    building.build()
    monkeypatch.setattr(editions, "write", lambda: html.parents[1])
    written("of an edition")
    assert building.build("student") == html.parent / "student" / "html"
    assert (html / "index.html").read_text() == "one, read now"
    edition = html.parent / "student" / "html" / "index.html"
    assert edition.read_text() == "of an edition, read now"
