"""Chapters as notebooks: the code in them, what it depends on, and their executed copies.

A chapter is executed once, into a copy in `data/cache/executed/` that keeps what its cells put
out. The pages of the book show these outputs, and the scorecard reads its evidence from them. A
copy is *fresh* as long as its `fingerprint` is the present one: that of the chapter's code, of the
modules of this package that it imports, of the data and of the pinned packages. Prose is not part
of it, so an edit of prose executes nothing.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from modulefinder import ModuleFinder
from pathlib import Path

from tqdm.auto import tqdm

from transformer_circuits import files

SCORECARD = "13-scorecard"
"""The chapter that reads what all others found, and is executed after them."""
READ = ("data/models/*/*.toml", "data/models/*/*.json*", "data/corpus.toml", "data/tokenizer.json",
        "requirements.lock")  # fmt: skip
"""What chapters may read besides code; weights and text are pinned by hashes in these files."""
TIMEOUT = 900
"""Seconds a cell may take, on a machine that does other things, too."""
_SOURCE = Path(__file__).parents[2]
_STAMP = "transformer_circuits"


def root() -> Path:
    """The checkout."""
    return files.data_dir().parent


def names() -> list[str]:
    """Every chapter, in the order of the book."""
    return sorted(path.stem for path in (root() / "chapters").glob("*.ipynb"))


def path(chapter: str) -> Path:
    """A chapter as it was written."""
    return root() / "chapters" / f"{chapter}.ipynb"


def executed_path(chapter: str) -> Path:
    """Where the executed copy of a chapter lies."""
    return files.cache_dir() / "executed" / f"{chapter}.ipynb"


def read(notebook: Path) -> dict:
    """A notebook, as the JSON that it is."""
    return json.loads(notebook.read_text(encoding="utf-8"))


def code(notebook: dict) -> list[str]:
    """The source of every code cell."""
    cells = notebook["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def modules(sources: Iterable[str]) -> list[Path]:
    """The files of this package that some code imports, and those that they import in turn."""
    finder = ModuleFinder(path=[str(_SOURCE)])
    finder.scan_code(compile("\n".join(sources), "chapter", "exec"), finder.add_module("__main__"))
    return sorted(Path(module.__file__) for module in finder.modules.values() if module.__file__)


def fingerprints() -> dict[str, str]:
    """A hash, for each chapter, of all that its outputs depend on; see the head of this module."""
    loaded = [file for pattern in READ for file in sorted(root().glob(pattern))]
    found = {}
    for chapter in sorted(names(), key=lambda name: name == SCORECARD):
        cells = code(read(path(chapter)))
        known = [files.sha256(file) for file in (*modules(cells), *loaded)]
        if chapter == SCORECARD:
            known += [files.sha256(root() / "data" / "claims.toml"), *found.values()]
        found[chapter] = hashlib.sha256(json.dumps([cells, known]).encode()).hexdigest()[:16]
    return found


def fresh() -> dict[str, dict]:
    """The executed copies that are fresh, by chapter."""
    found = {}
    for chapter, stamp in fingerprints().items():
        try:
            copy = read(executed_path(chapter))
            if copy["metadata"][_STAMP]["fingerprint"] == stamp:
                found[chapter] = copy
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            continue  # not there, or what an older version or a broken disk left
    return found


def stale() -> list[str]:
    """The chapters without a fresh executed copy."""
    return sorted(set(names()) - fresh().keys())


def outputs(copy: dict) -> Iterator[dict]:
    """Every output of an executed copy, from first to last."""
    for cell in copy["cells"]:
        yield from cell.get("outputs", ())


def _environment() -> dict[str, str]:
    """Environment variables of the kernels: one thread, so that results repeat; no scripts in outputs.

    The package need not be installed, as in Colab: the path leads to it.
    """
    paths = [str(_SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "OMP_NUM_THREADS": "1",
        files.IN_BOOK: "1",
        "PYTHONPATH": os.pathsep.join(paths),
    }


def run_with_nbmake(copy: Path) -> None:
    """Execute a notebook in place with nbmake, as a test.

    Raises:
        UserError: with what nbmake says, if a cell fails.
    """
    options = ["-q", "--nbmake", f"--nbmake-timeout={TIMEOUT}", "--overwrite"]
    _run([sys.executable, "-m", "pytest", *options, str(copy)])


def run_with_nbclient(copy: Path) -> None:
    """Execute a notebook in place where there is no test runner, as in Colab.

    Raises:
        UserError: with the traceback, if a cell fails.
    """
    start = "from nbclient.cli import main; main()"
    _run([sys.executable, "-c", start, "--inplace", f"--timeout={TIMEOUT}", str(copy)])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=root(), env=_environment(), capture_output=True, text=True)
    if done.returncode:
        raise files.UserError(done.stdout + done.stderr)


def _execute(chapter: str, stamp: str, run: Callable[[Path], None]) -> float:
    """Execute one chapter; its copy takes its place only if every cell ran. The seconds it took.

    A copy that failed stays in `running/`, with its traceback.
    """
    start = time.perf_counter()
    notebook = read(path(chapter))
    notebook["metadata"][_STAMP] = {"fingerprint": stamp}
    running = executed_path(chapter).parent / "running" / f"{chapter}.ipynb"
    running.parent.mkdir(parents=True, exist_ok=True)
    running.write_text(json.dumps(notebook), encoding="utf-8")
    run(running)
    cells = read(running)["cells"]
    if any(cell["cell_type"] == "code" and cell["execution_count"] is None for cell in cells):
        raise files.UserError(f"{chapter}: some of its cells were not executed")
    os.replace(running, executed_path(chapter))
    return time.perf_counter() - start


def execute(
    chapters: Iterable[str],
    run: Callable[[Path], None] = run_with_nbmake,
    n_processes: int | None = None,
) -> None:
    """Execute chapters, several at a time, those with most code first and the scorecard last.

    Each is kept as soon as it is done, so after an interruption only the rest remains.

    Raises:
        UserError: naming the chapters that fail, when all others are done; the scorecard is then
            not executed.
    """
    wanted = sorted(set(chapters), key=lambda name: -len("".join(code(read(path(name))))))
    start, failed, n_done = time.perf_counter(), [], 0
    stamps = fingerprints()
    seen = sys.stderr.isatty() or "ipykernel" in sys.modules
    with (
        tqdm(total=len(wanted), unit="chapter", disable=not seen) as bar,
        ThreadPoolExecutor(n_processes or min(4, os.cpu_count() or 1)) as pool,
    ):
        for turn in (set(wanted) - {SCORECARD}, {SCORECARD} & set(wanted)):
            running = {
                pool.submit(_execute, name, stamps[name], run): name
                for name in wanted
                if name in turn
            }
            for done in as_completed(running):
                name, n_done = running[done], n_done + 1
                try:
                    outcome = f"{done.result():.0f} s"
                except files.UserError as error:
                    failed.append(name)
                    outcome = f"fails\n{error}"
                bar.update()
                bar.write(f"{n_done} of {len(wanted)}: {name}, {outcome}")
                sys.stdout.flush()
            if failed:
                raise files.UserError(f"{', '.join(sorted(failed))}: a cell fails, see above")
    print(f"{len(wanted)} chapters were executed, in {time.perf_counter() - start:.0f} s")


def run_missing() -> None:
    """Execute the chapters that have no fresh executed copy: for the scorecard opened by itself.

    In a build or a test run they were executed before, and there is nothing to do.

    Raises:
        UserError: naming the chapter, if one fails.
    """
    if missing := [name for name in stale() if name != SCORECARD]:
        execute(missing, run_with_nbclient)
    else:
        print("every chapter was executed with this code")
