"""New texts from a file: rows in pieces, ids or line numbers, and the numbers of the head."""

import numpy as np
import pytest
import torch
from scipy.special import softmax

from data.examples import DataError
from data.tasks import OWN, TASKS
from heads import predict
from heads.features import FEATURES
from heads.heads import build_head
from heads.saved import SavedHead


@pytest.fixture
def head_of(tiny_encoder):
    """The function that returns a random head of a task on the tiny encoder."""

    def make(task, reader="bi"):
        torch.manual_seed(3)
        features = FEATURES[reader]("interaction")
        head = build_head(task, reader, features.size(tiny_encoder)).eval()
        return SavedHead(tiny_encoder, head, features, task, reader)

    return make


def fields_of(head, rows):
    return [line.split("\t") for line in predict.predicted_lines(head, rows)]


@pytest.mark.parametrize("reader", ["bi", "cross"])
def test_each_row_has_the_prediction_and_probability_of_its_texts(head_of, reader, monkeypatch):
    monkeypatch.setattr(predict, "PIECE", 2)  # rows in several pieces
    pairs = [("the cat", "a dog"), ("the old boat", "the river ."), ("a storm", "a lamp"), ("", "")]
    rows = [(f"id {n}", pair) for n, pair in enumerate(pairs)]
    head = head_of(OWN["paraphrase"], reader)
    logits = head.logits(pairs)
    lines = fields_of(head, rows)
    assert [line[0] for line in lines] == [id for id, _ in rows]
    expected = 1 / (1 + np.exp(-logits.astype(float)))
    np.testing.assert_allclose([float(line[2]) for line in lines], expected, atol=1e-6)
    assert [line[1] == "1" for line in lines] == [bool(value > 0.5) for value in expected]
    assert predict.header_of(head.task).split("\t") == ["id", head.task.label, "probability"]


def test_classes_have_a_column_each_and_scores_are_predictions(head_of):
    texts = [("the cat",), ("a quiet storm",), ("the dog sees a boat .",)]
    head = head_of(TASKS["sst"])
    lines = fields_of(head, [(str(n), text) for n, text in enumerate(texts)])
    shares = np.array([line[2:] for line in lines], float)
    np.testing.assert_allclose(shares, softmax(head.logits(texts), axis=1), atol=1e-6)
    assert [int(line[1]) for line in lines] == shares.argmax(axis=1).tolist()
    assert predict.header_of(head.task).split("\t")[2:] == ["p0", "p1", "p2", "p3", "p4"]
    head = head_of(TASKS["sts"])
    pairs = [("the cat", "a dog"), ("a storm", "a lamp")]
    lines = fields_of(head, [("a", pairs[0]), ("b", pairs[1])])
    np.testing.assert_allclose([float(line[1]) for line in lines], head.predict(pairs), atol=1e-6)
    assert predict.header_of(head.task).split("\t") == ["id", head.task.label]


def test_a_row_without_a_text_is_kept_and_counted(tmp_path, caplog):
    path = tmp_path / "new.tsv"
    path.write_text("sentence1\tsentence2\nthe cat\ta dog\n\ta lamp\nthe boat\t\n")
    rows = list(predict.read_rows(path, TASKS["sts"]))
    assert rows == [("2", ("the cat", "a dog")), ("3", ("", "a lamp")), ("4", ("the boat", ""))]
    assert "2 row(s) without a text (first: line 3); read as empty texts" in caplog.text


def test_lines_of_texts_have_their_numbers_and_a_table_its_ids(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("the cat\n\na dog\n")
    assert list(predict.read_rows(path, TASKS["sst"])) == [("1", ("the cat",)), ("3", ("a dog",))]
    path.write_text("id\tsentence\nx\tthe cat\n\ta dog\n")
    assert list(predict.read_rows(path, TASKS["sst"])) == [("x", ("the cat",)), ("3", ("a dog",))]
    path.write_text("the cat\na\tdog\n")
    with pytest.raises(DataError, match=r"texts\.txt:2: 2 tab-separated field\(s\), expected 1"):
        list(predict.read_rows(path, TASKS["sst"]))
