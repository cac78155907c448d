"""A chapter run as Colab runs it: the notebook alone, in an empty folder, in another environment."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
CHAPTER = "01-notation.ipynb"
# What Colab has before the first cell; the cell itself must bring the rest.
PREINSTALLED = ("torch", "numpy", "matplotlib", "safetensors", "tokenizers", "accelerate", "tqdm")
STARTUP = """
import sys, types
sys.modules["google"] = types.ModuleType("google")
sys.modules["google.colab"] = sys.modules["google"].colab = types.ModuleType("google.colab")
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


def test_a_chapter_runs_in_a_fresh_environment_as_in_colab(tmp_path):
    published(tmp_path / "repository")
    (startup := tmp_path / "ipython/profile_default/startup").mkdir(parents=True)
    (startup / "00-colab.py").write_text(STARTUP)
    (content := tmp_path / "content").mkdir()
    shutil.copy(ROOT / "chapters" / CHAPTER, content)

    python = tmp_path / "venv/bin/python"
    run([sys.executable, "-m", "venv", tmp_path / "venv"])
    pins = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if "==" in line]
    wanted = [p for p in pins if re.split("==", p)[0] in (*PREINSTALLED, "ipykernel", "nbclient")]
    run([python, "-m", "pip", "install", "-q", *wanted, "nbconvert"])

    url = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_PATH": str(tmp_path / "venv/share/jupyter"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{tmp_path / 'repository'}.insteadOf",
        "GIT_CONFIG_VALUE_0": url,
    }
    convert = [python, "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute", CHAPTER]
    run([*convert, "--output", "executed.ipynb"], cwd=content, env=environment)
    assert "✓" in (content / "executed.ipynb").read_text(encoding="utf-8")
    assert (content / "book/src").is_dir()
