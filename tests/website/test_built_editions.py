"""The book and its edition for participants, as `make book` and `make student` built them; run after that."""

import json
import re
import zipfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tools import colab
from transformer_circuits.book import notebooks
from website import editions

pytestmark = pytest.mark.browser
BUILD = Path(__file__).parents[2] / "_build"


class Page(HTMLParser):
    """The ids of a page, where its links lead, and its words without scripts and code's colours."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids, self.links, self.text, self.inside = set(), [], "", ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given.get("id"), given.get("name")}
        self.links += [given[name] for name in ("href", "src") if given.get(name)]
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside not in ("script", "style"):
            self.text += data


@cache
def pages(edition):
    """Every page of the book or of an edition, slides too, by its path."""
    html = BUILD / edition / "html"
    if not (html / "index.html").is_file():
        pytest.fail(f"{html} is not built: run make {edition or 'book'}")
    found = (path for path in html.rglob("*.html") if "_static" not in path.parts)
    return {path: Page(path) for path in found}


@pytest.mark.parametrize("edition", ["", editions.STUDENT])
def test_every_link_leads_to_something_that_the_edition_has(edition):
    made, wrong = pages(edition), []
    for path, page in made.items():
        for link in page.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            to = (path.parent / unquote(address.path)).resolve() if address.path else path
            state = "=" in address.fragment and to.name == "live-model.html"  # which it restores
            there = to not in made or state or {unquote(address.fragment)} <= {"", *made[to].ids}
            if not to.exists() or not there:
                wrong.append((path.name, link))
    assert len(made) > 40 and wrong == []


def test_the_edition_for_participants_has_no_solution_and_speaks_of_none():
    words = re.compile(
        r"[^ ]* solution|instructors|misconception|(?-i:Answer: )|\(how\)", re.IGNORECASE
    )
    html, made = BUILD / "student" / "html", pages("student")
    said = {
        str(path.relative_to(html).with_suffix("")): words.findall(page.text)
        for path, page in made.items()
    }
    assert {name: found for name, found in said.items() if found} == {}
    everything = "\n".join(page.text for page in made.values())
    for chapter in notebooks.names():
        for source in solutions(chapter):
            assert source not in everything, chapter


@pytest.mark.parametrize("name", colab.FOR_STUDENTS)
def test_what_they_upload_to_colab_has_every_chapter_and_no_solution(name):
    with zipfile.ZipFile(BUILD / "student" / name) as archive:
        pages = {Path(page).stem: page for page in archive.namelist() if page.endswith(".ipynb")}
        assert set(notebooks.names()) <= pages.keys()
        for page in pages.values():
            made = json.loads(archive.read(page))
            assert [*filter(editions.solves, made["cells"])] == [], page


def solutions(chapter):
    """The code of a chapter's solutions."""
    for source in notebooks.code(notebooks.read(notebooks.path(chapter))):
        title, _, rest = source.partition("\n")
        if title == "# @title Solution":
            yield rest
