"""Pages show what executed copies put out, and nothing else."""

import json

import pytest

from transformer_circuits.book import notebooks
from transformer_circuits.record import Record
from website import insert_outputs


class App:
    """What the extension asks of Sphinx."""

    class builder:  # noqa: N801
        format = "html"

    def __init__(self):
        self.env, self.noted = self, []

    def note_dependency(self, path):
        self.noted.append(path)


def ran(copy):
    """Stands for nbmake: each cell claims, in its output, what its source names."""
    notebook = notebooks.read(copy)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"] = 1
            data = {"text/html": [f'<p class="claim">✓ {cell["source"][0]}</p>']}
            held = Record("check", "it holds", claim=cell["source"][0].strip("'"))
            output = {"output_type": "display_data", "data": data, "metadata": held.metadata}
            cell["outputs"] = [output]
    copy.write_text(json.dumps(notebook))


def test_outputs_come_from_the_copy_and_prose_from_the_chapter(checkout):
    checkout("a", "'one'", "'two'", "'one'")
    notebooks.execute(["a"], ran)
    checkout("a", "'one'", "'two'", "'one'", prose="edited since")
    app, source = App(), [notebooks.path("a").read_text()]
    insert_outputs._require_fresh(app)
    insert_outputs._show_outputs(app, "chapters/a", source)
    assert app.noted == [str(notebooks.executed_path("a"))]
    shown = json.loads(source[0])
    assert "".join(shown["cells"][0]["source"]) == "edited since"
    html = [cell["outputs"][0]["data"]["text/html"] for cell in shown["cells"][1:]]
    assert html[0] == '<span id="claim-one"></span><p class="claim">✓ \'one\'</p>'
    assert html[1].startswith('<span id="claim-two"></span>')
    assert "".join(html[2]) == "<p class=\"claim\">✓ 'one'</p>", "one anchor for each claim"
    other = ["# A page"]
    insert_outputs._show_outputs(app, "chapters/glossary", other)
    assert other == ["# A page"]


def test_a_missing_or_stale_copy_fails_the_build_with_one_line(checkout):
    checkout("a", "1")
    checkout("b", "1")
    with pytest.raises(SystemExit, match=r"^not executed with this code: a, b; run `make book`"):
        insert_outputs._require_fresh(App())
    notebooks.execute(["a", "b"], ran)
    insert_outputs._require_fresh(App())
    checkout("b", "2")
    with pytest.raises(SystemExit, match=r"^not executed with this code: b; run"):
        insert_outputs._require_fresh(App())
