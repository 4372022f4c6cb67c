"""`python -m assignment score`: scikit-learn's and scipy's numbers, and the course's aggregate."""

import csv

import numpy as np
import pytest
from made_submissions import (
    MINE,
    SIZES,
    course_repository,
    gold_of,
    predictions,
    text_of,
    working_folder,
    write_data,
    write_submission,
)
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score

from assignment.__main__ import main
from assignment.submission.score import aggregate, aggregate_interval, filled

TASKS = ("sst", "para", "sts")


@pytest.fixture
def place(tmp_path, monkeypatch):
    return working_folder(tmp_path, monkeypatch)


def scored(capsys, *words):
    """Return the rows of scores.csv by task, split and metric."""
    assert main(["score", *words, "--gold", "data", "--csv", "scores.csv"]) == 0
    assert capsys.readouterr().err == ""
    with open("scores.csv") as file:
        rows = list(csv.DictReader(file))
    return {(row["task"], row["split"], row["metric"]): row for row in rows}


def test_scores_are_those_of_scikit_learn_and_scipy(place, capsys):
    write_submission(place / "mine")
    rows = scored(capsys, "mine")
    for split in SIZES:
        gold = {task: gold_of(task, split) for task in TASKS}
        found = {task: np.array(predictions(task, split)) for task in TASKS}
        expected = {
            ("sst", "accuracy"): accuracy_score(gold["sst"], found["sst"]),
            ("sst", "f1"): f1_score(gold["sst"], found["sst"], average="macro"),
            ("para", "accuracy"): accuracy_score(gold["para"], found["para"]),
            ("para", "f1"): f1_score(gold["para"], found["para"]),
            ("sts", "pearson"): pearsonr(gold["sts"], found["sts"])[0],
            ("sts", "spearman"): spearmanr(gold["sts"], found["sts"])[0],
        }
        right = expected["sst", "accuracy"] + expected["para", "accuracy"]
        expected["all", "aggregate"] = (right + (1 + expected["sts", "pearson"]) / 2) / 3
        for (task, metric), value in expected.items():
            row = rows[task, split, metric]
            assert float(row["value"]) == pytest.approx(value)
            assert float(row["low"]) < value < float(row["high"])
    assert len(rows) == 2 * 7
    for task in TASKS[:2]:
        (place / "mine" / f"{task}-dev-output.csv").write_text(
            text_of(task, "dev", values=gold_of(task, "dev"))
        )
    best = scored(capsys, "mine")["all", "dev", "aggregate"]
    assert float(best["low"]) < float(best["value"]) < float(best["high"]) <= 1


def test_a_single_file_and_two_classes_are_scored_too(place, capsys):
    write_submission(place / "first", tasks=("sst", "cfimdb"))
    (place / "sts-test-out.csv").write_text(text_of("sts", "test", "handout"))
    measured = {("sts", "test", metric) for metric in ("pearson", "spearman")}
    assert scored(capsys, "sts-test-out.csv").keys() == measured
    rows = scored(capsys, "first")
    right = np.mean(gold_of("cfimdb", "dev") == predictions("cfimdb", "dev"))
    assert float(rows["cfimdb", "dev", "accuracy"]["value"]) == pytest.approx(right)
    assert ("all", "dev", "aggregate") not in rows


def test_no_answer_counts_as_wrong_and_no_similarity_as_the_mean_of_those_given(place, capsys):
    for task in ("sst", "para"):
        values = [None] * 10 + gold_of(task, "dev")[10:].tolist()
        (place / f"{task}-dev-out.csv").write_text(text_of(task, "dev", "handout", values))
        row = scored(capsys, f"{task}-dev-out.csv")[task, "dev", "accuracy"]
        assert (float(row["value"]), row["empty"]) == (30 / 40, "10")
    labels = np.array([0.0, 5.0, 1.0, 4.0])
    found = filled("sts", [1.0, 4.0, np.nan, 1.0], labels)
    assert found.tolist() == [1.0, 4.0, 2.0, 1.0]
    assert filled("sts", [np.nan] * 4, labels).tolist() == [0.0] * 4


def test_labels_that_are_kept_back_leave_the_dev_scores(place, capsys):
    write_data(place / "data", labelled=("dev",))
    write_submission(place / "mine")
    assert {split for _, split, _ in scored(capsys, "mine")} == {"dev"}
    assert main(["score", "mine/sst-test-output.csv", "--gold", "data"]) == 2
    assert "data: no labels of sst test" in capsys.readouterr().err


def test_a_foreign_file_costs_no_other_its_score(place, capsys):
    write_submission(place / "mine")
    (place / "mine" / "notes.csv").write_bytes(b"x" * (2**24 + 1))
    (place / "mine" / "corpus.txt").symlink_to("/etc/hosts")
    assert ("all", "dev", "aggregate") in scored(capsys, "mine")
    (place / "mine" / "sst-dev-output.csv").write_text("id \t Predicted_Sentiment \nzz , 1 \n")
    assert main(["score", "mine", "--gold", "data", "--csv", "scores.csv"]) == 2
    out, error = capsys.readouterr()
    assert "| sts-test-output.csv" in out.replace("mine/", "") and "| all three" in out
    assert "not scored: mine/sst-dev-output.csv:2: id 'zz' is not in" in out
    assert error == "error: mine: 1 file(s) not scored, listed above; correct them\n"


@pytest.mark.parametrize(
    ("path", "folder", "skill"),
    [("predictions", MINE, 0.7), (f"{MINE}/multitask", "multitask", 0.5)],
)
def test_each_model_of_the_course_in_goettingen_has_an_aggregate(
    path, folder, skill, tmp_path, monkeypatch
):
    monkeypatch.chdir(course_repository(tmp_path / "mine"))
    assert main(["score", path, "--gold", "data", "--csv", "scores.csv"]) == 0
    with open("scores.csv") as file:
        rows = list(csv.DictReader(file))
    values = {(row["file"], row["metric"]): float(row["value"]) for row in rows}
    # The test labels are kept back.
    assert len(values) == len(rows) == 7 and {row["split"] for row in rows} == {"dev"}
    expected = accuracy_score(gold_of("sst", "dev"), predictions("sst", "dev", skill))
    name = f"{folder}/sst-sentiment-dev-output.csv"
    assert values[name, "accuracy"] == pytest.approx(expected)
    r = values[f"{folder}/sts-similarity-dev-output.csv", "pearson"]
    right = expected + values[f"{folder}/quora-paraphrase-dev-output.csv", "accuracy"]
    mean = (right + (1 + r) / 2) / 3
    assert values["all three", "aggregate"] == pytest.approx(mean)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("sst-dev-out.csv", "id,Predicted_Sentiment\nsstdev000,9\n", ":2: prediction is '9'"),
        ("sst-dev-out.csv", "id,Predicted_Sentiment\nzz,1\n", ":2: id 'zz' is not in ids-sst-dev"),
        ("sst-dev-out.csv", "", ":1: not a header of predictions"),
        ("x.csv", "id,Predicted_Sentiment\nsstdev000,1\n", ": no predictions, expected such as"),
    ],
)
def test_what_cannot_be_scored_is_one_line(name, text, message, place, capsys):
    (place / name).write_text(text)
    code = main(["score", name, "--gold", "data"])
    err = capsys.readouterr().err
    assert code == 2 and err.startswith(f"error: {name}{message}") and err.count("\n") == 1


def test_the_aggregates_interval_adds_squares_of_distances():
    parts = {
        "sts": (0.4, 0.28, 0.46),  # counts half: r grows from -1 to 1
        "para": (0.8, 0.74, 0.83),
        "cfimdb": (None, 0.1, 0.2),
        "sst": (0.5, None, None),
    }
    low, high = 0.65 - np.hypot(0.06, 0.06) / 4, 0.65 + np.hypot(0.03, 0.03) / 4
    assert aggregate_interval(0.65, parts) == (pytest.approx(low), pytest.approx(high))
    assert aggregate_interval(0.5, {"sst": (0.5, None, None)}) == (None, None)


def test_an_undefined_score_leaves_no_aggregate(place, capsys):
    assert aggregate({"sst": 0.5, "para": 0.5, "sts": None}) is None
    write_submission(place / "mine", tasks=("sst", "para"))
    (place / "mine" / "sts-dev-output.csv").write_text(text_of("sts", "dev", values=[2.5] * 40))
    row = scored(capsys, "mine")["all", "dev", "aggregate"]
    assert row["value"] == "" and row["low"] == ""
