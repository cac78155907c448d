"""What a build does less of changes no page."""

import re
from types import SimpleNamespace

import pytest
import yaml
from conftest import ROOT

from transformer_circuits.website import less_work


@pytest.mark.parametrize(
    ("target", "has_tip"),
    [
        ("glossary.html#term-logits", True),
        ("#equation-ov", True),
        ("../reference/references.html#id12", True),
        ("05-one-layer.html#one-layer-bugs", False),
        ("https://example.org/#idea", False),
    ],
)
def test_what_the_settings_give_a_tip_is_left_for_tips(target, has_tip):
    link = f'<a class="reference internal" href="{target}">'
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
    [skipped] = config["tippy_skip_urls"]
    assert has_tip == (re.match(skipped, target) is None)
    assert less_work.with_tips(f"<svg></svg><p>{link}words</a></p>") == (link if has_tip else "")


def test_equations_are_left_for_tips_and_pages_that_explain_are_left_whole():
    equation = '<div class="math notranslate nohighlight" id="equation-ov">\n<span>1</span></div>'
    assert less_work.with_tips(f"<figure></figure>{equation}<p>more</p>") == equation
    for page in ('<dt id="term-head">head</dt><p>more</p>', '<div class="citation">B</div>'):
        assert less_work.with_tips(page) == page


def test_only_titles_are_listed_at_the_side_and_pages_keep_what_they_said():
    env = SimpleNamespace(found_docs={"a", "b"}, metadata={"a": {}, "b": {"tocdepth": 3}})

    def toctree(**options):
        return f"{options} {[env.metadata[page]['tocdepth'] for page in 'ab']}"

    assert less_work.of_titles(env, toctree, collapse=True) == "{'collapse': True} [1, 1]"
    assert env.metadata == {"a": {}, "b": {"tocdepth": 3}}
    with pytest.raises(ZeroDivisionError):
        less_work.of_titles(env, lambda: 1 / 0)
    assert env.metadata == {"a": {}, "b": {"tocdepth": 3}}


def test_the_extension_that_makes_tips_reads_a_page_between_lending_and_giving_back():
    import sphinx_tippy

    connected = {}
    app = SimpleNamespace(
        connect=lambda event, handler, priority=500: connected.setdefault(
            handler.__name__, priority
        ),
        add_config_value=lambda *_: None,
    )
    sphinx_tippy.setup(app)
    less_work._connect(app)
    assert connected["_lend"] < connected["collect_tips"] < connected["_give_back"]
    page = {"body": "<p>words</p>"}
    less_work._lend(app, "page", "", page, doctree := object())
    assert page["body"] == ""
    less_work._give_back(app, "page", "", page, doctree)
    assert page == {"body": "<p>words</p>"}
