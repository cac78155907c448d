import io
import os
import subprocess
import tarfile
import zipfile

import pytest

from transformer_circuits import files
from transformer_circuits.text import corpus, sources
from transformer_circuits.text.sources import Package


def package(path, **changes):
    values = {"sha256": files.sha256(path)} if path.exists() else {"sha256": "0" * 64}
    values |= {"name": "p", "version": "1", "file": path.name, "licence": "MIT", "split": "train"}
    return Package(**(values | {"small": True, "takes": ()} | changes))


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "p-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("b.txt", "second")
        archive.writestr("a.txt", "first")
    return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An empty folder that is the only place where pip looks for packages."""
    (folder := tmp_path / "index").mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def source_archive(folder, mark, project):
    """p-1.tar.gz, whose code leaves a file at `mark` when any of it runs."""
    leaves_a_mark = f"open({str(mark)!r}, 'w').close()\n"
    contents = {"setup.py": leaves_a_mark + "from setuptools import setup\nsetup()\n"}
    contents |= {"PKG-INFO": "Metadata-Version: 2.1\nName: p\nVersion: 1\n"}
    contents |= {"p.py": f'"""Text."""\n__version__ = "1"\n{leaves_a_mark}'}
    contents |= {"pyproject.toml": project} if project else {}
    path = folder / "p-1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in contents.items():
            entry = tarfile.TarInfo(f"p-1/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))
    return path


def asks_for(backend):
    """The pyproject.toml of an archive that names its build backend."""
    return f'[build-system]\nrequires = []\nbuild-backend = "{backend}"\n'


SETUPTOOLS = asks_for("setuptools.build_meta")


def test_the_manifest_is_complete_and_licensed():
    for profile in ("small", "full"):
        for entry in sources.manifest(profile):
            assert len(entry.sha256) == 64 and entry.licence
            assert entry.split in (*corpus.SPLITS, "by-document")
            assert entry.takes
    families = {t.family for p in sources.manifest("small") for t in p.takes}
    assert families == {"prose", "python", "html", "latex", "docs", "c++"}


def test_members_come_in_order_and_from_zips_inside(wheel, tmp_path):
    assert list(sources.members(wheel)) == [("a.txt", b"first"), ("b.txt", b"second")]
    outer = tmp_path / "outer.whl"
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(wheel, "docs.zip")
    names = [name for name, _ in sources.members(outer, "*.zip")]
    assert names == ["docs.zip!a.txt", "docs.zip!b.txt"]
    source = tmp_path / "p-1.tar.gz"
    with tarfile.open(source, "w:gz") as archive:
        archive.add(wheel, "p-1/x/y.whl")
    assert [name for name, _ in sources.members(source)] == ["x/y.whl"]


def test_a_damaged_archive_is_named(wheel):
    wheel.write_bytes(wheel.read_bytes()[:30])
    with pytest.raises(files.UserError, match=f"{wheel.name} is damaged"):
        list(sources.members(wheel))


def test_what_is_missing_is_fetched_once(wheel, index, tmp_path, monkeypatch):
    wheel = wheel.rename(index / wheel.name)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("p-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: p\nVersion: 1\n")
        archive.writestr("p-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    for _ in ("fetched", "kept"):
        sources.fetch([package(wheel)], tmp_path / "cache")
        assert [path.name for path in (tmp_path / "cache").iterdir()] == [wheel.name]
        monkeypatch.delattr(subprocess, "run", raising=False)


def test_no_network_is_said_and_leaves_the_cache_usable(wheel, monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    missing = package(wheel.with_name("q-2-py3-none-any.whl"), name="q", version="2")
    with pytest.raises(files.UserError, match=r"could not fetch q-2-.*\(q==2\)") as caught:
        sources.fetch([package(wheel), missing], wheel.parent)
    assert "Connection refused" in str(caught.value)
    assert "No matching distribution found for q==2" in str(caught.value)
    assert [path.name for path in wheel.parent.iterdir()] == [wheel.name]


@pytest.mark.parametrize("project", [SETUPTOOLS, asks_for("flit_core.buildapi"), ""])
def test_nothing_of_a_source_archive_is_run(index, tmp_path, project):
    path = source_archive(index, tmp_path / "mark", project)
    sources.fetch([package(path)], tmp_path / "cache")
    assert (tmp_path / "cache" / path.name).read_bytes() == path.read_bytes()
    assert not (tmp_path / "mark").exists()


def test_a_file_that_is_not_the_pinned_one_is_refused_unrun_and_not_kept(index, tmp_path):
    path = source_archive(index, tmp_path / "mark", SETUPTOOLS)
    pinned = package(path, sha256="0" * 64)
    with pytest.raises(
        files.UserError, match=rf"p-1.tar.gz(?s:.*){'0' * 64}\s*Got\s*{files.sha256(path)}"
    ):
        sources.fetch([pinned], tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "text",
    ["", '[[package]]\nname = "p"\n[[package.take]]\nglob = "*"\n'],
)
def test_a_manifest_that_is_not_right_is_named(tmp_path, text):
    (path := tmp_path / "corpus.toml").write_text(text)
    with pytest.raises(files.UserError, match=r"corpus\.toml (names no package|is not right in p)"):
        sources.manifest("full", path)
