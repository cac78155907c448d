"""Chapters as notebooks: their code, its dependencies, and their executed copies.

A chapter is executed once, into a copy in `data/cache/executed/` that keeps its cells' outputs. The
pages of the book show these outputs, and the scorecard reads its evidence from them. A copy is
*fresh* as long as its `fingerprint` is the present one: that of the chapter's code, of the modules
of this package that it imports, of the data and of the pinned packages. Prose is not part of it, so
an edit of prose executes nothing. The copy is sealed, so outputs that were changed or taken away
later do not count.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path

from tqdm.auto import tqdm

from transformer_circuits import files
from transformer_circuits.book import dependencies, runners
from transformer_circuits.book.runners import run_with_nbclient, run_with_nbmake

SCORECARD = "21-scorecard"
FOUND = "what-we-found"
"""Page that tells the scorecard's findings in prose."""
READERS = (FOUND, SCORECARD)
"""Notebooks that read the findings of all others, and are executed after them."""
CHAPTERS = "[0-9][0-9]-*.ipynb"
"""Pattern of their names, so that other files of an editor beside them do not count."""
ALL_MODELS = (
    "04-zero-layers", "11-induction-heads", "13-how-they-form", "17-what-this-leaves-out",
    "19-heads-over-text", "21-scorecard", "22-which-basis", "watch-it-grow", "what-we-found",
)  # fmt: skip
"""Pages that need more than most: other seeds without layers, MLPs, checkpoints along a run, or all
chapters. Where no repository is cloned, they need `book-all.zip`, the others `book.zip`.
"""
SHORT = (
    "a-name-comes-again", "one-channel", "what-one-layer-can-say", "does-it-copy",
    "what-a-second-layer-reads", "the-induction-circuit", "watch-it-grow", "what-to-believe",
)  # fmt: skip
"""Notebooks of the short book, in its order; it opens with the first, and so does the book."""
GUIDES = ("your-own-model", "circuit-hunt")
"""Notebooks that are executed and shown like chapters, but decide no claims and have no exercises."""
CLAIMS = ("data/claims.toml", "data/controls.json")
"""Files of claims and controls; they give words and limits of verdicts, and nothing is measured with them.
"""
_STAMP = "transformer_circuits"


def root() -> Path:
    """Folder of the checkout."""
    return files.data_dir().parent


def numbered() -> list[str]:
    """Names of the chapters, in the order of the book, without the guides."""
    return sorted(path.stem for path in (root() / "chapters").glob(CHAPTERS))


def names() -> list[str]:
    """Names of all notebooks that are executed: the chapters, then the pages without a number."""
    return [*numbered(), *(name for name in (*SHORT, *GUIDES, FOUND) if path(name).is_file())]


def path(chapter: str) -> Path:
    """Path of a chapter as it was written."""
    return root() / "chapters" / f"{chapter}.ipynb"


def executed_path(chapter: str) -> Path:
    """Path of the executed copy of a chapter."""
    return files.cache_dir() / "executed" / f"{chapter}.ipynb"


def read(notebook: Path) -> dict:
    """Notebook, as JSON; a UserError names a file that is none: half-written, or with marks of a merge."""
    try:
        notebook_json = json.loads(notebook.read_text(encoding="utf-8"))
        notebook_json["cells"], notebook_json["metadata"]
        return notebook_json
    except (ValueError, KeyError, TypeError) as error:
        raise files.UserError(f"{notebook} is not a notebook: {error!r}") from error


def code(notebook: dict) -> list[str]:
    """Source of every code cell."""
    cells = notebook["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def fingerprints() -> dict[str, str]:
    """Hash, for each chapter, of all that its outputs depend on; see the head of this module.

    Any file of `dependencies.DATA_FILES`, and the claims, count for every chapter, those of
    `READ_BY` for some; for `READERS` all others count, too. A UserError names a chapter whose code
    cannot be read.
    """
    matches = (
        file
        for pattern in (*dependencies.DATA_FILES, *CLAIMS)
        for file in sorted(root().glob(pattern))
    )
    data = [files.sha256(file) for file in matches if file.is_file()]  # once for all chapters
    hashes, package = {}, dependencies.every_module()
    for chapter in sorted(names(), key=READERS.__contains__):
        cells = code(read(path(chapter)))
        try:
            imported = dependencies.modules(cells, package)
            known = [*map(files.sha256, imported), *data]
        except files.UserError as error:
            raise files.UserError(f"{chapter}: {error}") from error
        for module, pattern in dependencies.READ_BY.items():
            if any(file.as_posix().endswith(module) for file in imported):
                known += map(files.sha256, sorted(root().glob(pattern)))
        if chapter in READERS:
            known += sorted(item for item in hashes.items() if item[0] not in READERS)
        made_of = files.as_json([cells, known, sys.version_info[:2]])
        hashes[chapter] = hashlib.sha256(made_of.encode()).hexdigest()[:16]
    return hashes


def fresh() -> dict[str, dict]:
    """Executed copies that are fresh, by chapter."""
    copies = {}
    for chapter, stamp in fingerprints().items():
        try:
            copy = read(executed_path(chapter))
            sealed = copy["metadata"][_STAMP] == {"fingerprint": stamp, "seal": runners.seal(copy)}
            if sealed and code(copy) == code(read(path(chapter))):
                copies[chapter] = copy
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            continue  # not there, or what an older version or a broken disk left
    return copies


def stale() -> list[str]:
    """Chapters without a fresh executed copy."""
    return sorted(set(names()) - fresh().keys())


def outputs(copy: dict) -> Iterator[dict]:
    """Outputs of an executed copy, from first to last."""
    for cell in copy["cells"]:
        yield from cell.get("outputs", ())


def _execute(chapter: str, stamp: str, run: Callable[[Path], None]) -> None:
    """Execute one chapter; its copy takes its place only if every cell ran.

    A copy that failed stays in `running/`, with its traceback.
    """
    notebook = runners.clear(read(path(chapter)))
    notebook["metadata"][_STAMP] = {"fingerprint": stamp}
    running = executed_path(chapter).parent / "running" / f"{chapter}.ipynb"
    running.parent.mkdir(parents=True, exist_ok=True)
    running.write_text(files.as_json(notebook), encoding="utf-8")
    run(running)
    done = read(running)
    ran = (cell for cell in done["cells"] if cell["cell_type"] == "code")
    if any(cell["execution_count"] is None and "".join(cell["source"]).strip() for cell in ran):
        raise files.UserError(f"{chapter}: some of its cells were not executed")
    done["metadata"][_STAMP]["seal"] = runners.seal(done)
    running.write_text(files.as_json(done), encoding="utf-8")
    os.replace(running, executed_path(chapter))


def execute(chapters: Iterable[str], run: Callable[[Path], None] = run_with_nbmake) -> None:
    """Execute chapters, several at a time: those that likely take longest first, `READERS` last.

    Each is kept as soon as it is done, so after an interruption only the rest remains. Chapters that
    fail are named in a UserError when all others are done; `READERS` are then not executed.
    """
    texts = {name: "".join(code(read(path(name)))) for name in chapters}
    # A chapter that trains a model takes longest; else the one with most code.
    wanted = sorted(texts, key=lambda name: ("Trainer(" not in texts[name], -len(texts[name])))
    start, failed, stamps = time.perf_counter(), {}, fingerprints()
    n_at_once = min(4, os.cpu_count() or 1)
    seen = sys.stderr.isatty() or "ipykernel" in sys.modules
    shape = "{l_bar}{bar}| {n_fmt} of {total_fmt} chapters, {elapsed} so far, {remaining} left"
    with (
        files.alone_in(executed_path("").parent / "running"),
        tqdm(total=len(wanted), bar_format=shape, disable=not seen) as bar,
        ThreadPoolExecutor(n_at_once) as pool,
    ):
        for turn in (set(wanted) - {*READERS}, {*READERS} & set(wanted)):
            running = {
                pool.submit(_execute, name, stamps[name], run): name
                for name in wanted
                if name in turn
            }
            try:
                for done in as_completed(running):
                    name = running[done]
                    try:
                        done.result()
                    except (files.UserError, OSError) as error:
                        failed[name] = str(error).strip().splitlines()[-1]
                        bar.write(f"{name} fails\n{error}")
                    bar.update()
                    sys.stdout.flush()
            except BaseException:  # Ctrl-C: begin no other chapter
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            if failed:
                lines = [f"\n{name}: {failed[name]}" for name in sorted(failed)]
                where = f"\nHow far each came: {executed_path('').parent / 'running'}"
                raise files.UserError(f"{len(failed)} of them fail{''.join(lines)}{where}")
    minutes, seconds = divmod(round(time.perf_counter() - start), 60)
    print(
        f"executed {len(wanted)} of {len(names())} chapters in {minutes} min {seconds} s; "
        "the others are as they were"
    )


def run_missing() -> None:
    """Execute the chapters that have no fresh executed copy: for one of `READERS` opened by itself.

    With the tests' own runner where it is installed, so that no copy in a checkout was made by
    another. In a build or a test run they were executed before, and there is nothing to do.
    """
    if missing := [name for name in stale() if name not in READERS]:
        if os.environ.get(files.IN_BOOK):
            raise files.UserError(f"{', '.join(missing)}: not executed before; execute all again")
        execute(missing, run_with_nbmake if find_spec("nbmake") else run_with_nbclient)
    else:
        print("every chapter was executed with this code")
