"""The walks of docs/classroom.md: an instructor's, a student's, and a class that is marked.

One part is made, of four cases: what is printed is the same with twelve, and takes minutes less.
"""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from made_class import FORGES, NEVER_ENDS, hand_in, mistake_in
from made_submissions import write_data, write_submission
from markupsafe import escape

from assignment.__main__ import main

PART = ("attention",)
SECONDS = "10"  # of a core: importing torch takes two
MISTAKEN = {
    "ben": "no-scaling",
    "cleo": "softmax-axis",
    "dora": "scaled-by-size",
    "finn": "no-scaling",
    "gus": "multiplied",
}
HOSTILE = {"eve": FORGES, "mia": NEVER_ENDS % "attention"}


@pytest.fixture(scope="module")
def fall(tmp_path_factory, toy_data) -> Path:
    """What an instructor makes, with the command of the page."""
    folder = tmp_path_factory.mktemp("term") / "fall"
    words = ["--out", str(folder), "--term-seed", "7", "--parts", *PART, "--data", str(toy_data)]
    assert main(["make", *words]) == 0
    return folder


@pytest.fixture(scope="module")
def marks(fall, tmp_path_factory) -> Path:
    """The marks of ten submissions, as folders and zips; two are hostile."""
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


def test_an_instructor_makes_a_terms_assignment(toy_data, tmp_path, capsys):
    out = tmp_path / "fall"
    words = ["--out", str(out), "--term-seed", "7", "--parts", "open", "--data", str(toy_data)]
    assert main(["make", *words]) == 0
    printed = f"{out}/student: to hand out; {out}/instructor: to keep (seed 7)\n"
    assert capsys.readouterr().out == printed
    for name in ("checks", "handout.md", "handout.html", "datasets", "requirements.txt"):
        assert (out / "student" / name).exists()
    for name in ("hidden", "rubric.md", "reference", "autograder"):
        assert (out / "instructor" / name).exists()


def test_ten_submissions_have_their_marks_two_hostile_ones_among_them(fall, marks):
    found = table(marks)
    earned = {name: int(row["score"]) for name, row in found.items()}
    assert earned.pop("ada") == earned.pop("ivy") == 11
    # Her heads are not written; everything else is.
    assert earned.pop("hal") == 7
    assert all(points < 11 for points in earned.values()) and len(earned) == 7
    assert earned["ben"] == earned["finn"] == earned["eve"] == earned["mia"] == 0
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
