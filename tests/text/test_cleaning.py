import json
import sqlite3

import pytest

from transformer_circuits.text import cleaning


def clean(name, raw):
    return list(cleaning.CLEANERS[name]("f", raw))


def test_prose_joins_wrapped_lines_but_not_verse():
    wrapped = "A sentence that goes on for more than fifty-five characters, and\n" * 3 + "ends."
    ((_, text),) = clean("prose", f"{wrapped}\n\nshort\nverse\n".encode())
    assert text.count("\n") == 4
    assert text.endswith("short\nverse\n")


def test_typography_and_newlines_become_plain():
    ((_, text),) = clean("prose", "“Don’t—”\r\n\r\n\r\n\r\nx".encode())
    assert text == '"Don\'t--"\n\nx\n'


def test_bytes_that_are_not_utf8_are_still_read():
    assert cleaning.decode(b"caf\xe9 \x81") == "café "


def test_python_loses_its_licence_and_leaves_mathematics_to_the_other_family():
    mathematical = r'''def f(x):
    r"""Return :math:`\alpha \beta \gamma`, of which more is said here.

    >>> f(1)
    2
    """
'''
    source = "# Licence of all kinds\n# and more\n\n" + mathematical + "    return x\n" * 50
    ((_, code),) = clean("python", source.encode())
    assert "Licence" not in code and r"\alpha" not in code and '"""..."""' in code
    ((name, text),) = clean("mathematics", source.encode())
    assert name == "f#mathematics" and r"\alpha \beta" in text and ">>>" not in text


def test_python_that_is_data_is_left_out():
    assert clean("python", ("x = [" + "1234567890, " * 300 + "]").encode()) == []


def test_markup_keeps_tags_and_drops_scripts():
    page = b'<p data-x="1">a</p><script>evil()</script><span class="nb">open</span>'
    ((_, text),) = clean("markup", page)
    assert text == "<p>a</p>open\n"


def test_play_keeps_stage_directions_in_brackets():
    ((_, text),) = clean("play", b"# ACT I\n\n_Enter Puck._\n\n**PUCK**\nHow now?\n")
    assert text == "ACT I\n\n[Enter Puck.]\n\nPUCK\nHow now?\n"


def test_factbook_pages_are_labelled_as_our_template():
    raw = json.dumps(
        {
            "Geography": {"Area": {"land": "5\u00a0km"}},
            "Introduction": {"B": {"text": "<p>Old.</p>"}},
        }
    )
    ((name, page),) = clean("factbook_page", raw.encode())
    assert name.endswith("#our-template") and "<td>5&nbsp;km</td>" in page
    ((_, prose),) = clean("factbook_prose", raw.encode())
    assert prose == "Old.\n"


def test_bible_is_one_document_a_book(tmp_path):
    path = tmp_path / "b.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("create table books (id, common_name, sort_order)")
        database.execute("create table verses (book_id, chapter_number, verse_number, text)")
        database.execute("insert into books values (1, 'Ruth', 8)")
        rows = [(1, 1, 1, "Now it [came] to pass"), (1, 1, 2, "And"), (1, 2, 1, "Then")]
        database.executemany("insert into verses values (?, ?, ?, ?)", rows)
    database.close()
    ((name, text),) = clean("bible", path.read_bytes())
    assert name == "f#Ruth"
    assert text == "Ruth\n\nChapter 1\n\nNow it came to pass\nAnd\n\nChapter 2\n\nThen\n"


def test_what_is_no_bible_leaves_no_open_database(monkeypatch):
    opened = []
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path: opened.append(database := connect(path)) or database
    )
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        clean("bible", b"no database" * 100)
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        opened[0].execute("select 1")


@pytest.mark.parametrize("name", sorted(cleaning.CLEANERS))
def test_cleaners_are_documented(name):
    assert cleaning.CLEANERS[name].__doc__


def test_a_service_model_becomes_one_page_without_what_it_repeats():
    token = {"documentation": "<p>The token.</p>"}
    raw = json.dumps(
        {
            "metadata": {"serviceFullName": "Queue Service"},
            "documentation": "<p>Welcome.</p> <p>It queues.</p>",
            "operations": {"Send": {"documentation": "<p>Sends.</p>"}, "Silent": {}},
            "shapes": {
                "Ask": {"members": {"Next": token, "Bare": {}}},
                "Answer": {"members": {"Next": token}},
            },
        }
    )
    ((name, page),) = clean("service_model", raw.encode())
    assert name == "f#documentation"
    assert page == (
        "<h1>Queue Service</h1>\n\n<p>Welcome.</p>\n<p>It queues.</p>\n\n"
        "<h2>Send</h2>\n\n<p>Sends.</p>\n\n<h2>Ask</h2>\n\n<p>The token.</p>\n"
    )


def test_markup_keeps_the_article_of_a_page_with_menus():
    page = b'<nav>menu</nav><article class="bd-article"><p>Text.</p></article><div>contents</div>'
    assert clean("markup", page) == [("f", '<article class="bd-article"><p>Text.</p>\n')]
