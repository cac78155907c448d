"""Sphinx extension: chapters show the outputs of their executed copies. Sphinx executes nothing.

Prose and code are those of the chapter as it lies in `chapters/`; only outputs come from the copy.
"""

import json
from pathlib import Path

from transformer_circuits import files, record
from transformer_circuits.book import notebooks


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.connect("builder-inited", _require_fresh)
    app.connect("source-read", _show_outputs)
    app.connect("env-updated", _write_all)
    return {"parallel_read_safe": True}


def _require_fresh(app) -> None:
    app.executed_chapters = notebooks.fresh()
    missing = sorted(set(notebooks.names()) - app.executed_chapters.keys())
    if app.builder.format == "html" and missing:
        # Jupyter Book would put a page of its own words below any other error.
        raise SystemExit(
            f"not executed with this code: {', '.join(missing)}; run `make book`, or "
            "`python -m transformer_circuits execute` first"
        )


def _show_outputs(app, docname: str, source: list[str]) -> None:
    """Give the cells of a chapter the outputs of its copy; a newer copy has the page read again."""
    chapter = Path(docname).name
    if copy := app.executed_chapters.get(chapter):
        app.env.note_dependency(str(notebooks.executed_path(chapter)))
        source[0] = files.as_json(with_outputs(json.loads(source[0]), copy))


def with_outputs(notebook: dict, copy: dict) -> dict:
    """Notebook with the outputs of an executed copy, cell by cell.

    It may have fewer cells than the copy, as that of the student edition. The first check of each
    claim gets the anchor that the scorecard leads to.
    """
    done = {cell["id"]: cell for cell in copy["cells"] if cell["cell_type"] == "code"}
    seen = {""}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            of_copy = done[cell["id"]]
            cell |= {key: of_copy[key] for key in ("outputs", "execution_count")}
    for output in notebooks.outputs(notebook):
        held = record.of(output)
        if held and held["claim"] not in seen:
            seen.add(held["claim"])
            shown = "".join(output["data"]["text/html"])
            output["data"]["text/html"] = f'<span id="{held["id"]}"></span>{shown}'
    return notebook


def _write_all(app, env) -> list[str]:
    """Names of all pages: only changed ones are read again, but all are written, as links may change."""
    return sorted(env.found_docs) if app.builder.name == "html" else []
