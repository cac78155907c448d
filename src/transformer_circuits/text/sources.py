"""Pinned packages as a source of text: fetched with pip, verified, read without installing."""

import fnmatch
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tqdm.auto import tqdm

from transformer_circuits import files

BACKENDS = (
    "setuptools.build_meta",
    "flit_core.buildapi",
    "hatchling.build",
    "mesonpy",
    "pbr.build",
)
"""Build backends that source archives of `data/corpus.toml` ask for."""

# pip asks a source archive's build backend for name and version, even to download it. This stands
# in for the backend: it copies what the archive itself says, and runs nothing.
_RUNS_NOTHING = """
import email
import os
import shutil
import sys

__legacy__ = sys.modules[__name__]  # the backend of an archive that names none


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    with open("PKG-INFO", encoding="utf-8") as file:
        says = email.message_from_file(file)
    name = f"{says['Name'].replace('-', '_')}-{says['Version']}.dist-info"
    os.mkdir(os.path.join(folder, name))
    shutil.copy("PKG-INFO", os.path.join(folder, name, "METADATA"))
    return name
"""


@dataclass(frozen=True)
class Take:
    """Choice of a package's files, with their family and cleaner."""

    family: str
    cleaner: str
    globs: tuple[str, ...]
    leave_out: tuple[str, ...] = ()
    keep: float = 1.0
    """Fraction of the documents kept; a hash of a document's name decides."""
    keep_small: float = 1.0
    """Fraction of the kept training documents that the small profile holds, too."""

    def wants(self, name: str) -> bool:
        """True if the file called `name` (path inside the archive) is taken."""

        def matches(globs: tuple[str, ...]) -> bool:
            return any(fnmatch.fnmatchcase(name, glob) for glob in globs)

        return matches(self.globs) and not matches(self.leave_out)


@dataclass(frozen=True)
class Package:
    """Archive of PyPI, and the files we take from it."""

    name: str
    version: str
    file: str
    sha256: str
    licence: str
    split: str
    """"train", "validation", "unseen-kind" or "by-document"."""
    small: bool
    takes: tuple[Take, ...]
    inside: str = ""
    """Glob of zip files inside the archive that are opened, too; empty for none."""


def manifest(profile: str, path: Path | None = None) -> list[Package]:
    """Packages of a profile, in the order of `data/corpus.toml`."""
    if profile not in ("small", "full"):
        raise files.UserError(f'profile is "{profile}" but must be "small" or "full"')
    path = path or files.data_dir() / "corpus.toml"
    tables = files.read_toml(path)
    packages = []
    for table in tables.get("package", []):
        try:
            takes = tuple(
                Take(**{k: tuple(v) if isinstance(v, list) else v for k, v in take.items()})
                for take in table.pop("take")
            )
            packages.append(Package(takes=takes, **table))
        except (TypeError, KeyError) as error:
            raise files.damaged(path, f"is not right in {table.get('name')}: {error}") from error
    if not packages:
        raise files.damaged(path, "names no package")
    return [package for package in packages if package.small or profile == "full"]


def fetch(packages: list[Package], folder: Path) -> None:
    """Bring every archive into `folder`; those already there, and right, are kept.

    Nothing of an archive is run before its SHA-256 was compared; nor after, unless it brings a
    build backend of its own, which none of ours does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for package in tqdm(packages, desc="packages", unit="file", disable=not sys.stderr.isatty()):
        target = folder / package.file
        if target.exists() and files.sha256(target) == package.sha256:
            continue
        target.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.resolve()) as temporary:
            _download(package, Path(temporary)).replace(target)


def _download(package: Package, folder: Path) -> Path:
    """Let pip fetch the archive and compare its SHA-256."""
    requirement = f"{package.name}=={package.version}"
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{requirement} --hash=sha256:{package.sha256}\n", encoding="utf-8")
    if package.file.endswith(".whl"):
        # The pure wheel is the same file whatever Python and machine ask for it.
        platform = ["--platform=any", "--implementation=py", "--abi=none", "--python-version=3.12"]
        kind = ["--only-binary=:all:", *platform]
    else:
        kind = ["--no-binary=:all:", "--use-pep517", "--no-build-isolation"]
        for backend in BACKENDS:
            *package_name, module = backend.split(".")
            place = folder.joinpath(*package_name)
            if package_name:
                place.mkdir()
                (place / "__init__.py").touch()  # else an installed one goes first
            (place / f"{module}.py").write_text(_RUNS_NOTHING, encoding="utf-8")
    # -vv: pip tells only then why an index did not answer.
    command = [sys.executable, "-m", "pip", "download", "-vv", "--no-deps", "--require-hashes"]
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    result = subprocess.run(
        [*command, *kind, f"--dest={folder}", f"--requirement={wanted}"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    arrived = folder / package.file
    if result.returncode or not arrived.exists():
        raise files.UserError(
            f"could not fetch {package.file} ({requirement}). pip says:\n"
            f"{_reason(result.stdout, result.stderr)}\n"
            "Run the same command again: what was fetched before is kept."
        )
    return arrived


def _reason(output: str, errors: str) -> str:
    """Lines of pip's output with the reason: silent indexes, discarded files, and its errors."""
    telling = ("Could not fetch URL", "Discarding")
    lines = [line.strip() for line in output.splitlines() if line.strip().startswith(telling)]
    lines += errors[max(0, errors.find("ERROR:")) :].strip().splitlines()
    return "\n".join(f"    {line}" for line in lines or ["nothing"])


def members(path: Path, inside: str = "") -> Iterator[tuple[str, bytes]]:
    """Files (path in the archive, content) of a wheel or source archive, in order of the paths.

    A file of a zip that matches `inside` is called "outer.zip!inner".
    """
    try:
        if path.name.endswith(".tar.gz"):
            with tarfile.open(path) as archive:
                for entry in sorted(
                    (m for m in archive.getmembers() if m.isfile()), key=lambda m: m.name
                ):
                    yield entry.name.split("/", 1)[-1], archive.extractfile(entry).read()
        else:
            yield from _zip_members(path, inside)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise files.UserError(
            f"{path.name} is damaged ({error}); delete it and fetch again"
        ) from error


def _zip_members(source: Path | io.BytesIO, inside: str) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(source) as archive:
        for name in sorted(name for name in archive.namelist() if not name.endswith("/")):
            if inside and fnmatch.fnmatchcase(name, inside):
                for inner, content in _zip_members(io.BytesIO(archive.read(name)), ""):
                    yield f"{name}!{inner}", content
            else:
                yield name, archive.read(name)
