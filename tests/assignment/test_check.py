"""The way of a student: a fresh folder, a wrong answer, the likely cause, the right answer."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from assignment.check import check, report
from assignment.compare import read_suite
from assignment.make import make
from assignment.mistakes import MISTAKES
from assignment.parts import PARTS
from runtime.errors import UserError


def run_check(folder, *words, script="check.py") -> subprocess.CompletedProcess:
    """Run the student's own command in a folder, with nothing of ours on the path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-B", str(script), *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def put(made, folder, name, change=str):
    source = (made / "instructor" / "reference" / name).read_text(encoding="utf-8")
    (folder / name).write_text(change(source), encoding="utf-8")


@pytest.fixture
def student(made, tmp_path):
    """A fresh copy of what is handed out."""
    return shutil.copytree(made / "student", tmp_path / "student")


def test_a_student_goes_from_nothing_to_wrong_to_right(made, student):
    done = run_check(student, "attention")
    assert done.returncode == 1 and "0 of 4 cases pass" in done.stdout
    assert "NotImplementedError: attention: attention is yours to write" in done.stdout
    put(made, student, "minbert/model.py")
    (mistake,) = [m for m in MISTAKES["attention"] if m.name == "no-scaling"]
    put(made, student, "minbert/attention.py", mistake.patch)
    done = run_check(student, "attention")
    assert done.returncode == 1 and f"likely cause: {mistake.says}" in done.stdout
    assert '"context" of shape' in done.stdout and "first at [" in done.stdout
    put(made, student, "minbert/attention.py")
    done = run_check(student, "attention")
    assert done.returncode == 0 and "4 of 4 cases pass" in done.stdout and not done.stderr


def test_a_wrong_part_is_told_in_one_line(student):
    done = run_check(student, "atention")
    assert done.returncode == 2 and done.stderr.startswith("error: part 'atention': unknown")
    assert len(done.stderr.splitlines()) == 1


def test_where_code_ends_python_is_told_and_what_came_before_counts(made, student):
    put(made, student, "minbert/attention.py")
    put(made, student, "minbert/model.py", lambda source: f"import os\nos._exit(3)\n{source}")
    done = run_check(student, "attention", "layer")
    assert done.returncode == 1 and "3 of 4 cases pass" in done.stdout
    assert "wrong  attention-heads: ended Python (exit code 3)" in done.stdout
    assert done.stdout.count(": not run\n") == len(PARTS["layer"].cases)


def test_a_case_without_end_is_stopped_and_its_line_told(made, student):
    def endless(source):
        return source.replace("    contexts = []\n", "    while True:\n        pass\n")

    put(made, student, "minbert/attention.py", endless)
    done = run_check(student, "attention", "--seconds", "1")
    assert done.returncode == 1
    assert (
        "attention-one-sequence: ended Python (exit code 1), or took more than 1 s" in done.stdout
    )
    assert "attention.py" in done.stderr and "in attention" in done.stderr


def test_it_runs_from_any_folder_under_any_name(made, student, tmp_path):
    put(made, student, "assignment/starter/metrics.py")
    other = student.rename(tmp_path / "Mes études, Übung 1")
    done = run_check(tmp_path, "metrics", script=other / "check.py")
    assert done.returncode == 0 and "3 of 3 cases pass" in done.stdout and not done.stderr


@pytest.mark.parametrize("ending", ["pass", "return contexts", "return 'context'"])
def test_what_is_no_tensor_is_told_by_its_name(made, student, ending):
    def change(source):
        return source.replace("return torch.cat(contexts)", ending)

    put(made, student, "minbert/attention.py", change)
    done = run_check(student, "attention")
    assert 'raised TypeError: "context" is of type' in done.stdout
    assert "driver.py" not in done.stdout


def test_a_broken_file_fails_the_cases_that_need_it_and_no_others(made, student):
    put(made, student, "assignment/starter/metrics.py")
    put(made, student, "simcse/loss.py", lambda source: source + "\n)\n")
    suite = read_suite(student / "checks")
    results = check(student / "checks", student, suite, ["metrics", "simcse"])
    passed = {result.part: result.passed for result in results}
    assert passed == {"metrics": True, "simcse": False}
    assert any("SyntaxError" in line for line in report(suite, results))


def test_the_term_seed_changes_numbers_sizes_and_hidden_names(made, toy_data, tmp_path):
    make(tmp_path / "other", ["attention"], term_seed=2, data=toy_data)
    make(tmp_path / "same", ["attention"], term_seed=20260901, data=toy_data)
    files = [
        (folder / "instructor/hidden/suite.json").read_text(encoding="utf-8")
        for folder in (made, tmp_path / "same", tmp_path / "other")
    ]
    names = [[c["name"] for c in json.loads(f)["cases"] if c["part"] == "attention"] for f in files]
    assert names[0] == names[1] and not set(names[0]) & set(names[2])
    public, same, other = (
        read_suite(folder / "student/checks").answers["attention-heads"]["context"]
        for folder in (made, tmp_path / "same", tmp_path / "other")
    )
    assert (public == same).all() and public.shape != other.shape
    hidden = read_suite(made / "instructor/hidden")
    assert "20260901" not in (made / "student/checks/suite.json").read_text(encoding="utf-8")
    assert not set(hidden.answers) & set(read_suite(made / "student/checks").answers)


def test_a_folder_of_other_things_is_not_replaced(tmp_path, toy_data):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="is there and no assignment"):
        make(tmp_path, ["attention"], term_seed=2, data=toy_data)
