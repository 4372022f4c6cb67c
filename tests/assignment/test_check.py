"""The way of a student: a fresh folder, a wrong answer, the likely cause, the right answer."""

import os
import shutil
import subprocess
import sys

import pytest

from assignment.check import check, report
from assignment.compare import read_suite
from assignment.parts import PARTS
from assignment.trees import with_mistake


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


def test_a_student_goes_from_wrong_to_right(made, student):
    (mistake,) = [m for m in PARTS["attention"].mistakes if m.name == "no-scaling"]
    put(made, student, "minbert/attention.py", lambda source: with_mistake(source, mistake))
    done = run_check(student, "attention")
    assert done.returncode == 1 and "0 of 4 cases pass" in done.stdout
    assert 'wrong  attention-one-sequence: "context" of shape' in done.stdout
    assert f"likely cause: {mistake.says}" in done.stdout and "first at [" in done.stdout
    assert "to do  attention-heads: raised NotImplementedError: attention: Bert" in done.stdout
    for name in ("minbert/attention.py", "minbert/model.py"):
        put(made, student, name)
    done = run_check(student, "attention")
    assert done.returncode == 0 and "4 of 4 cases pass" in done.stdout and not done.stderr
    assert "likely cause" not in done.stdout


def test_a_wrong_part_is_named_in_one_line(student):
    done = run_check(student, "atention")
    assert done.returncode == 2 and done.stderr.startswith("error: part 'atention': unknown")
    assert len(done.stderr.splitlines()) == 1


def test_where_code_ends_python_is_named_and_what_came_before_counts(made, student):
    put(made, student, "minbert/attention.py")
    put(made, student, "minbert/model.py", lambda source: f"import os\nos._exit(3)\n{source}")
    done = run_check(student, "attention", "layer")
    assert done.returncode == 1 and "3 of 4 cases pass" in done.stdout
    assert "wrong  attention-heads: ended Python (exit code 3)" in done.stdout
    assert done.stdout.count(": not run\n") == len(PARTS["layer"].cases)


def test_a_case_without_end_is_stopped_and_its_line_shown(made, student):
    def endless(source):
        return source.replace("    contexts = []\n", "    while True:\n        pass\n")

    put(made, student, "minbert/attention.py", endless)
    done = run_check(student, "attention", "--seconds", "1")
    assert done.returncode == 1
    assert "-one-sequence: ended Python (exit code 1), or took more than 1 s" in done.stdout
    assert "attention.py" in done.stderr and "in attention" in done.stderr


def test_it_runs_from_any_folder_under_any_name(made, student, tmp_path):
    put(made, student, "assignment/starter/metrics.py")
    other = student.rename(tmp_path / "Mes études, Übung 1")
    done = run_check(tmp_path, "metrics", script=other / "check.py")
    assert done.returncode == 0 and "3 of 3 cases pass" in done.stdout and not done.stderr


def test_what_is_no_tensor_and_a_broken_file_fail_the_cases_that_need_them_alone(made, student):
    def forgets(source):
        return source.replace("return torch.cat(contexts)", "pass")

    put(made, student, "minbert/attention.py", forgets)
    put(made, student, "assignment/starter/metrics.py")
    put(made, student, "simcse/loss.py", lambda source: source + "\n)\n")
    suite = read_suite(student / "checks")
    results = check(student / "checks", student, suite, ["attention", "metrics", "simcse"])
    passed = {result.part: result.passed for result in results}
    assert passed == {"attention": False, "metrics": True, "simcse": False}
    lines = report(suite, results)
    assert any('raised TypeError: "context" is of type NoneType' in line for line in lines)
    assert any("SyntaxError" in line for line in lines)
    assert not any("driver.py" in line for line in lines)
