"""Chapters run as Colab runs them: the notebook alone, in an empty folder, in another environment.

One of them with the rest of the tests, all of them by `make test-colab`.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ALWAYS = "01-notation"
CHAPTERS = sorted(path.stem for path in (ROOT / "chapters").glob("*.ipynb"))
# What Colab has before the first cell; the cell itself must bring the rest.
PREINSTALLED = ("torch", "numpy", "matplotlib", "safetensors", "tokenizers", "accelerate", "tqdm")
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
    listed = run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT).splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    run([*git, "init", "-q", "-b", "main"], cwd=folder)
    run([*git, "add", "-A"], cwd=folder)
    run([*git, "commit", "-qm", "published"], cwd=folder)


@pytest.fixture(scope="module")
def colab(tmp_path_factory):
    """Runs a chapter like a reader who opens one after the other in one Colab session."""
    place = tmp_path_factory.mktemp("colab")
    published(place / "repository")
    (startup := place / "ipython/profile_default/startup").mkdir(parents=True)
    (startup / "00-colab.py").write_text(STARTUP)
    (content := place / "content").mkdir()
    python = place / "venv/bin/python"
    run([sys.executable, "-m", "venv", place / "venv"])
    pins = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if "==" in line]
    wanted = [p for p in pins if re.split("==", p)[0] in (*PREINSTALLED, "ipykernel", "nbclient")]
    # An older Altair than the book's, as Colab has.
    run([python, "-m", "pip", "install", "-q", *wanted, "altair==5.5.0", "nbconvert"])

    url = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {
        "IPYTHONDIR": str(place / "ipython"),
        "JUPYTER_PATH": str(place / "venv/share/jupyter"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{place / 'repository'}.insteadOf",
        "GIT_CONFIG_VALUE_0": url,
    }

    def execute(chapter):
        shutil.copy(ROOT / "chapters" / f"{chapter}.ipynb", content)
        convert = [python, "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute"]
        start = time.perf_counter()
        run(
            [*convert, f"{chapter}.ipynb", "--output", "executed.ipynb"],
            cwd=content,
            env=environment,
        )
        print(f"{chapter}: {time.perf_counter() - start:.0f} s")
        assert (content / "book/src").is_dir()
        return (content / "executed.ipynb").read_text(encoding="utf-8")

    execute.python, execute.content = python, content
    return execute


@pytest.mark.parametrize(
    "chapter",
    [
        chapter if chapter == ALWAYS else pytest.param(chapter, marks=pytest.mark.colab)
        for chapter in CHAPTERS
    ],
)
def test_a_chapter_runs_in_a_fresh_environment_as_in_colab(colab, chapter):
    assert "✓" in colab(chapter)


def test_charts_are_drawn_with_the_altair_that_colab_has(colab):
    colab(ALWAYS)
    code = """
import altair
from transformer_circuits import charts, diagrams
words = {"title": "t", "alt": "a"}
charts.scatter([1, 2], [2, 1], labels="pq", x="a", y="b", **words)
charts.eigenvalues({"W": [1, -1]}, **words)
charts.over_time({"s": [[1, 2]]}, [0], items={"s": "pq"}, x="t", y="v", **words)
diagrams.links({"K": [[1.0]]}, earlier="a", later="b", **words)
print(altair.__version__)
"""
    path = {"PYTHONPATH": str(colab.content / "book/src"), "PATH": os.environ["PATH"]}
    assert run([colab.python, "-c", code], env=path).startswith("5.")
