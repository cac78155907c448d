import re
import subprocess
import sys
from types import SimpleNamespace

from transformer_circuits.website import address, cross_references, executed, printing, serving


def test_the_website_is_made_without_a_drawing_library():
    modules = ", ".join(
        m.__name__ for m in (address, cross_references, executed, printing, serving)
    )
    code = f"import sys, {modules}; print(sorted({{'altair', 'matplotlib'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_pages_load_is_served_and_the_first_model_comes_with_its_page(tmp_path):
    """Scripts of ours are bundled: one classic script, which a page from a file can load."""
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html", name="html"))
    serving._serve(app)
    for script in {script for scripts in serving.NEEDED_BY.values() for script in scripts}:
        assert (tmp_path / "_static" / script).is_file(), script
    live = serving.NEEDED_BY["<div data-live-model"]
    assert f"live/{next(iter(serving.LIVE_MODELS))}.js" in live
    for page in ("live", "train"):
        bundled = (tmp_path / "_static" / page / "page.js").read_text(encoding="utf-8")
        assert not re.search(r"^(import|export) ", bundled, re.MULTILINE)


def test_tips_are_written_in_the_same_order_in_every_build():
    pairs = [
        (None, "term-b"),
        ("glossary", None),
        (None, "term-a"),
        ("glossary", "x"),
        (None, None),
    ]
    page = {"refs_in_page": set(pairs)}
    app = SimpleNamespace(env=SimpleNamespace(tippy_data={"pages": {"index": page}}))
    serving._sort_tips(app, None)
    assert page["refs_in_page"] == [
        (None, None), (None, "term-a"), (None, "term-b"), ("glossary", None), ("glossary", "x"),
    ]  # fmt: skip
    serving._sort_tips(SimpleNamespace(env=SimpleNamespace()), None)  # no page was written
