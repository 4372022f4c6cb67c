"""The open part: predictions beside the code get scores, and faults in them a reason."""

import csv
import shutil
from dataclasses import replace

import pytest
from made_submissions import TASKS, text_of, write_data, write_submission
from small_suite import ABOUT

from assignment.class_page import render
from assignment.compare import CaseResult
from assignment.grade import open_gold, with_leaderboard
from assignment.marks import Mark, for_gradescope, total, write_class
from assignment.submission.leaderboard import make_board, read_submission
from data.examples import DataError

RESULTS = [CaseResult(case["name"], case["part"], True, "") for case in ABOUT["cases"]]
MARK = Mark("ada", RESULTS, {}, [], {}, 1.0)


@pytest.fixture(scope="module")
def gold(tmp_path_factory):
    """The labels of test files, as `make` gives them to an instructor."""
    return open_gold(write_data(tmp_path_factory.mktemp("gold"), labelled=("test",)))


def test_the_scores_are_those_of_the_leaderboard_and_give_no_points(tmp_path, gold):
    folder = write_submission(tmp_path / "class" / "ada" / "predictions").parent
    mark = with_leaderboard(MARK, folder, gold)
    read = read_submission(folder, gold[0], TASKS, "test")
    (place,) = make_board({"ada": read}, gold[1], "test").places
    expected = {f"{task} {one.metric}": one.mean for task, one in place.estimates.items()}
    assert mark.leaderboard == pytest.approx({**expected, "aggregate": place.value})
    assert total(mark, ABOUT) == total(MARK, ABOUT) and mark.left == MARK.left
    shutil.make_archive(str(tmp_path / "ada"), "zip", folder)
    assert with_leaderboard(MARK, tmp_path / "ada.zip", gold) == mark
    write_class([mark, replace(MARK, name="ben")], ABOUT, tmp_path / "marks")
    rows = list(csv.DictReader((tmp_path / "marks" / "marks.csv").open(encoding="utf-8")))
    assert float(rows[0]["aggregate"]) == place.value and rows[1]["aggregate"] == ""
    assert f"{place.value:.3f}" in render([mark], ABOUT)


def test_a_fault_is_told_and_there_is_no_place(tmp_path, gold):
    folder = write_submission(tmp_path / "ada")
    values = [7.0] * 60
    (folder / "sst-test-output.csv").write_text(text_of("sst", "test", values=values))
    mark = with_leaderboard(MARK, folder, gold)
    assert not mark.leaderboard
    told = for_gradescope(mark, ABOUT)["output"]
    assert "Not taken: predictions: ada/sst-test-output.csv:2" in told
    (tmp_path / "empty").mkdir()
    assert (
        "predictions: empty: no file" in with_leaderboard(MARK, tmp_path / "empty", gold).left[-1]
    )


def test_similarities_that_are_all_alike_have_no_value(tmp_path, gold):
    folder = write_submission(tmp_path / "ada")
    name = next(path.name for path in folder.iterdir() if path.name.startswith("sts-test"))
    (folder / name).write_text(text_of("sts", "test", values=[2.0] * 60))
    mark = with_leaderboard(MARK, folder, gold)
    assert set(mark.leaderboard) == {f"{task} accuracy" for task in TASKS[:2]}


def test_a_folder_without_labels_is_refused(tmp_path):
    folder = write_data(tmp_path / "unlabelled", labelled=())
    with pytest.raises(DataError, match="no labels of a test file"):
        open_gold(folder)
