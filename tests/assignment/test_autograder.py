"""The files that Gradescope is given, run in folders laid out as Gradescope's."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from made_class import FORGES, hand_in
from made_submissions import gold_of, predictions, write_data, write_submission
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score

from assignment.make import make
from data.tasks import TASKS, split_file

PART = ("attention",)
# As Gradescope documents them.
KEYS = {
    "score", "execution_time", "output", "visibility", "stdout_visibility", "tests", "leaderboard",
}  # fmt: skip
TEST_KEYS = {"score", "max_score", "status", "name", "number", "output", "visibility"}


@pytest.fixture(scope="module")
def fall(tmp_path_factory, toy_data) -> Path:
    """An assignment whose instructor has labels of the test files."""
    place = tmp_path_factory.mktemp("term")
    data = shutil.copytree(toy_data, place / "data")
    labelled = write_data(place / "labelled")
    for task in ("sst", "para", "sts"):
        shutil.copy(split_file(labelled, TASKS[task], "test"), data)
    make(place / "fall", PART, term_seed=7, data=data)
    return place / "fall"


def run_autograder(fall: Path, submission: Path) -> dict[str, Any]:
    """Return results.json, made as Gradescope makes it; the root of all is moved."""
    root = submission.parent
    shutil.copytree(fall / "instructor" / "autograder", root / "source")
    (root / "results").mkdir()
    done = subprocess.run(
        ["bash", root / "source" / "run_autograder"],
        env={"PATH": os.environ["PATH"], "AUTOGRADER": str(root), "GRADING_PYTHON": sys.executable},
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert os.listdir(root / "results") == ["results.json"]
    return json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))


def test_a_right_submission_has_all_points_and_a_place_on_the_leaderboard(fall, tmp_path):
    submission = hand_in(fall, tmp_path / "submission", PART)
    write_submission(submission / "predictions", skill=0.8)
    found = run_autograder(fall, submission)
    assert set(found) == KEYS and found["execution_time"] > 0
    assert found["score"] == sum(test["max_score"] for test in found["tests"]) == 11
    for test in found["tests"]:
        assert set(test) == TEST_KEYS and test["status"] == "passed" and test["output"] == ""
        assert test["visibility"] == "after_published" and test["score"] == test["max_score"]
    assert [test["number"] for test in found["tests"]] == ["1.1", "1.2", "1.3", "1.4"]
    values = {one["name"]: one["value"] for one in found["leaderboard"]}
    assert {one["order"] for one in found["leaderboard"]} == {"desc"}
    sst, para, sts = scores()
    assert values == pytest.approx({
        "sst accuracy": sst, "para accuracy": para, "sts pearson": sts,
        "aggregate": (sst + para + (1 + sts) / 2) / 3,
    })  # fmt: skip


def scores() -> tuple[float, float, float]:
    """Return what scikit-learn and SciPy say of the predictions handed in."""
    pairs = {t: (gold_of(t, "test"), predictions(t, "test", 0.8)) for t in ("sst", "para", "sts")}
    return (
        accuracy_score(*pairs["sst"]),
        accuracy_score(*pairs["para"]),
        float(pearsonr(*pairs["sts"])[0]),
    )


def test_a_hostile_submission_has_none_and_forges_nothing(fall, tmp_path):
    submission = hand_in(fall, tmp_path / "submission", PART)
    (submission / "minbert" / "attention.py").write_text(FORGES)
    found = run_autograder(fall, submission)
    assert found["score"] == 0 and "leaderboard" not in found
    assert "Not taken: predictions: " in found["output"]
    for test in found["tests"]:
        assert test["status"] == "failed" and test["score"] == 0
        assert "ended by itself" in test["output"]
