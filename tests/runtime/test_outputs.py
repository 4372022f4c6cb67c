"""An output that is also an input is refused before anything is computed, and stays as it was."""

import os
from pathlib import Path

import pytest

from data.sentences import main as sentences
from data.triplets import main as triplets
from evaluation.__main__ import main as evaluation
from runtime.errors import DiskError
from runtime.files import check_outputs


@pytest.fixture
def names(tmp_path) -> dict[str, Path]:
    """The names of one file: its own, another spelling, a symbolic link, a hard link."""
    file = tmp_path / "file.tsv"
    file.write_text("premise\thypothesis\tlabel\na cat\ta dog\tentailment\n")
    (tmp_path / "link.tsv").symlink_to(file)
    os.link(file, tmp_path / "twin.tsv")
    (tmp_path / "sub").mkdir()
    return {
        "itself": file,
        "spelled": tmp_path / "sub" / ".." / "file.tsv",
        "link": tmp_path / "link.tsv",
        "twin": tmp_path / "twin.tsv",
    }


@pytest.mark.parametrize("name", ["itself", "spelled", "link", "twin"])
def test_every_name_of_an_input(names, name):
    with pytest.raises(DiskError, match="would be overwritten; name another output"):
        check_outputs([None, names[name]], [None, names["itself"]])


def test_two_outputs_of_one_name_and_files_that_are_not_there(tmp_path):
    check_outputs([tmp_path / "a", tmp_path / "b"], [tmp_path / "c", None])
    with pytest.raises(DiskError):
        check_outputs([tmp_path / "a", tmp_path / "a"], [])
    (tmp_path / "links").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(DiskError):
        check_outputs([tmp_path / "links" / "a"], [tmp_path / "a"])
    with pytest.raises(DiskError):  # a folder, too
        check_outputs([tmp_path / "links"], [tmp_path])


@pytest.mark.parametrize("name", ["itself", "link", "twin"])
@pytest.mark.parametrize(
    "main, words",
    [
        (triplets, ["nli", "IN", "--out", "OUT"]),
        (sentences, ["IN", "--out", "OUT"]),
        (evaluation, ["--backbone", "mini", "--trained-on", "IN", "--csv", "OUT"]),
    ],
)
def test_commands(main, words, names, name, tmp_path, capsys):
    before = names["itself"].read_bytes()
    files = sorted(tmp_path.rglob("*"))
    place = {"IN": names["itself"], "OUT": names[name]}
    assert main([str(place.get(word, word)) for word in words]) == 2
    err = capsys.readouterr().err
    assert "would be overwritten" in err and err.count("\n") == 1
    assert names["itself"].read_bytes() == before and sorted(tmp_path.rglob("*")) == files
