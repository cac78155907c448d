"""Archives of what chapters need in Colab: `book.zip`, and with all models `book-all.zip`."""

import zipfile
from fnmatch import fnmatch
from pathlib import Path

from transformer_circuits import files
from website import editions

CHAPTER_NEEDS = (
    "src", "data", "chapters", "pyproject.toml", "requirements.txt", "_config.yml", "LICENSE",
)  # fmt: skip
"""Files and folders of the repository that go into the archives, below one folder `book/`."""
MOST_DO_WITHOUT = (
    "data/models/two-layer/checkpoints", "data/models/two-layer-mlp", "data/models/zero-layer-seed-",
)  # fmt: skip
"""Half of the weights, which only `notebooks.ALL_MODELS` read: missing in `book.zip`."""
NOT_HANDED_OUT = ("data/cache", "*__pycache__/", "*.egg-info/", ".", "*/.")
"""Beginnings of paths that a checkout has and the repository has not: executed solutions among them."""
FOR_STUDENTS = (f"{editions.STUDENTS_ARCHIVE}.zip", f"{editions.STUDENTS_ARCHIVE}-all.zip")
"""Names of the two archives of the edition without solutions."""


def write(root: Path, *, student: bool = False) -> list[Path]:
    """Write the two archives of a checkout into `_build`, with or without git; returns their paths.

    `student`: with the notebooks of the edition without solutions, and beside it.

    Raises:
        UserError: if that edition is not built.
    """
    build = root / "_build" / ("student" if student else "")
    place_of = dict.fromkeys(CHAPTER_NEEDS, root)
    if student:
        place_of["chapters"] = build / "source"
        if not (build / "source" / "chapters").is_dir():
            raise files.UserError(f"{build} has no notebooks: run `make student`")
    build.mkdir(exist_ok=True)
    names = FOR_STUDENTS if student else ("book.zip", "book-all.zip")
    targets = [build / name for name in names]
    for target, not_needed in zip(targets, (MOST_DO_WITHOUT, ()), strict=True):
        left_out = [f"{prefix}*" for prefix in (*NOT_HANDED_OUT, *not_needed)]
        with (
            files.atomic(target) as temporary,
            zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for need, place in place_of.items():
                for path in sorted([place / need, *(place / need).rglob("*")]):
                    name = path.relative_to(place).as_posix()
                    if path.is_file() and not any(fnmatch(name, pattern) for pattern in left_out):
                        archive.write(path, f"book/{name}")
    return targets
