import subprocess
import sys

import pytest

from transformer_circuits import web


def test_every_mark_has_scripts_and_the_first_model_comes_with_its_page():
    for scripts in web.NEEDED_BY.values():
        assert scripts
    live = web.NEEDED_BY["<div data-live-model"]
    assert f"live/{next(iter(web.LIVE_MODELS))}.js" in live


@pytest.mark.browser
def test_a_page_is_printed_with_all_that_is_folded(browser, tmp_path):
    fold = "<details><summary>more</summary><p style='height:2000px'>hidden</p></details>"
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><h1>One</h1>{fold}")
    # In a process of its own: one process holds one Playwright, and the fixtures have theirs.
    code = "import sys; from pathlib import Path; from transformer_circuits import web; "
    code += "print(web.print_pdf(*map(Path, sys.argv[1:])))"
    command = [sys.executable, "-c", code, page, tmp_path / "page.pdf"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(printed.stdout) >= 2
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_what_is_not_built_cannot_be_printed(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.html and a Chromium are needed"):
        web.print_pdf(tmp_path / "nothing.html", tmp_path / "page.pdf")
    assert not (tmp_path / "page.pdf").exists()
