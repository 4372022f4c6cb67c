"""Marks written down: Gradescope's keys and values, the class's table, its page, the command."""

import csv
import io
import json
import os
import shutil
from dataclasses import replace

import pytest
from made_submissions import TASKS, gold_of, predictions, text_of, write_data, write_submission
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score
from small_suite import ABOUT, FILES, any_way, exam, submission, write_suite

from assignment import checked, grade, sandbox
from assignment.__main__ import main
from assignment.class_page import render
from assignment.compare import CaseResult
from assignment.grade import open_gold, with_leaderboard
from assignment.hand import with_hand
from assignment.marks import Mark, for_gradescope, total, write_class, write_feedback
from data.examples import DataError
from runtime.errors import UserError

RESULTS = [
    CaseResult("double", "sums", False, "no answer"),
    CaseResult("total", "sums", True),
    CaseResult("mean", "means", False, '"answer" has shape ()', mistakes=("whole",)),
]
STOP = {"double": "the run was stopped: too much of its memory"}
MARK = Mark("ada", RESULTS, STOP, ["work.py: a link"], 12.6)
RIGHT = [replace(r, passed=True, computed="", mistakes=()) for r in RESULTS]
HONEST = Mark("=bob", RIGHT, {}, [], 3.0)
FAILED = Mark("eve", RESULTS, {}, [], machine="/tmp: 1 MB are free, 256 are needed")


def test_results_have_what_gradescope_documents():
    found = for_gradescope(replace(MARK, leaderboard={"accuracy": 0.5}), ABOUT)
    assert found["score"] == 3 and found["execution_time"] == 13
    assert found["visibility"] == "visible" and found["stdout_visibility"] == "hidden"
    assert found["leaderboard"] == [{"name": "accuracy", "value": 0.5, "order": "desc"}]
    assert "work.py: a link" in found["output"]
    first, second, third = found["tests"]
    assert first == {
        "name": "Sums: double",
        "number": "1.1",
        "score": 0,
        "max_score": 2,
        "status": "failed",
        "visibility": "visible",
        "output": f"computed: no answer\n{STOP['double']}",
    }
    assert (second["number"], second["status"], second["score"]) == ("1.2", "passed", 3)
    assert third["visibility"] == "after_published" and third["number"] == "2.1"
    assert third["output"].endswith("likely cause: the mean is over all axes")
    assert sum(test["score"] for test in found["tests"]) == found["score"]
    assert "leaderboard" not in for_gradescope(MARK, ABOUT)
    evil = replace(RESULTS[0], computed="raised \x1b[2J\nscore 9")
    told = for_gradescope(replace(MARK, results=[evil, *RESULTS[1:]], stops={}), ABOUT)
    assert told["tests"][0]["output"] == "computed: raised \\x1b[2J\\nscore 9"


def test_the_table_of_a_class(tmp_path):
    write_class([MARK, HONEST, FAILED], ABOUT, "bubblewrap", tmp_path)
    rows = list(csv.reader(io.StringIO((tmp_path / "marks.csv").read_text())))
    assert rows[0] == ["submission", "score", "sums", "means", "stopped", "sandbox", "not marked"]
    assert rows[1:3] == [
        ["ada", "3", "3", "0", "1", "bubblewrap", ""],
        ["'=bob", "9", "5", "4", "0", "bubblewrap", ""],
    ]
    assert rows[3] == ["eve", "", "", "", "0", "bubblewrap", FAILED.machine]
    # Whether a memory bomb is stopped four or five times is a matter of time, and not told.
    often = replace(MARK, stops=STOP | {"mean": "the run was stopped: time"})
    write_class([often, HONEST, FAILED], ABOUT, "bubblewrap", tmp_path / "again")
    again = tmp_path / "again" / "marks.csv"
    assert again.read_bytes() == (tmp_path / "marks.csv").read_bytes()


def test_the_page_shows_marks_mistakes_and_stops():
    more = [replace(MARK, name=f"s{n}") for n in range(30)]
    page = render([MARK, FAILED, HONEST, *more], ABOUT, "bubblewrap")
    assert "the mean is over all axes" in page and "too much of its memory" in page
    assert "Marks of 32 submissions" in page and 'src="http' not in page
    assert "sandbox: bubblewrap" in page and FAILED.machine in page
    assert "Marks of 1 submission<" in render([HONEST], ABOUT, "none")


OPEN = {**ABOUT, "parts": [*ABOUT["parts"], {"name": "open", "title": "Open", "points": 10}]}
OPEN["parts"][-1]["visibility"] = "visible"


def test_what_cannot_be_read_is_in_no_mean_and_an_unmarked_open_part_is_not_shown():
    unread = replace(MARK, name="mia", fault="mia.zip: not a valid zip")
    page = render([HONEST, unread], OPEN, "none")
    assert "mean 9.0 of 9 points" in page and "mia.zip: not a valid zip" in page
    assert "Marks of 1 submission<" in page and ">Open<" not in page
    page = render([replace(HONEST, hand={"open": 7.5}), MARK], OPEN, "none")
    assert "mean 9.8 of 19 points" in page and ">Open<" in page


def test_right_values_with_wrong_gradients_give_half_of_the_points():
    half = replace(RESULTS[1], passed=False, half=True, computed='"gradient of x" is 0')
    mark = replace(MARK, results=[RESULTS[0], half, RESULTS[2]])
    assert total(mark, ABOUT) == 1.5
    test = for_gradescope(mark, ABOUT)["tests"][1]
    assert (test["score"], test["status"]) == (1.5, "failed")
    assert test["output"].endswith(
        "half of the points: the values are right, and only gradients are wrong"
    )


def test_feedback_has_each_test_with_its_points_and_what_is_wrong(tmp_path):
    evil = replace(MARK, name="<b>ada", hand={"open": 8.0}, comment="Clear <i>question.")
    write_feedback(evil, OPEN, tmp_path)
    text = (tmp_path / "feedback.txt").read_text()
    assert text.startswith(
        "<b>ada: 11 of 19 points\nMarked on hidden cases.\nNote: work.py: a link\n"
    )
    assert "Sums: 3 of 5\n  double: 0 of 2\n    computed: no answer\n" in text
    assert "    likely cause: the mean is over all axes\n" in text
    assert "Open: 8 of 10\n  marked by hand: 8 of 10\n    Clear <i>question.\n" in text
    page = (tmp_path / "feedback.html").read_text()
    assert "&lt;b&gt;ada: 11 of 19 points" in page and "<i>" not in page and "://" not in page
    write_feedback(replace(MARK, fault="ada.zip: broken"), ABOUT, tmp_path)
    assert (tmp_path / "feedback.txt").read_text().endswith("Not marked: ada.zip: broken\n")


def test_points_given_by_hand_count_in_all_that_is_written(tmp_path):
    path = tmp_path / "hand.csv"
    marks = [MARK, HONEST, FAILED]
    assert with_hand(marks, ABOUT, path) == marks and not path.exists()  # no open part
    assert with_hand(marks, OPEN, path) == marks
    assert path.read_text() == "submission,open,comment\nada,,\n'=bob,,\neve,,\n"
    # As a spreadsheet with commas in its numbers writes it.
    path.write_text("\ufeffsubmission;open;comment\nada;7,5;Clear.\n'=bob;10;\neve;;\n", "utf-8")
    ada, bob, eve = with_hand(marks, OPEN, path)
    assert (ada.hand, ada.comment, bob.hand, eve.hand) == (
        {"open": 7.5},
        "Clear.",
        {"open": 10},
        {},
    )
    assert total(ada, OPEN) == 3 + 7.5 and total(ada, OPEN, "open") == 7.5
    write_class([ada, bob, eve], OPEN, "none", tmp_path)
    rows = list(csv.reader((tmp_path / "marks.csv").open(encoding="utf-8")))
    assert [row[:5] for row in rows[1:3]] == [
        ["ada", "10.5", "3", "0", "7.5"],
        ["'=bob", "19", "5", "4", "10"],
    ]
    last = for_gradescope(ada, OPEN)["tests"][-1]
    assert (last["score"], last["max_score"], last["output"]) == (7.5, 10, "Clear.")
    # A new submission gets a row, and nothing else of the file changes.
    before = path.read_text()
    with_hand([MARK, replace(MARK, name="zoe")], OPEN, path)
    assert path.read_text() == before.removeprefix("\ufeff") + "zoe;;\n"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("ada,11,\n", ":2: 'open' is '11'; expected points from 0 to 10"),
        ("ada,-1,\n", ":2: 'open' is '-1'; expected points from 0 to 10"),
        ("ada,many,\n", ":2: 'open' is 'many'; expected points from 0 to 10"),
        ("ada,nan,\n", ":2: 'open' is 'nan'; expected points from 0 to 10"),
        ("ada,9,good, but late\n", ":2: another number of fields; write a comment in quotes"),
        ("ada,9\n", ":2: another number of fields; write a comment in quotes"),
        ("ada,9,\nada,,\n", ":3: 'ada' is there twice; delete one of its rows"),
    ],
)
def test_what_is_not_understood_of_points_is_refused_and_the_file_stays(tmp_path, rows, told):
    path = tmp_path / "hand.csv"
    path.write_text(f"submission,open,comment\n{rows}" + "ben,7,\n" * 1)
    before = path.read_bytes()
    with pytest.raises(UserError) as error:
        with_hand([MARK, replace(MARK, name="zoe")], OPEN, path)
    assert str(error.value) == f"{path}{told}" and path.read_bytes() == before


def test_rows_of_points_are_found_by_their_names_and_others_are_told(tmp_path, caplog):
    path = tmp_path / "hand.csv"
    path.write_text("""grader,submission,open,comment
x,'=bob,10,"Two
lines, - and a comma."
x,'Abdul,7,
x,7,9,lost its zeros
""")
    marks = [replace(MARK, name=name) for name in ("=bob", "'Abdul", "007")]
    bob, abdul, seven = with_hand(marks, OPEN, path)
    assert (bob.hand, abdul.hand, seven.hand) == ({"open": 10}, {"open": 7}, {})
    assert bob.comment == "Two\nlines, - and a comma."
    assert "1 row(s) of no submission: 7" in caplog.text


def test_names_that_somebody_chose_harm_neither_table_nor_page(tmp_path):
    script = "<script>alert(1)</script>"
    names = ["=1+1", "\t=1+1", "＝1+1", " +1", "\x1b[2J", "a\nb", "x" * 200, "\udcff", script]
    marks = [replace(MARK, name=name) for name in names]
    write_class(marks, ABOUT, "none", tmp_path)
    rows = list(csv.reader(io.StringIO((tmp_path / "marks.csv").read_text("utf-8"))))
    assert len(rows) == 1 + len(names)
    for shown, *_ in rows:
        assert shown.isprintable() and shown.strip()[:1] not in "=+-@＝"
    page = render(marks, ABOUT, "none")
    assert page.encode() and "\x1b" not in page
    assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["grade"], "nothing to grade"),
        (["grade", "gone", "--suite", "nowhere"], "not a suite written by make"),
    ],
)
def test_wrong_words_are_told_in_one_line(words, told, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1


@pytest.fixture
def small(monkeypatch):
    """Let the command grade the suite of three sums; what its sandbox was chosen for."""
    chosen_for = []

    def choose(*arguments):
        chosen_for.append(arguments)
        return any_way()

    monkeypatch.setattr(grade, "Exam", lambda suite, *rest: exam(suite))
    monkeypatch.setattr(grade, "asked_files", lambda parts: FILES)
    monkeypatch.setattr(checked, "choose", choose)
    return chosen_for


def test_a_class_with_all_that_people_hand_in_has_a_row_for_each(tmp_path, capsys, small):
    members, suite = tmp_path / "class", write_suite(tmp_path / "term" / "hidden")
    submission(suite.parent / "reference")
    for name in ("class.html", "ada", "ben", "ben/second"):
        submission(members / name)
    shutil.make_archive(str(members / "ada"), "zip", members / "ben")
    os.utime(members / "ada.zip", (0, 0))
    for name in ("cleo.tar.gz", "dora.ipynb", "marks.csv", ".DS_Store"):
        (members / name).write_text("no zip")
    (members / "eve.zip").symlink_to(members / "ada.zip")
    for path in ("fay/a.zip", "fay/b.zip", "gus/1/2/3/a.zip"):
        (members / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(members / "ada.zip", members / path)
    words = ["grade", str(members), "--suite", str(suite), "--out", str(tmp_path / "marks")]
    assert main(words) == 0
    hidden = [suite, suite.parent / "reference"]
    skipped = {"lines": [], "bytecode": [], "skip": [str(members)]}
    assert small == [("", hidden, False, skipped)]
    rows = csv.DictReader((tmp_path / "marks" / "marks.csv").open(encoding="utf-8"))
    found = {row["submission"]: (row["score"], row["not marked"]) for row in rows}
    assert found == {
        "ada": ("9", ""),
        "ada.zip": ("0", "ada, which is newer, was graded under this name"),
        "ben": ("9", ""),
        "class.html": ("9", ""),
        "cleo.tar.gz": ("0", "cleo.tar.gz: no folder and no .zip; hand in a zip"),
        "dora.ipynb": ("0", "dora.ipynb: no folder and no .zip; hand in a zip"),
        "eve.zip": ("0", "eve.zip: a link; hand in a zip"),
        "fay": ("9", ""),
        "gus": ("9", ""),
        "marks.csv": ("0", "marks.csv: no folder and no .zip; hand in a zip"),
    }
    assert f"sandbox: {any_way().name}" in capsys.readouterr().out
    feedback = tmp_path / "marks" / "feedback" / "marks.csv" / "feedback.txt"
    assert feedback.read_text().startswith("marks.csv: 0 of 9 points")


def test_nothing_is_graded_where_the_solution_does_not_get_all_points(tmp_path, capsys, small):
    submission(tmp_path / "class" / "ada")
    suite = write_suite(tmp_path / "term" / "hidden")
    words = ["grade", str(tmp_path / "class"), "--suite", str(suite), "--out"]
    words.append(str(tmp_path / "out"))
    assert main(words) == 2 and "reference: no solution" in capsys.readouterr().err
    submission(suite.parent / "reference", "import nothing")
    assert main([*words, "--single"]) == 1 and small[0][2]  # one submission, alone
    error = capsys.readouterr().err
    assert f"in this sandbox ({any_way().name}) the solution gets 0 of 9 points (double" in error
    assert "No module named" in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def gold(tmp_path_factory):
    """The labels of test files, as `make` gives them to an instructor."""
    return open_gold(write_data(tmp_path_factory.mktemp("gold"), labelled=("test",)))


def test_scores_for_gradescopes_leaderboard_give_no_points(tmp_path, gold):
    folder = write_submission(tmp_path / "class" / "ada" / "predictions").parent
    mark = with_leaderboard(HONEST, folder, *gold)
    pairs = [(gold_of(task, "test"), predictions(task, "test")) for task in TASKS]
    sst, para = (accuracy_score(*pair) for pair in pairs[:2])
    sts = float(pearsonr(*pairs[2])[0])
    value = (sst + para + (1 + sts) / 2) / 3
    expected = {"sst accuracy": sst, "para accuracy": para, "sts pearson": sts, "aggregate": value}
    assert mark.leaderboard == pytest.approx(expected)
    assert total(mark, ABOUT) == total(HONEST, ABOUT) and mark.left == HONEST.left
    shutil.make_archive(str(tmp_path / "ada"), "zip", folder)
    assert with_leaderboard(HONEST, tmp_path / "ada.zip", *gold) == mark
    write_class([mark, replace(HONEST, name="ben")], ABOUT, "none", tmp_path / "marks")
    rows = list(csv.DictReader((tmp_path / "marks" / "marks.csv").open(encoding="utf-8")))
    assert float(rows[0]["aggregate"]) == pytest.approx(value) and rows[1]["aggregate"] == ""
    assert f"{value:.3f}" in render([mark], ABOUT, "none")


def test_a_fault_is_told_and_there_is_no_place(tmp_path, gold):
    folder = write_submission(tmp_path / "ada")
    (folder / "sts-test-output.csv").write_text(text_of("sts", "test", values=[2.0] * 60))
    mark = with_leaderboard(HONEST, folder, *gold)  # similarities that are all alike have no value
    assert set(mark.leaderboard) == {f"{task} accuracy" for task in TASKS[:2]}
    values = [7.0] * 60
    (folder / "sst-test-output.csv").write_text(text_of("sst", "test", values=values))
    mark = with_leaderboard(HONEST, folder, *gold)
    assert not mark.leaderboard
    told = for_gradescope(mark, ABOUT)["output"]
    assert "Note: predictions: ada/sst-test-output.csv:2" in told
    (tmp_path / "empty").mkdir()
    mark = with_leaderboard(HONEST, tmp_path / "empty", *gold)
    assert "predictions: empty: no file" in mark.left[-1]


def test_a_folder_without_labels_is_refused(tmp_path):
    folder = write_data(tmp_path / "unlabelled", labelled=())
    with pytest.raises(DataError, match="no labels of a test file"):
        open_gold(folder)


def test_grading_goes_on_where_it_stopped_and_grades_what_is_new_or_changed(
    tmp_path, capsys, small, monkeypatch
):
    members, marks = tmp_path / "class", tmp_path / "marks"
    suite = write_suite(tmp_path / "term" / "hidden")
    for folder in (suite.parent / "reference", members / "ada", members / "ben", members / "cleo"):
        submission(folder)
    words = ["grade", str(members), "--suite", str(suite), "--out", str(marks)]
    real, asked = sandbox.run, []

    def run(job, *rest):
        if job.returns:  # it is no trial of the sandbox
            asked.append(job.command)
        if len(asked) == 3:  # the solution, ada, and then Ctrl-C
            raise KeyboardInterrupt
        return real(job, *rest)

    monkeypatch.setattr(sandbox, "run", run)
    assert main(words) == 130
    (row,) = csv.DictReader((marks / "marks.csv").open(encoding="utf-8"))
    assert (row["submission"], row["score"]) == ("ada", "9")
    asked[:] = ["the rest"] * 9
    assert main(words) == 0 and len(asked) == 9 + 2  # ben and cleo, and not the solution again
    table = (marks / "marks.csv").read_bytes()
    assert main(words) == 0 and len(asked) == 11 and (marks / "marks.csv").read_bytes() == table
    submission(members / "ben", "def double(values):\n    return 2 * values\n")
    submission(members / "dora")
    assert main(words) == 0 and len(asked) == 13
    rows = csv.DictReader((marks / "marks.csv").open(encoding="utf-8"))
    assert {row["submission"]: row["score"] for row in rows} == {
        "ada": "9",
        "ben": "2",
        "cleo": "9",
        "dora": "9",
    }
    assert len(small) == 1  # one search for the solution
    assert main([*words, "--again"]) == 0 and len(asked) == 13 + 5 and len(small) == 2
    # Other tests, another machine: the solution is graded again.
    write_suite(tmp_path / "other")
    about = json.loads((suite / "suite.json").read_text())
    (suite / "suite.json").write_text(json.dumps(about | {"more": 1}))
    assert main(words) == 0 and len(asked) == 18 + 5 and len(small) == 3
