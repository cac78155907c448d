"""What chapters need besides the analysis: the set-up, and a claim with its check."""

import html
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from tqdm.auto import tqdm

from transformer_circuits import files
from transformer_circuits.book import claims

FIRST_CELL = """\
# Run this first. In Colab it fetches the book's code; elsewhere it only loads it.
import os
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules and not find_spec("transformer_circuits"):
    url = "{url}"
    needs = "altair einops jaxtyping safetensors tokenizers accelerate tqdm tabulate"
    pip = [sys.executable, "-m", "pip", "install", "-q", "vl-convert-python>=1.9"]
    pip += [name for name in needs.split() if not find_spec(name)]
    git = ["git", "clone", "-q", "--depth=1", url, "book"]
    for step in [pip] if os.path.isdir("book/src/transformer_circuits") else [git, pip]:
        if (done := subprocess.run(step, capture_output=True, text=True)).returncode:
            raise OSError(done.stderr + "Rename any other folder book, or try later.")
    sys.path.insert(0, os.path.abspath("book/src"))

from transformer_circuits import book

book.setup()"""
"""The first code cell of every chapter; `{url}` is `repository.url` of `_config.yml`.

In Colab it ends with a message, git's or pip's own, if something could not be fetched. A kernel
that finds the package (those of `run_missing` do) fetches nothing.
"""


def setup(seed: int = 0) -> None:
    """The same start for every chapter: seed, plain printing, two threads at most."""
    torch.manual_seed(seed)
    torch.set_printoptions(precision=3, sci_mode=False, linewidth=88)
    torch.set_num_threads(min(2, torch.get_num_threads()))
    claims.begin()
    _watch()


@cache
def _watch() -> None:
    """Have the notebook's kernel, if this is one, tell `claims` which cells were executed."""
    if "IPython" in sys.modules:
        from IPython import get_ipython

        if shell := get_ipython():
            shell.events.register("post_run_cell", _executed)


def _executed(result) -> None:
    claims.executed(result.info.raw_cell if result and result.success else None)


class _Passed:
    """A claim that held. Jupyter shows it with a tick."""

    def __init__(self, statement: str, anchor: str | None = None):
        self.statement, self.anchor = statement, anchor

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        text = f"✓ {self.statement}"
        place = f' id="{self.anchor}"' if self.anchor else ""
        return {
            "text/html": f'<p class="claim"{place}>{html.escape(text)}</p>',
            "text/plain": text,
        }


def check(
    statement: str,
    condition,
    *,
    claim: str | None = None,
    ours: str | float | Sequence[float] | None = None,
    against: bool = False,
) -> None:
    """State a finding and show that it holds.

    With `claim`, the id of a row of `data/claims.toml`, it also counts on the scorecard: as
    evidence for that claim or, where our models differ from the paper, `against` it. `ours` is
    our figure, in words or numbers; several numbers are those of several seeds, the book's first.

    Raises:
        AssertionError: with the statement, if it does not hold: the chapter, the test suite and
            the build of the book stop there.
        ValueError: if the condition is not one truth value (an array, say), or there is no such
            claim.
    """
    if isinstance(condition, torch.Tensor) and condition.numel() != 1:
        raise ValueError(
            f"check takes one truth value but got {tuple(condition.shape)}; use .all()"
        )
    if not bool(condition):
        raise AssertionError(f"does not hold: {statement}")
    first = claim is not None and claims.register(claim, statement, ours, against)
    if "IPython" in sys.modules:
        from IPython.display import display

        display(_Passed(statement, f"claim-{claim}" if first else None))
    else:
        print(f"✓ {statement}")


def close(left: torch.Tensor, right: torch.Tensor, tolerance: float = 1e-9) -> bool:
    """Whether two arrays of one shape agree to `tolerance`, absolutely, in every entry.

    Raises:
        ValueError: if the shapes differ: broadcasting would hide an error.
    """
    if left.shape != right.shape:
        raise ValueError(f"shapes differ: {tuple(left.shape)} and {tuple(right.shape)}")
    return bool((left - right).abs().max() <= tolerance)


def run_missing() -> None:
    """Execute the chapters without which some claim is undecided, each in a kernel of its own.

    In a build or a test run they were executed before and there is nothing to do. Only their
    results are kept.

    Raises:
        UserError: naming the chapter, if one fails.
    """
    missing = claims.missing()
    if not missing:
        print("every chapter was run with this code")
        return
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    folder = files.data_dir().parent / "chapters"
    # In Colab the package is not installed, only the path of this process leads to it.
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    bar = tqdm(
        missing, unit="chapter", disable=not (sys.stderr.isatty() or "ipykernel" in sys.modules)
    )
    for chapter in bar:
        bar.set_description(chapter)
        notebook = nbformat.read(folder / f"{chapter}.ipynb", 4)
        client = NotebookClient(notebook, resources={"metadata": {"path": str(folder)}})
        try:
            client.execute(env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)})
        except CellExecutionError as error:
            raise files.UserError(f"{chapter} fails: {error}") from error
    print(f"{len(missing)} chapters were run now: {', '.join(missing)}")


def first_cell(config: Path) -> str:
    """The first cell for the repository that `_config.yml` names.

    Raises:
        UserError: if it names none.
    """
    import yaml  # Jupyter Book's; chapters do without

    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    if not (url := settings.get("repository", {}).get("url")):
        raise files.UserError(f"{config} has no repository url")
    return FIRST_CELL.format(url=url)
