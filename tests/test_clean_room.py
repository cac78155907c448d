"""Chapters run as Colab runs them: each as the first that a reader opens, alone in an empty folder.

Each gets the book, from its repository or from `book.zip`, and what it needs besides, into a room of
its own. One of them with the rest of the tests, all of them by `make test-colab`; the scorecard then
runs all other chapters again.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement

from tools.colab import write
from transformer_circuits import files
from transformer_circuits.book import notebooks

ROOT = Path(__file__).parents[1]
ALWAYS = "01-notation"
CHAPTERS = sorted(path.stem for path in (ROOT / "chapters").glob("*.ipynb"))
# What Colab has before the first cell; the cell itself must bring the rest.
PREINSTALLED = ("torch", "numpy", "matplotlib", "safetensors", "tokenizers", "tqdm",
                "ipykernel", "nbclient")  # fmt: skip
STARTUP = """
import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
for name in ("google", "google.colab"):  # with specs: libraries look for them
    sys.modules[name] = module_from_spec(ModuleSpec(name, None))
sys.modules["google"].colab = sys.modules["google.colab"]
"""


def run(command, **options):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stderr[-3000:] + result.stdout[-1000:]
    return result.stdout


def published(folder):
    """A repository that holds the working tree as it would be committed."""
    folder.mkdir(parents=True)
    listed = run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT).splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    run([*git, "init", "-q", "-b", "main"], cwd=folder)
    run([*git, "add", "-A"], cwd=folder)
    run([*git, "commit", "-qm", "published"], cwd=folder)


def lend(names, site):
    """Put links to packages of this environment, and to what they need, into another one."""
    found, todo = set(), [*names]
    while todo:
        name = todo.pop().lower()
        if name in found:
            continue
        found.add(name)
        try:
            package = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # for another machine
        for requirement in map(Requirement, package.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                todo.append(requirement.name)
        for file in package.files:
            if "bin" not in file.parts[:-1] or ".." not in file.parts:
                target = Path(os.path.normpath(site / file))
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists():
                    target.symlink_to(package.locate_file(file).resolve())


@pytest.fixture(scope="module")
def colab(tmp_path_factory):
    """Opens a chapter like a reader who opens it first, in a Colab session of its own."""
    place = tmp_path_factory.mktemp("colab")
    published(place / "repository")
    (startup := place / "ipython/profile_default/startup").mkdir(parents=True)
    (startup / "00-colab.py").write_text(STARTUP)
    run([sys.executable, "-m", "venv", place / "venv"])
    lend(PREINSTALLED, *place.glob("venv/lib/*/site-packages"))
    archives = {path.name: path for path in write(place / "repository")}
    url = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    others = ("PYTHONPATH", "VIRTUAL_ENV", files.IN_BOOK)
    environment = {k: v for k, v in os.environ.items() if k not in others}
    environment |= {
        "IPYTHONDIR": str(place / "ipython"),
        "GIT_CONFIG_COUNT": str(int(bool(url))),
        "GIT_CONFIG_KEY_0": f"url.file://{place / 'repository'}.insteadOf",
        "GIT_CONFIG_VALUE_0": url,
    }

    @cache
    def opened(chapter):
        room = place / chapter
        # Hard links cost nothing, and what the first cell installs stays in this room.
        shutil.copytree(place / "venv", room / "venv", symlinks=True, copy_function=os.link)
        (content := room / "content").mkdir()
        if not url:  # as a reader uploads it
            archive = "book-all.zip" if chapter in notebooks.ALL_MODELS else "book.zip"
            os.link(archives[archive], content / archive)
        for name in (f"{chapter}.ipynb", "executed.ipynb"):
            shutil.copy(ROOT / "chapters" / f"{chapter}.ipynb", content / name)
        python = room / "venv/bin/python"
        execute = "from nbclient.cli import main; main()"
        start = time.perf_counter()
        run(
            [python, "-c", execute, "--inplace", "--timeout=900", "executed.ipynb"],
            cwd=content,
            env=environment
            | {
                "JUPYTER_PATH": str(room / "venv/share/jupyter"),
                "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
            },
        )
        print(f"{chapter}: {time.perf_counter() - start:.0f} s")
        return SimpleNamespace(
            python=python, content=content, before=place / "venv", cloned=bool(url)
        )

    return opened


@pytest.mark.parametrize(
    "chapter",
    [
        chapter if chapter == ALWAYS else pytest.param(chapter, marks=pytest.mark.colab)
        for chapter in CHAPTERS
    ],
)
def test_a_chapter_runs_in_a_fresh_environment_as_in_colab(colab, chapter):
    room = colab(chapter)
    shown = (room.content / "executed.ipynb").read_text(encoding="utf-8")
    assert "✓" in shown and "✗ does not hold" not in shown and "✗ the " not in shown
    archives = {*room.content.glob("book*.zip")}
    names = {path.name for path in {*room.content.iterdir()} - archives}
    assert names == {"book", f"{chapter}.ipynb", "executed.ipynb"}
    if room.cloned:
        assert run(["git", "status", "--short"], cwd=room.content / "book") == ""
    else:
        with ZipFile(archives.pop()) as archive:
            for name in (n for n in archive.namelist() if not n.endswith("/")):  # no folders
                assert (room.content / name).read_bytes() == archive.read(name), name
    installed = "lib/*/site-packages/jaxtyping"
    assert list(room.python.parents[1].glob(installed)), "the first cell brings it"
    assert not list(room.before.glob(installed)), "for this chapter only"
