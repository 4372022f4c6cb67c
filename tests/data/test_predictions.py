"""Prediction files: every dialect is read, every fault is one line with its place."""

import pytest
from reading import error_of, write

from data.examples import SentencePair
from data.predictions import read_predictions

ROWS = [SentencePair(name, "x", "y", 1.0) for name in ("a1", "b2")]


@pytest.mark.parametrize(
    "text",
    [
        "id \t Predicted_Similiary \nb2 , 2.5 \na1 , 1.0 \n",  # the course's, odd as it is
        "id\tPredicted_Similiary\nb2\t2.5\na1\t1\n",
        "id,Predicted_Similarity\nb2,2.5\na1,1\n",  # a student's own
        "id \t Predicted_Similiary \nB2, 2.5 \n\nA1, 1.0",
        "\ufeffid,predicted_similarity\r\nb2,2.5\r\na1,1e0\r\n",
        '"id","Predicted_Similarity"\n"b2","2.5"\n"a1","1"\n',  # pandas, all quoted
    ],
)
def test_every_dialect_is_read(text, tmp_path):
    predictions = read_predictions(write(tmp_path, text))
    assert predictions.task.name == "sts"
    assert predictions.aligned(ROWS, "gold.csv") == [1.0, 2.5]


@pytest.mark.parametrize(
    ("header", "task"), [("Predicted_Sentiment", "sst"), ("Predicted_Is_Paraphrase", "para")]
)
def test_the_header_says_of_which_task_they_are(header, task, tmp_path):
    predictions = read_predictions(write(tmp_path, f"id \t {header} \na1 , 1.0 \n"))
    assert predictions.task.name == task and predictions.values == {"a1": (2, 1.0)}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a1,1\nb2,2\nc3,3\n", ":4: id 'c3' is not in gold.csv"),
        ("b2,2\n", ":2: ends without 1 of the 2 ids of gold.csv (the first: 'a1')"),
    ],
)
def test_every_row_is_predicted_and_no_other(rows, message, tmp_path):
    path = write(tmp_path, f"id,Predicted_Similarity\n{rows}")
    assert error_of(read_predictions(path).aligned, ROWS, "gold.csv").startswith(f"{path}{message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id;Predicted_Similarity\na1;1,5\n", ":1: not a header"),
        (",id,Predicted_Similarity\n0,a1,1\n", ":1: not a header"),
        ("id\tPredicted_Similarity\na1\t1,5\n", ":2: a tab and a comma, expected an id and"),
        ("id,Predicted_Similarity\na1,\n", ":2: prediction is '', expected a number"),
    ],
)
def test_other_forms_are_refused(text, message, tmp_path):
    path = write(tmp_path, text)
    assert error_of(read_predictions, path).startswith(f"{path}{message}")


def test_what_is_off_the_scale_is_told_and_kept(tmp_path, caplog):
    path = write(tmp_path, "id,Predicted_Similarity\na1,-1\nb2,5.0001\nc3,5\nd4,0\n")
    predictions = read_predictions(path)
    assert predictions.values["a1"] == (2, -1.0)
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: 2 of 4 similarities are not from 0 to 5; Pearson's r takes any scale"
    ]
