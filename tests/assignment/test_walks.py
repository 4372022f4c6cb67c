"""The walks of docs/classroom.md: a student finds what is wrong, an instructor marks a class."""

import csv
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from made_submissions import gold_of, made_run, predictions, write_data, write_submission
from markupsafe import escape
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score
from small_suite import any_way

from assignment import grade
from assignment.__main__ import main
from assignment.intake import asked_files
from assignment.parts import PARTS, Mistake
from assignment.sandbox import UNSAFE
from assignment.trees import ROOT, with_mistake
from data.tasks import TASKS

(NO_SCALING,) = (m for m in PARTS["attention"].mistakes if m.name == "no-scaling")


def run(script, *words, cwd) -> subprocess.CompletedProcess:
    """Run a program of the student's tree in a folder, with nothing of ours on the path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-B", str(script), *words]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def put(made, folder, *names, change=str):
    """Write solutions into a student's folder, changed."""
    for name in names:
        source = (made / "instructor" / "reference" / name).read_text(encoding="utf-8")
        (folder / name).write_text(change(source), encoding="utf-8")


@pytest.fixture
def student(made, tmp_path):
    """A fresh copy of what is handed out, in a folder of no plain name."""
    return shutil.copytree(made / "student", tmp_path / "Mes études, Übung 1")


def hand_in(made: Path, folder: Path, mistake: Mistake | None = None) -> Path:
    """Write a submission of all files asked for, right but for one mistake."""
    for name in asked_files(PARTS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made / "instructor" / "reference" / name, folder / name)
    if mistake is not None:
        path = folder / mistake.place.partition(":")[0]
        path.write_text(with_mistake(path.read_text("utf-8"), mistake), encoding="utf-8")
    return folder


def test_a_student_goes_from_wrong_to_right_from_any_folder(made, student):
    put(made, student, "minbert/attention.py", change=lambda s: with_mistake(s, NO_SCALING))
    put(made, student, "assignment/starter/metrics.py")
    put(made, student, "simcse/loss.py", change=lambda source: source + "\n)\n")
    done = run("check.py", "attention", "metrics", "simcse", cwd=student)
    assert done.returncode == 1 and "0 of 4 cases pass" in done.stdout
    told = done.stdout.partition("wrong  attention-one-sequence\n")[2].splitlines()[:3]
    assert (
        told[0].startswith('         computed: "context" is ') and " numbers of shape (" in told[0]
    )
    assert told[1].startswith("         expected: ")
    assert told[2] == "         look at:  attention in minbert/attention.py"
    assert f"likely cause: {NO_SCALING.says}" in done.stdout and "\x1b" not in done.stdout
    assert "to do  attention-heads: attention: BertSelfAttention.forward is yours" in done.stdout
    # A broken file fails the cases that need it, and no other.
    assert "wrong  simcse-cosines\n         computed: raised SyntaxError" in done.stdout
    assert "3 of 3 cases pass" in done.stdout and "driver.py" not in done.stdout
    put(made, student, "minbert/attention.py", "minbert/model.py")
    done = run(student / "check.py", "attention", cwd=student.parent)
    assert done.returncode == 0 and "4 of 4 cases pass" in done.stdout and not done.stderr
    assert "likely cause" not in done.stdout


def test_a_wrong_part_is_named_in_one_line(made, capsys):
    assert main(["check", "atention", "--tree", str(made / "student")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: part 'atention': unknown") and error.count("\n") == 1


def test_a_case_without_end_is_stopped_and_named_and_what_came_before_counts(made, student):
    def sleeps(source):
        place = source.index("def forward", source.index("class BertSelfAttention"))
        body = source.index("\n", source.index('"""\n', place)) + 1
        return f"{source[:body]}        __import__('time').sleep(99)\n{source[body:]}"

    put(made, student, "minbert/attention.py")
    put(made, student, "minbert/model.py", change=sleeps)
    done = run("check.py", "attention", "layer", "--seconds", "4", cwd=student)
    assert done.returncode == 1 and "3 of 4 cases pass" in done.stdout
    ended = "attention-heads\n         computed: ended Python (exit code 1), or took more than 4 s"
    assert ended in done.stdout
    assert done.stdout.count("computed: not run\n") == len(PARTS["layer"].cases)
    assert "model.py" in done.stderr and "in forward" in done.stderr


def test_the_students_program_trains_without_a_test_file_and_from_any_folder(made, student):
    shutil.copytree(made / "instructor" / "reference", student, dirs_exist_ok=True)
    (student / "datasets" / TASKS["sts"].files[2]).unlink()
    words = ("--task", "sts", "--rows", "4", "--epochs", "1")
    done = run(student / "train.py", *words, cwd=student.parent)
    assert done.returncode == 0 and "dev pearson" in done.stdout, done.stderr
    written = (student.parent / "predictions").iterdir()
    assert [path.name for path in written] == ["sts-dev-output.csv"]


def test_a_class_is_marked_and_a_mistake_named_in_the_marks_and_on_the_page(
    made, tmp_path, monkeypatch
):
    """Of zips, a broken one among them. Hostile code is in test_attacks.py."""
    members, marks = tmp_path / "submissions", tmp_path / "marks"
    shutil.make_archive(str(members / "ben"), "zip", hand_in(made, tmp_path / "ben", NO_SCALING))
    (members / "eve.zip").write_bytes(b"no zip")
    if any_way().name == UNSAFE:
        pytest.skip("no sandbox works here")
    # The next but one test grades the solution, in a sandbox that is chosen by a probe.
    monkeypatch.setattr(grade, "checked", lambda exam, *rest: replace(exam, isolation=any_way()))
    words = [str(members), "--suite", str(made / "instructor/hidden"), "--out", str(marks)]
    assert main(["grade", *words, "--starter", str(made / "student")]) == 0
    ben, eve = csv.DictReader((marks / "marks.csv").read_text(encoding="utf-8").splitlines())
    # All of attention is wrong, and the whole encoder.
    assert (ben["submission"], ben["score"], ben["stopped"]) == ("ben", "76", "0")
    assert ben["attention"] == ben["model"] == eve["score"] == "0"
    page = (marks / "class.html").read_text(encoding="utf-8")
    assert escape(NO_SCALING.says) in page and "Marks of 1 submission<" in page
    for name, told in (("ben", "ben: 76 of 90 points"), ("eve", "eve: 0 of 90 points")):
        for ending in ("txt", "html"):
            assert told in (marks / "feedback" / name / f"feedback.{ending}").read_text("utf-8")
    text = (marks / "feedback" / "ben" / "feedback.txt").read_text("utf-8")
    assert f"    likely cause: {NO_SCALING.says}\n" in text and "look at:  attention in" in text
    # What is compared has the public solution beside the class.
    public, code = (
        (marks / "code" / f"{n}.py").read_text() for n in ("the-public-solution", "ben")
    )
    assert "# minbert/attention.py" in public and public != code


def test_the_predictions_of_a_run_are_a_submission(tmp_path, monkeypatch, capsys):
    """With the commands of the page."""
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "data")
    made_run(tmp_path / "runs" / "my-run")
    page = (ROOT / "docs" / "classroom.md").read_text(encoding="utf-8")
    (copy,) = re.findall(r"^mkdir predictions && cp .*", page, re.MULTILINE)
    subprocess.run(["bash", "-c", copy], check=True)
    shutil.make_archive("submission", "zip", ".", "predictions")
    assert main(["validate", "submission.zip", "--data", "data"]) == 0
    assert "valid for the course" in capsys.readouterr().out
    assert main(["score", "submission.zip", "--gold", "data"]) == 0
    assert "| aggregate" in capsys.readouterr().out


def test_gradescope_runs_the_files_that_were_made_for_it(made, tmp_path):
    """In folders laid out as Gradescope's, all below another root."""
    if any_way().name == UNSAFE:
        pytest.skip("no sandbox works here")
    submission = hand_in(made, tmp_path / "submission")
    write_submission(submission / "predictions", skill=0.8)
    source = shutil.copytree(made / "instructor" / "autograder", tmp_path / "source")
    code = source / "assignment" / "sandbox.py"
    code.write_text(code.read_text().replace("PROBE_SECONDS = 300", "PROBE_SECONDS = 0"))
    (tmp_path / "results").mkdir()
    for name in ("setup.sh", "run_autograder"):
        assert (source / name).stat().st_mode & stat.S_IXUSR
        subprocess.run(["bash", "-n", source / name], check=True)
    places = {"AUTOGRADER": str(tmp_path), "GRADING_PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", source / "run_autograder"],
        env={"PATH": os.environ["PATH"], **places},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path / "results") == ["results.json"]
    found = json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8"))
    assert found["score"] == sum(test["max_score"] for test in found["tests"]) == 90
    assert {test["visibility"] for test in found["tests"]} == {"after_published"}
    pairs = [(gold_of(t, "test"), predictions(t, "test", 0.8)) for t in ("sst", "para", "sts")]
    sst, para = (accuracy_score(*pair) for pair in pairs[:2])
    sts = float(pearsonr(*pairs[2])[0])
    expected = {"sst accuracy": sst, "para accuracy": para, "sts pearson": sts}
    expected["aggregate"] = (sst + para + (1 + sts) / 2) / 3
    values = {one["name"]: one["value"] for one in found["leaderboard"]}
    assert values == pytest.approx(expected)
