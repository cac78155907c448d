import subprocess
import sys
from types import SimpleNamespace

import pytest

from transformer_circuits.website import address, cross_references, executed, printing, serving


def test_the_website_is_made_without_a_drawing_library():
    modules = ", ".join(
        m.__name__ for m in (address, cross_references, executed, printing, serving)
    )
    code = f"import sys, {modules}; print(sorted({{'altair', 'matplotlib'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_mark_has_scripts_and_the_first_model_comes_with_its_page():
    for scripts in serving.NEEDED_BY.values():
        assert scripts
    live = serving.NEEDED_BY["<div data-live-model"]
    assert f"live/{next(iter(serving.LIVE_MODELS))}.js" in live


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


@pytest.mark.parametrize("page, folder", [("live-model", "live"), ("train-here", "train")])
def test_what_a_page_with_models_loads_is_served_and_nothing_else(page, folder):
    needed = serving.NEEDED_BY[f"<div data-{page}"]
    served = set(serving._scripts())
    assert {name for name in served if name.startswith(f"{folder}/")} <= set(needed)
    made = {"vendor/tokenizers.js", "live/vocabulary.js", "live/two-layer.js"}
    assert set(needed) - made <= served
