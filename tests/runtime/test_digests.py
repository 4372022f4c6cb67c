"""Digests differ where contents do, and nowhere else."""

import hashlib

import pytest

from runtime.files import digest, file_digest, texts_digest


def test_a_files_digest_is_the_sha256_of_its_bytes(tmp_path):
    for content in (b"", b"abc", bytes(range(256)) * 5000):
        (tmp_path / "file").write_bytes(content)
        assert file_digest(tmp_path / "file") == hashlib.sha256(content).hexdigest()
    with pytest.raises(FileNotFoundError):
        file_digest(tmp_path / "absent")


def test_the_order_of_keys_does_not_matter_at_any_depth():
    first = {"a": 1, "b": {"c": [1, 2], "d": None}}
    second = {"b": {"d": None, "c": [1, 2]}, "a": 1}
    assert digest(first) == digest(second) and len(digest(first)) == 64


@pytest.mark.parametrize(
    "other", [{"a": 2}, {"a": "1"}, {"a": 1.0}, {"a": True}, {"a": [1]}, {"b": 1}, {}, None, [1]]
)
def test_other_contents_have_other_digests(other):
    assert digest(other) != digest({"a": 1})


def test_the_order_of_a_list_matters():
    assert digest([1, 2]) != digest([2, 1])


def test_equal_tuples_and_lists_are_the_same_setting():
    assert digest({"task": ("sst", "sts")}) == digest({"task": ["sst", "sts"]})


def test_texts_differ_by_content_order_borders_number_and_use():
    found = [
        texts_digest("a", ["ab", "c"]),
        texts_digest("a", ["c", "ab"]),
        texts_digest("a", ["a", "bc"]),
        texts_digest("a", ["abc"]),
        texts_digest("a", ["ab", "c", ""]),
        texts_digest("a", ["", "ab", "c"]),
        texts_digest("a", ["AB", "c"]),
        texts_digest("b", ["ab", "c"]),
        texts_digest("a", []),
    ]
    assert len(set(found)) == len(found)
    assert texts_digest("a", iter(["ab", "c"])) == found[0]


def test_texts_that_are_no_unicode_have_digests_too():
    assert texts_digest("", ["\ud800"]) != texts_digest("", ["\ud801"])
    assert texts_digest("", ["猫"]) != texts_digest("", ["犬"])
