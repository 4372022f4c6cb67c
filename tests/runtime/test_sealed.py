"""Digests and seals: what is changed in files and folders is found, and nothing else is."""

import hashlib
import os
import subprocess

import pytest

from runtime.files import (
    SUMS,
    digest,
    fault_of,
    file_digest,
    seal_folder,
    sealed_files,
    texts_digest,
)


def test_a_folder_says_which_file_changed_or_went(tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("a", "in/b c"):
        (tmp_path / name).write_text(name)
    assert fault_of(tmp_path) is None and sealed_files(tmp_path) == {}  # nothing to compare with
    seal_folder(tmp_path)
    assert fault_of(tmp_path) is None and list(sealed_files(tmp_path)) == ["a", "in/b c"]
    before = (tmp_path / SUMS).read_text()
    seal_folder(tmp_path)
    assert (tmp_path / SUMS).read_text() == before  # the list is not in the list
    (tmp_path / "more").touch()
    assert fault_of(tmp_path) is None
    (tmp_path / "in" / "b c").write_text("other")
    assert fault_of(tmp_path) == "in/b c has changed"
    (tmp_path / "a").unlink()
    assert fault_of(tmp_path) == "a is missing"


@pytest.mark.skipif(os.name != "posix", reason="needs sha256sum")
def test_the_list_is_one_that_sha256sum_checks(tmp_path):
    (tmp_path / "file").write_text("content")
    seal_folder(tmp_path)
    command = ["sha256sum", "--check", "--strict", SUMS]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0
    (tmp_path / "file").write_text("changed")
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 1


def test_a_files_digest_is_the_sha256_of_its_bytes(tmp_path):
    for content in (b"", b"abc", bytes(range(256)) * 5000):
        (tmp_path / "file").write_bytes(content)
        assert file_digest(tmp_path / "file") == hashlib.sha256(content).hexdigest()
    with pytest.raises(FileNotFoundError):
        file_digest(tmp_path / "absent")


def test_equal_contents_have_equal_digests_and_others_have_others():
    first = {"a": 1, "b": {"c": [1, 2], "d": None}}
    second = {"b": {"d": None, "c": (1, 2)}, "a": 1}
    assert digest(first) == digest(second) and len(digest(first)) == 64
    others = [{"a": 1}, {"a": 2}, {"a": "1"}, {"a": 1.0}, {"a": True}, {"a": [1]}, {"b": 1}]
    others += [{}, None, [1], [1, 2], [2, 1]]
    assert len({digest(other) for other in others}) == len(others)


def test_texts_differ_by_content_order_borders_number_and_use():
    lists = [["ab", "c"], ["c", "ab"], ["a", "bc"], ["abc"], ["ab", "c", ""], ["", "ab", "c"], []]
    lists += [["AB", "c"], ["猫"], ["犬"], ["\ud800"], ["\ud801"]]  # half a character, too
    found = {texts_digest(use, texts) for use in "ab" for texts in lists}
    assert len(found) == 2 * len(lists)
    assert texts_digest("a", iter(["ab", "c"])) == texts_digest("a", ["ab", "c"])
