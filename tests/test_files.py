import errno
import hashlib
import math
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
    with (
        pytest.raises(OSError, match=r"File too large: '.*/kept.txt'"),
        full_disk(),
        files.atomic(path) as temporary,
    ):
        temporary.write_bytes(b"x" * 101)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with files.atomic(path) as temporary:
        temporary.write_text("whole")
    assert path.read_text() == "whole"


def test_json_has_no_word_for_what_is_no_number():
    assert files.as_json({"a": [None, 0.5]}, indent=1) == '{\n "a": [\n  null,\n  0.5\n ]\n}'
    for value in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            files.as_json({"a": [value]})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "is not there"),
        (b"", "has no rows"),
        (b'{"a": 1}\n{"a"', "is not JSON: .* line 2"),
        (b"\xff", "is not JSON"),
        (b"1\n2\n", "has no rows"),
    ],
)
def test_damaged_results_are_named_with_the_remedy(tmp_path, content, reason):
    path = tmp_path / "seeds.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(files.UserError, match=f"seeds.jsonl {reason}.* Correct it"):
        files.read_json_lines(path)
    path.write_text('{"a": 1}\n{"a": "é"}\n', encoding="utf-8")
    assert files.read_json_lines(path) == [{"a": 1}, {"a": "é"}]


def test_damaged_toml_is_named_with_the_remedy(tmp_path):
    path = tmp_path / "x.toml"
    with pytest.raises(files.UserError, match=r"x.toml is not there"):
        files.read_toml(path)
    path.write_text("[table")
    with pytest.raises(files.UserError, match=r"x.toml is not TOML.* Correct it"):
        files.read_toml(path)


def test_the_remedy_loses_nobody_s_work(tmp_path):
    said = str(files.damaged(files.cache_dir() / "x", "is damaged"))
    assert "x is damaged" in said and "Delete it" in said and "git" not in said
    said = str(files.damaged(files.data_dir() / "x", "is damaged"))
    assert "Correct it" in said and f"restore {files.data_dir() / 'x'}" in said
    said = str(files.damaged(tmp_path / "mine.toml", "is damaged"))
    assert "Correct it" in said and "git" not in said and "elete" not in said


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
    (tmp_path / "d").write_bytes(b"")
    for name, said in (
        ("c", "but SHA256SUMS .* Correct it"),
        ("d", "beside it says nothing of it"),
    ):
        with pytest.raises(files.UserError, match=f"/{name} has SHA-256 .* {said}"):
            files.require_as_listed(tmp_path / name)


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


def test_a_disk_without_locks_is_said(tmp_path, monkeypatch, capfd):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    with files.alone_in(tmp_path):
        pass
    assert f"{tmp_path}: No locks available; nothing keeps another" in capfd.readouterr().err
