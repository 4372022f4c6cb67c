"""`python -m assignment leaderboard`: ranked, tested, escaped; nobody's file stops the others."""

import re

import numpy as np
import pytest
from made_submissions import (
    SIZES,
    gold_of,
    predictions,
    text_of,
    working_folder,
    write_data,
    write_submission,
    zipped,
)
from scipy.stats import norm, pearsonr

from assignment.__main__ import main
from assignment.submission.leaderboard import make_board, p_value
from assignment.submission.score import aggregate_interval
from evaluation.intervals import Interval
from evaluation.significance import compare, holm

TASKS = ("sst", "para", "sts")
EVIL = "=cmd|<img src=x onerror=alert(1)>[a](javascript:b)"


@pytest.fixture
def place(tmp_path, monkeypatch):
    return working_folder(tmp_path, monkeypatch)


def of(skill, seed, split="test"):
    return {task: np.array(predictions(task, split, skill, seed)) for task in TASKS}


LABELS = {task: gold_of(task, "test") for task in TASKS}


def board_of(capsys, *words):
    code = main(["leaderboard", "all", "--gold", "data", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def test_places_are_by_the_aggregate_of_the_course():
    board = make_board({f"s{k}": of(0.5 + k / 10, k) for k in range(4)}, LABELS, "test")
    values = []
    for place in board.places:
        found = of(0.5 + int(place.name[1]) / 10, int(place.name[1]))
        right = [np.mean(found[task] == LABELS[task]) for task in TASKS[:2]]
        values.append(np.mean([*right, (1 + pearsonr(found["sts"], LABELS["sts"])[0]) / 2]))
        assert place.value == pytest.approx(values[-1])
        assert place.interval.low < place.value < place.interval.high
    assert values == sorted(values, reverse=True)
    assert [place.rank for place in board.places] == [1, 2, 3, 4]
    (best,) = make_board({"best": LABELS | {"sts": of(0.9, 1)["sts"]}}, LABELS, "test").places
    assert best.interval.low < best.value < best.interval.high <= 1


def test_neighbours_are_tested_on_the_same_rows():
    submissions = {"c": of(0.7, 3), "b": of(0.4, 2), "a": of(0.9, 1)}
    board = make_board(submissions, LABELS, "test")
    assert [(test.a, test.b) for test in board.ahead] == [("a", "c"), ("c", "b")]
    assert [test.p_holm for test in board.ahead] == holm([test.p for test in board.ahead])
    parts = {}
    for task in TASKS:
        metric = "pearson" if task == "sts" else "accuracy"
        systems = {name: {0: submissions[name][task]} for name in "ac"}
        _, (versus,) = compare(task, metric, systems, LABELS[task])
        parts[task] = versus.difference, versus.interval
    first = board.ahead[0]
    assert first.difference == pytest.approx(
        (parts["sst"][0] + parts["para"][0] + parts["sts"][0] / 2) / 3
    )
    interval = aggregate_interval(first.difference, parts)  # of other resamples
    ends = interval.low, interval.high
    assert (first.interval.low, first.interval.high) == pytest.approx(ends, abs=0.01)
    assert first.p == p_value(first.difference, first.interval)


def test_p_and_interval_decide_alike():
    for low, high in ((0.0001, 0.02), (-0.0001, 0.02), (-0.02, 0.0001), (-0.02, -0.0001)):
        middle = (low + high) / 2
        assert (p_value(middle, Interval(low, high, "")) < 0.05) == (low > 0 or high < 0)
    assert p_value(0.1, Interval(0, 0.2, "")) == pytest.approx(0.05)
    # Half an interval that is 0.05 wide has 1.96 standard errors.
    p = 2 * norm.cdf(-0.1 / (0.05 / norm.ppf(0.975)))
    assert p_value(0.1, Interval(0.05, 0.3, "")) == pytest.approx(p)
    assert (p_value(0.0, None), p_value(0.1, None)) == (1.0, None)


def test_equal_submissions_share_a_rank_and_an_undefined_aggregate_has_none():
    constant = of(0.9, 1) | {"sts": np.full(SIZES["test"], 2.5)}
    same, weak = of(0.7, 1), of(0.3, 2)
    board = make_board({"u": constant, "x": same, "y": same, "z": weak}, LABELS, "test")
    ranks = [(place.name, place.rank) for place in board.places]
    assert ranks == [("x", 1), ("y", 1), ("z", 3), ("u", None)]
    equal, _, undefined = board.ahead
    assert (equal.difference, equal.decided, equal.p, undefined.p) == (0, False, 1.0, None)


def test_a_class_is_ranked_and_the_broken_are_told(place, capsys):
    for name, skill, spelling in (("anna", 0.6, "goettingen"), ("ben", 0.9, "handout")):
        write_submission(place / "all" / name / "predictions", spelling, skill=skill)
    zipped(write_submission(place / "carl", skill=0.3), place / "all" / "carl.zip")
    (place / "all" / "dora").mkdir()
    (place / "all" / "emil.zip").write_bytes(b"no zip")
    write_submission(place / "all" / "finn")
    (place / "all" / "finn" / "sst-test-output.csv").write_text(text_of("sst", "dev"))
    (place / "all" / "gina").symlink_to(place / "carl")
    (place / "all" / ".hidden").mkdir()
    (place / "all" / "notes.txt").write_text("passed over")
    code, out, err = board_of(capsys, "--html", "board.html")
    assert (code, err) == (0, "")
    ranked = re.findall(r"^\| (\S+) +\| (\d) +\| \d", out, re.M)
    assert ranked == [("ben", "1"), ("anna", "2"), ("carl.zip", "3")]
    verdicts = re.findall(r"^- (\S+) beats (\S+) by 0\.\d+ aggregate \(", out, re.M)
    assert verdicts[0] == ("ben", "anna")
    broken = dict(re.findall(r"^\| (\S+) +\| (.+?) +\|$", out.split("first fault")[1], re.M))
    assert list(broken)[1:] == ["dora", "emil.zip", "finn", "gina"]
    assert "not a valid zip" in broken["emil.zip"] and "symbolic link" in broken["gina"]
    assert "they are of sst dev; mixed up?" in broken["finn"]
    page = (place / "board.html").read_text()
    assert all(name in page for name in ("anna", "ben", "carl.zip", "dora", "finn"))


def test_names_are_words_everywhere(place, capsys):
    for name, seed in ((EVIL, 1), ("@sum\x1b[2J", 2), ("plain", 3)):
        write_submission(place / "all" / name, seed=seed)
    (place / "all" / f"{EVIL}.zip").write_text("no zip")
    code, out, _ = board_of(capsys, "--html", "board.html")
    page = (place / "board.html").read_text()
    board_of(capsys, "--html", "board.html")
    assert page == (place / "board.html").read_text()
    assert code == 0 and "\x1b" not in out and "\\<img" in out and "\\[a\\](" in out
    assert all(line.count("|") - line.count("\\|") == 7 for line in out.splitlines()[:5])
    assert "&lt;img src=x" in page and "<img" not in page
    assert not re.search(r"(src|href)=\"(?!#|data:)|https?://|@import|url\(", page)


def test_only_what_counts_must_be_there_and_no_submission_is_told(place, capsys):
    write_data(place / "data", labelled=("dev",))
    write_submission(place / "all" / "x", tasks=("sst",))
    assert board_of(capsys, "--split", "dev", "--tasks", "sst")[0] == 0
    code, out, _ = board_of(capsys, "--split", "dev")
    assert code == 0 and "para-dev-output.csv is missing; add it" in out and "aggregate" not in out
    code, _, err = board_of(capsys)
    assert code == 2 and err.startswith("error: data: no labels of sst test; give the folder")
    write_data(place / "data")
    for folder in ("none", "data"):
        assert main(["leaderboard", folder, "--gold", "data"]) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"error: {folder}: no ") and err.count("\n") == 1
