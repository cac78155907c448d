import hashlib
import os
import signal
import subprocess
import sys

import pytest
from conftest import full_disk

from transformer_circuits import files


def test_a_failed_write_leaves_the_old_content_and_no_litter(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("old")
    with pytest.raises(KeyError), files.atomic(path) as temporary:
        temporary.write_text("half of the n")
        raise KeyError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_names_the_file(tmp_path):
    with (
        pytest.raises(OSError, match=r"File too large, .* make room .* again: '.*/kept.txt'"),
        full_disk(),
    ):
        files.write_sealed(tmp_path / "kept.txt", b"x" * 101)
    assert list(tmp_path.iterdir()) == []


def test_an_error_about_another_file_passes_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"/input.txt'"), files.atomic(tmp_path / "out"):
        (tmp_path / "input.txt").read_text()


def test_a_file_that_cannot_be_replaced_is_named(tmp_path):
    (tmp_path / "folder").mkdir()
    with (
        pytest.raises(IsADirectoryError, match=r"-> '.*/folder'"),
        files.atomic(tmp_path / "folder"),
    ):
        pass


def test_a_successful_write_replaces(tmp_path):
    path = tmp_path / "new" / "file.txt"
    with files.atomic(path) as temporary:
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_a_new_file_has_the_permissions_that_the_user_gives_to_all(tmp_path):
    before = os.umask(0o027)
    try:
        with files.atomic(tmp_path / "x"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_the_content_is_on_the_disk_before_it_takes_the_name(tmp_path, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        original = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *given, n=name, o=original: (done.append(n), o(*given))
        )
    with files.atomic(tmp_path / "x"):
        pass
    assert done == ["fsync", "replace"]


WRITER = """
import sys, time
from pathlib import Path
from transformer_circuits import files
with files.atomic(Path(sys.argv[1])) as temporary:
    temporary.write_text("half of the n")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_a_kill_leaves_the_old_content_and_the_next_write_tidies_up(tmp_path):
    path = tmp_path / "state [1].pt"
    path.write_text("old")
    command = [sys.executable, "-c", WRITER, str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout.readline() == b"writing\n"
        with files.atomic(path) as temporary:
            temporary.write_text("meanwhile")
        assert len(list(tmp_path.iterdir())) == 2, "what is being written must stay"
        writer.send_signal(signal.SIGKILL)
    assert path.read_text() == "meanwhile"
    assert len(list(tmp_path.iterdir())) == 2
    with files.atomic(path) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_into_is_refused(tmp_path):
    files.require_writable(tmp_path / "new" / "folder")
    assert list((tmp_path / "new" / "folder").iterdir()) == []
    (tmp_path / "file").write_text("x")
    with pytest.raises(files.UserError, match=r"nothing can be written into .*/file/x .* choose"):
        files.require_writable(tmp_path / "file" / "x")


def test_sealed_content_comes_back_and_one_changed_bit_is_noticed(tmp_path):
    path = tmp_path / "x"
    assert files.read_sealed(path) is None
    files.write_sealed(path, b"content")
    assert files.read_sealed(path) == b"content"
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert files.read_sealed(path) is None
        path.write_bytes(whole[:place])
        assert files.read_sealed(path) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "is not there"),
        (b"", "has no rows"),
        (b'{"a": 1}\n{"a"', "is not JSON: .* line 2"),
        (b'{"a": 1}\n\n{"a": 2}\n', "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[]", "has no rows"),
        (b'[{"a": 1}]', "has no rows"),
        (b"1\n2\n", "has no rows"),
    ],
)
def test_damaged_results_are_named_with_the_remedy(tmp_path, content, reason):
    path = tmp_path / "seeds.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(files.UserError, match=f"seeds.jsonl {reason}.* Correct it"):
        files.read_json_lines(path)


def test_json_is_read_line_by_line(tmp_path):
    path = tmp_path / "x"
    path.write_text('{"a": 1}\n{"a": "é"}\n', encoding="utf-8")
    assert files.read_json_lines(path) == [{"a": 1}, {"a": "é"}]


@pytest.mark.parametrize("content", ["no toml", "[table", '"\\ud800"'])
def test_damaged_toml_is_named_with_the_remedy(tmp_path, content):
    path = tmp_path / "x.toml"
    with pytest.raises(files.UserError, match=r"x.toml is not there"):
        files.read_toml(path)
    path.write_text(content)
    with pytest.raises(files.UserError, match=r"x.toml is not TOML.* Correct it"):
        files.read_toml(path)


def test_what_lies_in_the_cache_is_made_again_and_not_restored():
    error = files.damaged(files.cache_dir() / "x", "is damaged")
    assert "x is damaged" in str(error) and "Delete it" in str(error) and "git" not in str(error)


def in_repository(root):
    """A checkout with one file that git has, and one that only its reader has."""
    (root / "data").mkdir(parents=True)
    for name in ("ours.toml", "readers.toml"):
        (root / "data" / name).write_text("x")
    for command in (["init", "-q"], ["add", "data/ours.toml"]):
        subprocess.run(["git", "-C", str(root), *command], check=True, capture_output=True)
    return root / "data"


def test_only_what_git_has_is_to_be_deleted_and_restored(tmp_path, monkeypatch):
    data = in_repository(tmp_path / "the book")
    monkeypatch.setattr(files, "data_dir", lambda: data)
    (outside := tmp_path / "mine.toml").write_text("x")
    (data / "ours.toml").unlink()  # git has it still
    said = str(files.damaged(data / "ours.toml", "is not there"))
    assert "rm " not in said
    command = said[said.index("git -C ") :]
    (data / "ours.toml").write_text("damaged")
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert (data / "ours.toml").read_text() == "x"
    elsewhere = in_repository(tmp_path / "the reader's")
    for path in (data / "readers.toml", outside, elsewhere / "ours.toml"):
        said = str(files.damaged(path, "is not TOML"))
        assert "Correct it, or take it again" in said and "rm " not in said, path
        assert "elete" not in said and "git" not in said.replace(str(tmp_path), "")


@pytest.mark.parametrize("git", ["no repository", "no git"])
def test_without_git_nothing_is_to_be_deleted(tmp_path, monkeypatch, git):
    """As in the unpacked archive of a release."""
    monkeypatch.setattr(files, "data_dir", lambda: tmp_path / "data")
    if git == "no git":
        in_repository(tmp_path)
        monkeypatch.setenv("PATH", "")
    (tmp_path / "data").mkdir(exist_ok=True)
    said = str(files.damaged(tmp_path / "data" / "ours.toml", "is not TOML"))
    assert "archive of the book" in said and "rm " not in said and "restore" not in said


def test_sha256_is_the_standard_one(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    assert files.sha256(path) == hashlib.sha256(b"abc").hexdigest()


def test_a_list_of_checksums_holds_every_file_of_its_folder(tmp_path):
    for name, content in (("a b", b"one"), ("c", b"two")):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(files.UserError, match=r"SHA256SUMS is not there, so .* whether c is"):
        files.require_as_listed(tmp_path / "c")
    for _ in range(2):  # the list itself is not listed
        files.write_sums(tmp_path)
    lines = (tmp_path / files.SUMS).read_text().splitlines()
    assert lines == [f"{hashlib.sha256(b'one').hexdigest()}  a b",
                     f"{hashlib.sha256(b'two').hexdigest()}  c"]  # fmt: skip
    files.require_as_listed(tmp_path / "a b")
    (tmp_path / "c").write_bytes(b"tvo")
    with pytest.raises(files.UserError, match=r"/c has SHA-256 .* but SHA256SUMS .* Correct it"):
        files.require_as_listed(tmp_path / "c")
    (tmp_path / "d").write_bytes(b"")
    with pytest.raises(files.UserError, match=r"/d has SHA-256 .* beside it says nothing of it"):
        files.require_as_listed(tmp_path / "d")


@pytest.mark.parametrize("content", [b"x", b"\xff\x00", b"0" * 64 + b"  "])
def test_a_damaged_list_of_checksums_is_named(tmp_path, content):
    (tmp_path / "a").write_text("one")
    (tmp_path / files.SUMS).write_bytes(content)
    with pytest.raises(files.UserError, match="SHA256SUMS is not a list of SHA-256 and names"):
        files.require_as_listed(tmp_path / "a")


def test_only_one_process_at_a_time_is_in_a_folder(tmp_path):
    code = f"""
from pathlib import Path
from transformer_circuits import files
with files.alone_in(Path({str(tmp_path / "new")!r})):
    print("inside")
"""

    def another():
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    with files.alone_in(tmp_path / "new"):
        refused = another()
    assert refused.stdout == ""
    said = refused.stderr.splitlines()[-1]
    assert f"another process is at work in {tmp_path / 'new'}: wait until" in said
    assert another().stdout == "inside\n"
