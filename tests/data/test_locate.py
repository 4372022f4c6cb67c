"""Where named files are: a folder that is there, included or downloaded files."""

import pytest
from reading import error_of

from data import locate
from data.tasks import TASKS


@pytest.fixture(autouse=True)
def downloads(tmp_path, monkeypatch):
    """An empty folder for downloads."""
    monkeypatch.setattr(locate, "DEFAULT_FOLDER", tmp_path / "downloads")
    return tmp_path / "downloads"


def test_a_folder_of_that_name_wins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bundled").mkdir()
    assert str(locate.data_folder("bundled")) == "bundled"
    (tmp_path / "bundled").rmdir()
    assert locate.data_folder("bundled") == locate.BUNDLED
    assert str(locate.data_folder("elsewhere")) == "elsewhere"  # the reader says it is not there


def test_the_courses_files_are_those_that_were_downloaded(downloads):
    said = error_of(locate.data_folder, "cs224n")
    assert said == (
        f"{downloads / 'cs224n'}: missing; fetch the course's data: python -m data.download cs224n"
    )
    (downloads / "cs224n").mkdir(parents=True)
    assert locate.data_folder("cs224n") == downloads / "cs224n"


def test_a_training_file_is_the_named_one_then_the_data_folders_then_the_downloaded_one(
    tmp_path, downloads
):
    folder, name = tmp_path / "data", "nli_for_simcse.csv"
    for path in (tmp_path / "mine.csv", folder / name, downloads / "nli" / name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("anchor,positive\n")
    mine = str(tmp_path / "mine.csv")
    assert locate.training_file("sup", "nli", mine, folder) == tmp_path / "mine.csv"
    assert locate.training_file("sup", "nli", None, folder) == folder / name
    (folder / name).unlink()
    assert locate.training_file("sup", "nli", None, folder) == downloads / "nli" / name


def test_a_training_file_that_is_nowhere_names_the_places_and_the_remedy(tmp_path, downloads):
    file, pairs = "wiki1m_for_simcse.txt", tmp_path / "pairs.tsv"
    for arguments, said in {
        ("unsup", "wiki1m", None, tmp_path): (
            f"--pretrain unsup: no file {tmp_path / file} or {downloads / 'wiki1m' / file}; "
            "give --unsup-data FILE, or fetch it: python -m data.download wiki1m"
        ),
        ("unsup", "wiki1m", "mine.txt", tmp_path): (
            "--pretrain unsup: no file mine.txt; give --unsup-data FILE, "
            "or fetch it: python -m data.download wiki1m"
        ),
        # A file that nothing downloads.
        ("sbert", "pairs.tsv", None, tmp_path, "--of-pairs"): (
            f"--pretrain sbert: no file {pairs}; give --of-pairs FILE"
        ),
    }.items():
        assert error_of(locate.training_file, *arguments) == said
    pairs.touch()
    assert locate.training_file("sbert", "pairs.tsv", None, tmp_path) == pairs


def test_a_tasks_folder_is_the_one_whose_file_has_the_tasks_header(tmp_path):
    """STS-Benchmark as published has a file of the same name, without a header."""
    (tmp_path / "deep").mkdir()
    file = tmp_path / "deep" / "sts-train.csv"
    file.write_text("main-captions\tMSRvid\t2012test\t1\t5.0\ta\tb\n")
    assert locate.find_task(tmp_path, TASKS["sts"]) is None
    file.write_text("\tid\tsentence1\tsentence2\tsimilarity\n0\tx\ta\tb\t1.0\n")
    assert locate.find_task(tmp_path, TASKS["sts"]) == tmp_path / "deep"
    assert locate.find_task(tmp_path, TASKS["sst"]) is None
