import subprocess
import tarfile
import zipfile
from types import SimpleNamespace

import pytest

from transformer_circuits import files, packages
from transformer_circuits.packages import Package, Take


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


def pip_that(monkeypatch, action):
    def run(command, **_):
        folder = next(word for word in command if word.startswith("--dest="))[7:]
        return action(folder)

    monkeypatch.setattr(subprocess, "run", run)


def test_the_manifest_is_complete_and_licensed():
    for profile in ("small", "full"):
        for entry in packages.manifest(profile):
            assert len(entry.sha256) == 64 and entry.licence
            assert entry.split in ("train", "validation", "by-document")
            assert entry.takes
    families = {t.family for p in packages.manifest("small") for t in p.takes}
    assert families == {"prose", "python", "html", "latex", "docs"}
    with pytest.raises(ValueError, match='profile is "huge" but must be'):
        packages.manifest("huge")


def test_members_come_in_order_and_from_zips_inside(wheel, tmp_path):
    assert list(packages.members(wheel)) == [("a.txt", b"first"), ("b.txt", b"second")]
    outer = tmp_path / "outer.whl"
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(wheel, "docs.zip")
    names = [name for name, _ in packages.members(outer, "*.zip")]
    assert names == ["docs.zip!a.txt", "docs.zip!b.txt"]
    source = tmp_path / "p-1.tar.gz"
    with tarfile.open(source, "w:gz") as archive:
        archive.add(wheel, "p-1/x/y.whl")
    assert [name for name, _ in packages.members(source)] == ["x/y.whl"]


def test_a_damaged_archive_is_named(wheel):
    wheel.write_bytes(wheel.read_bytes()[:30])
    with pytest.raises(RuntimeError, match=f"{wheel.name} is damaged"):
        list(packages.members(wheel))


def test_what_is_there_and_right_is_not_fetched_again(wheel, monkeypatch):
    pip_that(monkeypatch, lambda folder: pytest.fail("pip was called"))
    packages.fetch([package(wheel)], wheel.parent)


def test_no_network_gives_one_error_and_leaves_the_cache_usable(wheel, monkeypatch):
    failure = SimpleNamespace(returncode=1, stderr="WARNING: retry\nERROR: no route to host\n")
    pip_that(monkeypatch, lambda folder: failure)
    missing = package(wheel.with_name("q-2-py3-none-any.whl"), name="q", version="2")
    with pytest.raises(RuntimeError, match=r"could not fetch q-2-.*\(q==2\): ERROR: no route"):
        packages.fetch([package(wheel), missing], wheel.parent)
    assert [path.name for path in wheel.parent.iterdir()] == [wheel.name]


def test_a_wrong_or_truncated_file_is_refused_and_not_kept(wheel, monkeypatch):
    right = package(wheel)
    wheel.write_bytes(b"truncated")

    def pip(folder):
        with open(f"{folder}/{wheel.name}", "wb") as file:
            file.write(b"something else")
        return SimpleNamespace(returncode=0, stderr="")

    pip_that(monkeypatch, pip)
    with pytest.raises(
        RuntimeError, match=f"{wheel.name} has SHA-256 .* but {right.sha256} is pinned"
    ):
        packages.fetch([right], wheel.parent)
    assert list(wheel.parent.iterdir()) == []


def test_takes_choose_by_glob():
    take = Take("python", "python", ("p/*.py",), ("*/tests/*",))
    assert take.wants("p/a/b.py")
    assert not take.wants("p/tests/b.py") and not take.wants("q/a.py")
