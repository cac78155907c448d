"""What cleaners do, by example; that all of the small text comes out the same, its SHA-256 holds."""

import json
import sqlite3

import pytest

from transformer_circuits.text import cleaning

WRAPPED = "A sentence that goes on for more than fifty-five characters, and\n" * 3 + "ends."
MATHEMATICAL = r'''def f(x):
    r"""Return :math:`\alpha \beta \gamma`, of which more is said here.

    >>> f(1)
    2
    """
'''
BODY = "    return x\n" * 50
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
            "prose",
            f"{WRAPPED}\n\n“Don’t—”\r\n\r\n\r\nshort\nverse\n",
            "f",
            f'{WRAPPED.replace(chr(10), " ")}\n\n"Don\'t--"\n\nshort\nverse\n',
        ),
        (
            "python",
            f"# Licence of all kinds\n# and more\n\n{MATHEMATICAL}{BODY}",
            "f",
            f'def f(x):\n    """..."""\n{BODY}',
        ),
        (
            "mathematics",
            MATHEMATICAL + BODY,
            "f#mathematics",
            "Return :math:`\\alpha \\beta \\gamma`, of which more is said here.\n",
        ),
        (
            "markup",
            '<nav>menu</nav><article class="bd-article"><p data-x="1">a</p><script>evil()</script>'
            '<span class="nb">open</span></article><div>contents</div>',
            "f",
            '<article class="bd-article"><p>a</p>open\n',
        ),
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


def test_python_that_is_data_is_left_out():
    assert [*cleaning.python("f", ("x = [" + "1234567890, " * 300 + "]").encode())] == []


def test_bytes_that_are_not_utf8_are_still_read():
    assert cleaning.decode(b"caf\xe9 \x81") == "café "


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
