"""Prediction files: every dialect is read, every fault is one line with its place."""

import pytest

from data.examples import DataError, SentencePair
from data.predictions import read_predictions

ROWS = [SentencePair(name, "x", "y", 1.0) for name in ("a1", "b2")]


def written(folder, text):
    path = folder / "predictions.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "id \t Predicted_Similiary \nb2 , 2.5 \na1 , 1.0 \n",  # the course's, odd as it is
        "id\tPredicted_Similiary\nb2\t2.5\na1\t1\n",
        "id,Predicted_Similarity\nb2,2.5\na1,1\n",  # a student's own
        "id \t Predicted_Similiary \nB2, 2.5 \n\nA1, 1.0",
        "\ufeffid,predicted_similarity\r\nb2,2.5\r\na1,1e0\r\n",
    ],
)
def test_every_dialect_is_read(text, tmp_path):
    found = read_predictions(written(tmp_path, text))
    assert found.task.name == "sts"
    assert found.aligned(ROWS, "gold.csv") == [1.0, 2.5]


@pytest.mark.parametrize(
    ("header", "task"), [("Predicted_Sentiment", "sst"), ("Predicted_Is_Paraphrase", "para")]
)
def test_the_header_says_of_which_task_they_are(header, task, tmp_path):
    found = read_predictions(written(tmp_path, f"id \t {header} \na1 , 1.0 \n"))
    assert found.task.name == task and found.values == {"a1": (2, 1.0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: not a header"),
        ("id,score\na1,1\n", ":1: not a header"),
        ("a1,1\n", ":1: not a header"),
        ("id,Predicted_Similarity\n", ": has a header but no rows"),
        ("id,Predicted_Similarity\na1,1\nb2\n", ":3: 1 fields"),
        ("id,Predicted_Similarity\na1,1,2\n", ":2: 3 fields"),
        *(
            (
                f"id,Predicted_Similarity\na1,{odd}\n",
                f":2: prediction is '{odd}', expected a number",
            )
            for odd in ("high", "nan", "inf", "1_0", "٣", "３", "0x1", "1e999", "--1")
        ),
        ("id,Predicted_Similarity\na1,\x1c 1\n", ":2: prediction is "),
        ("id,Predicted_Sentiment\na1,5\n", ":2: prediction is '5', expected a class from 0 to 4"),
        ("id,Predicted_Is_Paraphrase\na1,0.7\n", ":2: prediction is '0.7'"),
        ("id,Predicted_Similarity\na1,1\n\nA1,2\n", ":4: id 'a1' is on line 2 too"),
    ],
)
def test_a_fault_is_one_line_with_its_place(text, message, tmp_path):
    path = written(tmp_path, text)
    with pytest.raises(DataError) as error:
        read_predictions(path)
    assert f"{path}{message}" in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a1,1\nb2,2\nc3,3\n", ":4: id 'c3' is not in gold.csv"),
        ("b2,2\n", ":2: ends without 1 of the 2 ids of gold.csv (the first: 'a1')"),
    ],
)
def test_every_row_is_predicted_and_no_other(rows, message, tmp_path):
    path = written(tmp_path, f"id,Predicted_Similarity\n{rows}")
    with pytest.raises(DataError) as error:
        read_predictions(path).aligned(ROWS, "gold.csv")
    assert f"{path}{message}" in str(error.value)


def test_what_is_off_the_scale_is_told_and_kept(tmp_path, caplog):
    path = written(tmp_path, "id,Predicted_Similarity\na1,-1\nb2,5.0001\nc3,5\nd4,0\n")
    found = read_predictions(path)
    assert found.values["a1"] == (2, -1.0)
    assert [one.getMessage() for one in caplog.records] == [
        f"{path}: 2 of 4 similarities are not from 0 to 5; Pearson's r takes any scale"
    ]
