"""What cleaners of the full text do, by example; those of the small one, its SHA-256 holds."""

import json
import sqlite3

import pytest

from transformer_circuits.text import cleaning

TOKEN = {"documentation": "<p>The token.</p>"}
SERVICE = {
    "metadata": {"serviceFullName": "Queue Service"},
    "documentation": "<p>Welcome.</p> <p>It queues.</p>",
    "operations": {"Send": {"documentation": "<p>Sends.</p>"}, "Silent": {}},
    "shapes": {
        "Ask": {"members": {"Next": TOKEN, "Bare": {}}},
        "Answer": {"members": {"Next": TOKEN}},
    },
}
COUNTRY = {
    "Geography": {"Area": {"land": "5\u00a0km"}},
    "Introduction": {"B": {"text": "<p>Old.</p>"}},
}


@pytest.mark.parametrize(
    ("cleaner", "raw", "name", "expected"),
    [
        (
            "play",
            "# ACT I\n\n_Enter Puck._\n\n**PUCK**\nHow now?\n",
            "f",
            "ACT I\n\n[Enter Puck.]\n\nPUCK\nHow now?\n",
        ),
        (
            "factbook_page",
            json.dumps(COUNTRY),
            "f#our-template",
            "<h2>Geography</h2>\n<table>\n<tbody>\n<tr>\n  <td>Area, land</td>\n"
            "  <td>5&nbsp;km</td>\n</tr>\n</tbody>\n</table>\n",
        ),
        ("factbook_prose", json.dumps(COUNTRY), "f#introduction", "Old.\n"),
        (
            "service_model",
            json.dumps(SERVICE),
            "f#documentation",
            "<h1>Queue Service</h1>\n\n<p>Welcome.</p>\n<p>It queues.</p>\n\n"
            "<h2>Send</h2>\n\n<p>Sends.</p>\n\n<h2>Ask</h2>\n\n<p>The token.</p>\n",
        ),
    ],
)
def test_each_cleaner(cleaner, raw, name, expected):
    assert [*cleaning.CLEANERS[cleaner]("f", raw.encode())] == [(name, expected)]


def test_bible_is_one_document_a_book(tmp_path):
    path = tmp_path / "b.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("create table books (id, common_name, sort_order)")
        database.execute("create table verses (book_id, chapter_number, verse_number, text)")
        database.execute("insert into books values (1, 'Ruth', 8)")
        rows = [(1, 1, 1, "Now it [came] to pass"), (1, 1, 2, "And"), (1, 2, 1, "Then")]
        database.executemany("insert into verses values (?, ?, ?, ?)", rows)
    database.close()
    ((name, text),) = cleaning.bible("f", path.read_bytes())
    assert name == "f#Ruth"
    assert text == "Ruth\n\nChapter 1\n\nNow it came to pass\nAnd\n\nChapter 2\n\nThen\n"
