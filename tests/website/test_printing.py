import itertools
import json
import re
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from conftest import arrived, barriers, painted, ready, watch
from playwright.sync_api import expect

from website import slides

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
PRINTED_IN_THE_DARK = ("seminar/handout", "chapters/03-attention-heads")
"""The theme's own boxes and tables, and views that scripts draw."""


def in_both_themes(browser, name, take):
    """What is taken of a page that a reader in the light sees, and of one in the dark."""
    taken = []
    for theme in ("light", "dark"):
        page = browser.new_page(color_scheme=theme)
        watch(page)
        page.goto((HTML / f"{name}.html").as_uri(), wait_until="load")
        ready(page)
        root = page.locator("html")
        expect(root).to_have_attribute("data-theme", theme)
        taken.append(take(page))
        expect(root).to_have_attribute("data-theme", theme)  # as it was
        page.close()
    return taken


@pytest.mark.browser
@pytest.mark.parametrize("name", PRINTED_IN_THE_DARK)
def test_paper_is_the_same_whether_a_page_is_light_or_dark(browser, name):
    """With backgrounds: words were pale on white, and the tokens of figures gone."""

    def paper(page):
        made = page.pdf(format="A4", print_background=True)
        return re.sub(rb"/(CreationDate|ModDate) \([^)]*\)", b"", made)

    light, dark = in_both_themes(browser, name, paper)
    assert dark == light


@pytest.mark.browser
def test_what_a_script_paints_is_light_on_paper(browser):
    """Chromium prints what was painted for paper as lines and all else as dots, so dots are compared."""

    def seen(page):
        page.wait_for_selector(".the-stage[data-ready] ~ .stage-panels canvas")
        arrived(page)
        page.emulate_media(media="print")
        page.wait_for_selector("html[data-on-screen]")
        painted(page)
        shown = page.screenshot(full_page=True)
        page.emulate_media(media="screen")
        page.wait_for_selector("html:not([data-on-screen])")
        return shown

    light, dark = in_both_themes(browser, "chapters/browser/live-model", seen)
    assert dark == light


@pytest.mark.browser
@pytest.mark.parametrize("name", ["seminar/handout", "chapters/reference/notation-card"])
def test_a_sheet_is_one_page_with_margins_or_without(watched, name):
    watched.goto((HTML / f"{name}.html").as_uri(), wait_until="load")
    ready(watched)
    for margin in ("0mm", "10mm"):
        margins = dict.fromkeys(("top", "right", "bottom", "left"), margin)
        assert watched.pdf(format="A4", margin=margins).count(b"/Type /Page\n") == 1


DIST = files("sphinx_revealjs") / "_static" / "revealjs" / "dist"


def few_slides(folder, end=""):
    """A page of four slides in the styles of ours, and where it lies."""
    styles = (
        str(DIST / "reveal.css"),
        str(DIST / "theme" / "white.css"),
        ROOT / "_static/slides.css",
    )
    linked = (f'<link rel="stylesheet" href="{Path(style).as_uri()}">' for style in styles)
    head = f"<meta name='viewport' content='width=device-width'>{''.join(linked)}"
    said = "<figure><svg width='900' height='9'/></figure><p>said</p><aside class='notes'>n</aside>"
    slides = "".join(f"<section><h2>{k}</h2>{said}</section>" for k in range(3))
    last = "<section><h2>3</h2><p class='fragment'>at a press</p></section>"
    body = f"<div class='slides'><section>{slides}{last}</section></div>"
    page = folder / "slides.html"
    page.write_text(f"<!doctype html>{head}<div class='reveal'>{body}</div>{end}")
    return page.as_uri()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_without_scripts_slides_stand_one_below_the_other(browser, tmp_path, width):
    size = {"width": width, "height": 844}
    shown = browser.new_page(java_script_enabled=False, viewport=size)
    shown.goto(few_slides(tmp_path))
    boxes = shown.locator("section > section").evaluate_all(
        "all => all.map((slide) => slide.getBoundingClientRect().toJSON())"
    )  # at once: between one and the next a face may come, of which all are of another height
    assert all(a["y"] + a["height"] <= b["y"] + 1 for a, b in itertools.pairwise(boxes))
    assert all(box["height"] > 40 and box["width"] >= width - 60 for box in boxes)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    expect(shown.get_by_text("said").last).to_be_visible()
    expect(shown.get_by_text("at a press")).to_have_css("opacity", "1")
    expect(shown.locator("aside").first).to_be_hidden()
    shown.close()


@pytest.mark.browser
def test_on_a_phone_a_slide_is_no_strip_in_the_middle_of_an_empty_page(watched, tmp_path):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    options = json.dumps(config["sphinx"]["config"]["revealjs_script_conf"])
    script = f"<script src='{Path(str(DIST / 'reveal.js')).as_uri()}'></script>"
    start = f"<script>Reveal.initialize({options})</script>"
    watched.set_viewport_size({"width": 390, "height": 844})
    watched.goto(few_slides(tmp_path, script + start))
    watched.wait_for_function("Reveal.isReady()")
    tops = "[...document.querySelectorAll('.slides h2')].map((h) => h.getBoundingClientRect().top)"
    assert watched.evaluate(tops)[2] < 844, "three slides are seen at once"


BEYOND = """() => [...document.querySelectorAll(
    "section.present section.present "
    + ":is(p, li, h1, h2, td, .token, button, .circuit-plot > svg, .katex-html)")].filter((part) => {
    const box = part.getBoundingClientRect();
    return box.width && (box.left < -1 || box.top < -1 || box.right > innerWidth + 1
        || box.bottom > innerHeight + 1);
}).map((part) => part.innerText || part.parentElement.ariaLabel)"""


CLICKS = "() => { let n = 0; while (Reveal.nextFragment()) n += 1; return n; }"
"""Shows all of a slide that is built in clicks."""


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1280, 720), (1024, 768)], ids=["16:9", "4:3"])
def test_slides_are_the_page_of_slides_and_nothing_is_beyond_their_edge(watched, size):
    """With figures, notes that are not shown, links into the book, and no network."""
    source = (ROOT / f"{slides.PAGE}.md").read_text(encoding="utf-8")
    watched.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    watched.goto((HTML / "slides" / f"{slides.PAGE}.html").as_uri(), wait_until="load")
    titles = re.findall(r"^##? (.*)$", source, re.MULTILINE)
    notes = watched.locator("aside.notes").all()
    assert len(notes) == source.count("{revealjs-notes}")
    assert not any(note.is_visible() for note in notes)
    seen, pictures, clicks = [], 0, {}
    for _ in titles:
        slide = watched.locator("section.present section.present")
        seen.append(slide.locator("h1, h2").inner_text())
        clicks[seen[-1]] = watched.evaluate(CLICKS)
        painted(watched)
        assert watched.evaluate(BEYOND) == []
        pictures += slide.locator(".circuit-plot > svg:visible").count()
        watched.keyboard.press("ArrowRight")
    assert seen == [title.replace("'", "’") for title in titles]
    assert pictures == source.count("{chapter-figure}") - source.count(":live:") >= 8
    assert {title: n for title, n in clicks.items() if n} == {
        "The mechanism, in four clicks": 4,
        "Still: with and without the notes": 1,
        "Tokens that mean nothing": 1,
        "Watch it grow": 1,
        "Still: notes and search": 1,
    }
    links = watched.eval_on_selector_all("section a[href]", "all => all.map((a) => a.href)")
    missing = [link for link in links if not Path(unquote(link[7:]).split("#")[0]).is_file()]
    assert links and missing == []
    assert barriers(watched) == []
