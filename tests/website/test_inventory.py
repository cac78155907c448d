"""The questions before and after: two forms of the same concepts, and a page that keeps no key."""

import json
import re

import pytest
from conftest import serve
from playwright.sync_api import expect

from tools import colab
from transformer_circuits import files
from website import assets, editions, inventory

ROOT = files.data_dir().parent
FORMS = inventory.questions()


def test_the_page_does_not_say_which_answer_is_right():
    for form, asked in FORMS.items():
        shown = inventory.form_html(form, asked)
        assert shown.count("<fieldset>") == 14 and shown.count('type="radio"') == 42
        inputs = re.findall("<input[^>]*>", shown)
        tags = {re.sub(r'name="[^"]*"|value="\d"', "", tag) for tag in inputs}
        assert len(tags) == 1, "every choice is written alike"


@pytest.fixture
def page(watched, tmp_path):
    (ours,) = (path for path in assets.INVENTORY if path.suffix == ".js")
    scripts = (path.read_text("utf-8") for path in (ROOT / "_static" / "book.js", ours))
    forms = "".join(inventory.form_html(form, asked) for form, asked in FORMS.items())
    body = f'<div data-inventory><p class="inventory-none">?</p>{forms}</div>'
    body += "".join(f"<script>{script}</script>" for script in scripts)
    (tmp_path / "page.html").write_text(f"<!doctype html>{body}", encoding="utf-8")
    watched.goto(f"{serve(watched, tmp_path)}/page.html")
    return watched


@pytest.mark.browser
def test_answers_stay_in_the_browser_and_are_saved_as_one_file(page):
    expect(page.locator(".inventory-none")).to_have_count(0)
    page.locator('input[name="A-stream"][value="1"]').check()
    page.get_by_role("button", name="Form B").click()
    page.locator('input[name="B-scores"][value="2"]').check()
    expect(page.get_by_role("status")).to_contain_text("1 of 14 answered")
    page.reload()
    expect(page.locator('input[name="A-stream"][value="1"]')).to_be_checked()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a file").click()
    held = json.loads(download.value.path().read_text("utf-8"))
    assert held["inventory"] == 1 and len(held["who"]) >= 8
    assert held["forms"]["A"]["answers"] == {"stream": 1}
    assert held["forms"]["B"]["answers"] == {"scores": 2}
    assert held["forms"]["A"]["began"] < held["forms"]["B"]["began"]


def test_the_key_is_in_no_folder_that_participants_get():
    assert inventory.FILE == ROOT / editions.KEY
    assert not any(editions.KEY.startswith(needed) for needed in colab.CHAPTER_NEEDS)
