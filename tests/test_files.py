import hashlib

import pytest

from transformer_circuits import files


def test_a_failed_write_leaves_the_old_content_and_no_litter(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("old")
    with (
        pytest.raises(OSError, match=r"could not write .*kept.txt: disk full"),
        files.atomic(path) as temporary,
    ):
        temporary.write_text("half of the n")
        raise OSError("disk full")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_successful_write_replaces(tmp_path):
    path = tmp_path / "new" / "file.txt"
    with files.atomic(path) as temporary:
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_sha256_is_the_standard_one(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    assert files.sha256(path) == hashlib.sha256(b"abc").hexdigest()
