"""The walks of docs/classroom.md: an instructor's, a student's, and a class that is marked.

One part is made, of four cases: what is printed is the same with twelve, and takes minutes less.
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from made_class import FORGES, NEVER_ENDS, hand_in, mistake_in
from made_submissions import gold_of, predictions, write_data, write_submission
from markupsafe import escape
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score

from assignment.__main__ import main
from data.tasks import TASKS, split_file

PART = ("attention",)
SECONDS = "10"  # of a core: importing torch takes two
MISTAKEN = {"ben": "no-scaling", "cleo": "softmax-axis"}
HOSTILE = {"eve": FORGES, "mia": NEVER_ENDS % "attention"}


@pytest.fixture(scope="module")
def fall(tmp_path_factory, toy_data) -> Path:
    """What an instructor with labels of the test files makes, with the command of the page."""
    place = tmp_path_factory.mktemp("term")
    data = shutil.copytree(toy_data, place / "data")
    labelled = write_data(place / "labelled")
    for task in TASKS.values():
        shutil.copy(split_file(labelled, task, "test"), data)
    folder = place / "fall"
    words = ["--out", str(folder), "--term-seed", "7", "--parts", *PART, "--data", str(data)]
    with redirect_stdout(StringIO()) as out:
        assert main(["make", *words]) == 0
    told = f"{folder}/student: to hand out; {folder}/instructor: to keep (seed 7)\n"
    assert out.getvalue() == told
    return folder


@pytest.fixture(scope="module")
def marks(fall, tmp_path_factory) -> Path:
    """The marks of seven submissions, as folders and a zip; two are hostile."""
    submissions = tmp_path_factory.mktemp("class") / "submissions"
    for name in ("ada", "hal", "ivy", *MISTAKEN, *HOSTILE):
        hand_in(fall, submissions / name, PART, "minbert/model.py" if name == "hal" else "")
    for name, mistake in MISTAKEN.items():
        mistake_in(submissions / name, mistake)
    for name, source in HOSTILE.items():
        with (submissions / name / "minbert" / "attention.py").open("a") as file:
            file.write(source)
    shutil.make_archive(str(submissions / "ivy"), "zip", submissions / "ivy")
    shutil.rmtree(submissions / "ivy")
    return grade(fall, submissions, submissions.parent / "marks")


def grade(fall: Path, submissions: Path, out: Path) -> Path:
    suite, starter = fall / "instructor" / "hidden", fall / "student"
    words = [str(submissions), "--suite", str(suite), "--starter", str(starter)]
    assert main(["grade", *words, "--out", str(out), "--seconds", SECONDS]) == 0
    return out


def table(out: Path) -> dict[str, dict[str, str]]:
    rows = csv.DictReader((out / "marks.csv").read_text(encoding="utf-8").splitlines())
    return {row["submission"]: row for row in rows}


def test_an_instructor_makes_a_terms_assignment(fall):
    for name in ("checks", "handout.md", "handout.html", "datasets", "requirements.txt"):
        assert (fall / "student" / name).exists()
    for name in ("hidden", "rubric.md", "reference", "autograder", "gold"):
        assert (fall / "instructor" / name).exists()


def test_seven_submissions_have_their_marks_two_hostile_ones_among_them(marks):
    found = table(marks)
    earned = {name: int(row["score"]) for name, row in found.items()}
    assert earned.pop("ada") == earned.pop("ivy") == 11
    # Her heads are not written; everything else is.
    assert earned.pop("hal") == 7
    assert 0 <= earned.pop("cleo") < 11
    assert earned == {"ben": 0, "eve": 0, "mia": 0}
    stopped = {name: int(row["stopped"]) for name, row in found.items()}
    assert stopped.pop("eve") == stopped.pop("mia") == 4 and not any(stopped.values())


def test_each_mistake_is_named_in_the_marks_and_on_the_page(fall, marks):
    about = json.loads((fall / "instructor" / "hidden" / "suite.json").read_text("utf-8"))
    says = {mistake["name"]: mistake["says"] for mistake in about["mistakes"]}
    page = (marks / "class.html").read_text(encoding="utf-8")
    for one in json.loads((marks / "marks.json").read_text(encoding="utf-8")):
        named = {case["mistake"] for case in one["cases"]} - {None}
        assert named == ({MISTAKEN[one["name"]]} if one["name"] in MISTAKEN else set())
        assert all(escape(says[name]) in page for name in named)
        results = json.loads((marks / one["name"] / "results.json").read_text(encoding="utf-8"))
        assert results["score"] == one["score"]
    # The clock, if other work on this machine leaves it no processor.
    assert re.search("too much of its (CPU )?seconds", page)


def test_predictions_are_packed_validated_scored_and_ranked(tmp_path, capsys):
    data = str(write_data(tmp_path / "data"))
    own = write_submission(tmp_path / "own", dialect="handout", skill=0.9)
    packed = tmp_path / "submissions" / "ada.zip"
    packed.parent.mkdir()
    write_submission(packed.parent / "ben", skill=0.4)
    assert main(["package", str(own), "--data", data, "--out", str(packed)]) == 0
    assert main(["validate", str(packed), "--data", data]) == 0
    assert "as the course asks for it" in capsys.readouterr().out
    assert main(["score", str(packed), "--gold", data]) == 0
    assert "| aggregate" in capsys.readouterr().out
    words = ["--gold", data, "--html", str(tmp_path / "board.html")]
    assert main(["leaderboard", str(packed.parent), *words]) == 0
    first, second = capsys.readouterr().out.splitlines()[2:4]
    assert "ada.zip" in first and "ben" in second


def test_gradescope_runs_the_files_that_were_made_for_it(fall, tmp_path):
    """In folders laid out as Gradescope's, all below another root."""
    submission = hand_in(fall, tmp_path / "submission", PART)
    write_submission(submission / "predictions", skill=0.8)
    shutil.copytree(fall / "instructor" / "autograder", tmp_path / "source")
    (tmp_path / "results").mkdir()
    done = subprocess.run(
        ["bash", tmp_path / "source" / "run_autograder"],
        env={
            "PATH": os.environ["PATH"],
            "AUTOGRADER": str(tmp_path),
            "GRADING_PYTHON": sys.executable,
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path / "results") == ["results.json"]
    found = json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8"))
    assert set(found) == {
        "score",
        "execution_time",
        "output",
        "visibility",
        "stdout_visibility",
        "tests",
        "leaderboard",
    }
    assert found["score"] == sum(test["max_score"] for test in found["tests"]) == 11
    for test in found["tests"]:
        assert test["status"] == "passed" and test["visibility"] == "after_published"
    assert [test["number"] for test in found["tests"]] == ["1.1", "1.2", "1.3", "1.4"]
    pairs = [(gold_of(t, "test"), predictions(t, "test", 0.8)) for t in ("sst", "para", "sts")]
    sst, para = (accuracy_score(*pair) for pair in pairs[:2])
    sts = float(pearsonr(*pairs[2])[0])
    expected = {"sst accuracy": sst, "para accuracy": para, "sts pearson": sts}
    expected["aggregate"] = (sst + para + (1 + sts) / 2) / 3
    values = {one["name"]: one["value"] for one in found["leaderboard"]}
    assert values == pytest.approx(expected)
