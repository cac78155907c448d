"""Pages with the stage alone, beside all that the book serves: for the tests of the stage and of its modes."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from transformer_circuits import files, stage
from transformer_circuits.stage import one_layer, two_layers
from website import assets, cross_references

LINE = "The old king Valdemar spoke, and the people heard Valdemar"
ROOT = Path(__file__).parents[2]
READY = "html:is(:not([data-awaits]), [data-awaits='0']) .the-stage[data-ready]:not([data-old])"
"""Whatever was asked is answered and shown."""
WORDS = "<p>What comes below, so that there is something to scroll.</p>" * 30


def told(monkeypatch) -> str:
    """Five paragraphs of a story, the first of which brings the stage, as cells put them out."""
    monkeypatch.setenv(files.IN_BOOK, "1")
    stage.paragraphs.new_page()
    shown = [
        stage.step(
            two_layers.read(LINE),
            "Two layers have read a line. [They expect every piece]{every}.",
            every=stage.likely("every piece", above=0.5),
        ),
        stage.step(
            two_layers.without("0.2").read(LINE, at="V"),
            "Without the note-taker [head 1.0 rests]{rests}, and [no piece is expected]{none}.",
            rests=stage.looks("1.0", to="◦", above=0.5),
            none=stage.likely("no piece", below=0.5),
        ),
        stage.step(
            one_layer.read(LINE, at="V"),
            "[One layer expects none]{none}, and [head 1.0 is not there]{there}.",
            none=stage.likely("no piece", below=0.5),
            there=stage.looks("0.4", to="before", above=0.5),
        ),
        stage.step(two_layers.after(200).read(LINE), "As it was once.", opens="training"),
        stage.step(two_layers.read(LINE, at="al"), "Who says *d*?", opens="board"),
    ]
    return "".join(
        f'<div class="cell"><div class="cell_output"><div class="output">{one.html}</div></div></div>'
        for one in shown
    )


def staged(path: str) -> str:
    """The first stage of a page, as the book builds it."""
    text = (ROOT / path).read_text("utf-8")
    title, mode, code = re.search(r"```{stage} (.*)\n:mode: (\w+)\n(.*)\n```", text).groups()
    directive = SimpleNamespace(content=[code], arguments=[title], options={"mode": mode})
    [node] = cross_references.Stage.run(directive)
    return node.astext()


def hunt() -> str:
    """The stage of the page of hunts."""
    text = (ROOT / "chapters" / "browser" / "hunt-here.md").read_text("utf-8")
    return re.search(r"<figure .*</figure>", text)[0]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A folder with a page of each kind: story.html, live.html, slide.html, hunt.html."""
    folder = tmp_path_factory.mktemp("site")
    assets._serve(SimpleNamespace(outdir=folder, builder=SimpleNamespace(format="html", name="")))
    with pytest.MonkeyPatch.context() as patch:
        bodies = {
            "story": told(patch) + WORDS,
            "live": staged("chapters/browser/live-model.md"),
            "slide": staged("seminar/slides.md"),
            "hunt": hunt(),
        }
    for name, body in bodies.items():
        mark = next(mark for mark in assets.NEEDED_BY if "strip" in mark and mark in body)
        needed = [f"_static/{script}" for script in assets.NEEDED_BY[mark]]
        styles = [f'<link rel="stylesheet" href="{one}">' for one in needed if one.endswith("css")]
        scripts = [f'<script defer src="{one}"></script>' for one in needed if one.endswith("js")]
        book = [path.read_text("utf-8") for path in (ROOT / "_static").glob("book.*")]
        style, script = sorted(book, key=lambda text: "const" in text)
        head = (
            '<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>Stage</title>'
            f'<meta name="viewport" content="width=device-width"><style>:root{{--type-words:sans-serif;--type-tokens:monospace;--type-text:serif}}{style}body{{margin:0}}html[data-theme=dark] body{{background:#121212}}</style>'
            f"<script>{script}</script>{''.join(styles + scripts)}"
        )
        page = (
            f'{head}<article class="bd-article"><section><h1>A stage</h1>{body}</section></article>'
        )
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return folder
