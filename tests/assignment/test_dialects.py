"""Names, headers, separators and numbers of every course are written, and read again."""

import numpy as np
import pytest
from made_submissions import ids_of, predictions, text_of, write_data

from assignment.submission.dialects import ASKED, DIALECTS, Named, named
from assignment.submission.opening import Document
from assignment.submission.validate import Gold, check
from data.predictions import read_predictions
from report.run_folder import RunFolder

TASKS = ("sst", "para", "sts", "cfimdb")
BY_ID = ("code", "handout", "tab")


@pytest.fixture(scope="module")
def gold(tmp_path_factory) -> Gold:
    return Gold(write_data(tmp_path_factory.mktemp("data"), TASKS))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("sst-dev-output.csv", Named("sst", "dev")),
        ("sts-test-out.csv", Named("sts", "test")),
        ("finetune-cfimdb-dev-out.csv", Named("cfimdb", "dev", "finetune")),
        ("last-linear-layer-sst-test-out.csv", Named("sst", "test", "last-linear-layer")),
        ("cfimdb-test-output.txt", Named("cfimdb", "test")),
        ("sst_dev_output.csv", None),
        ("SST-dev-output.csv", None),
        ("sst-train-output.csv", None),
        ("sst-dev-output.csv.bak", None),
        ("mysst-dev-output.csv", None),
    ],
)
def test_names_of_both_conventions_are_known(name, found):
    assert named(name) == found


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("task", TASKS)
def test_what_is_written_is_read_again(dialect, task, gold):
    expected = gold.expected(task, "dev")
    values = [None, *predictions(task, "dev")[1:]]
    keys = expected.by_sentence if dialect == "cmu" else expected.by_id
    order = np.random.default_rng(0).permutation(len(keys))  # rows come in any order
    rows = [(keys[k][0], values[k]) for k in order]
    spelling = DIALECTS[dialect]
    text = spelling.text(ASKED[task], rows).replace("sst", "SST")
    document = Document(spelling.file_name(task, "dev"), text.encode("utf-8-sig"))
    found = check(document, gold)
    assert (found.task, found.split, found.faults) == (task, "dev", [])
    assert found.predictions(expected) == values


def test_the_code_dialect_is_what_runs_write(tmp_path):
    for task in ("sst", "para", "sts"):
        values = np.array(predictions(task, "dev"))
        RunFolder(tmp_path).write_predictions("cell", task, "dev", ids_of(task, "dev"), values)
        name = DIALECTS["code"].file_name(task, "dev")
        assert (tmp_path / "predictions/cell" / name).read_text() == text_of(task, "dev")


@pytest.mark.parametrize("dialect", BY_ID)
def test_the_strict_reader_reads_every_dialect(dialect, tmp_path):
    path = tmp_path / "any.csv"
    path.write_text(text_of("sts", "test", dialect))
    assert read_predictions(path).task.name == "sts"
    found = [value for _, value in read_predictions(path).values.values()]
    assert found == predictions("sts", "test")


def test_the_handout_is_spelled_as_it_prints():
    rows = [("a1", 1.0), ("b2", None)]
    assert DIALECTS["handout"].text(ASKED["para"], rows) == (
        "id, Predicted_Is_Paraphrase\na1, 1\nb2, \n"
    )
    assert DIALECTS["code"].text(ASKED["para"], rows) == (
        "id \t Predicted_Is_Paraphrase \na1 , 1.0 \nb2 ,  \n"
    )
    assert "Predicted_Similarity" in DIALECTS["handout"].text(ASKED["sts"], rows)
    assert "Predicted_Similiary" in DIALECTS["code"].text(ASKED["sts"], rows)


def test_equal_sentences_are_told_apart_by_their_order(tmp_path):
    (tmp_path / "sst-dev.txt").write_text("4 ||| Fine !\n0 ||| Bad .\n3 ||| fine !\n")
    gold = Gold(tmp_path)
    assert gold.expected("sst", "dev").labels.tolist() == [4, 0, 3]
    rows = b"1 ||| fine !\n0 ||| bad .\n2 ||| Fine  !\n"
    found = check(Document("sst-dev-output.txt", rows), gold)
    assert found.faults == []
    assert found.predictions(gold.expected("sst", "dev")) == [1, 0, 2]
    again = check(Document("sst-dev-output.txt", rows + b"1 ||| bad .\n"), gold)
    assert again.faults == ["sst-dev-output.txt:4: sentence 'bad .' is on line 2 too; delete one"]


def test_rows_without_a_label_may_be_predicted_and_do_not_count(tmp_path):
    lines = ["\tid\tsentence1\tsentence2\tis_duplicate", "0\ta1\tx\ty\t1.0", "1\tb2\tx\ty\t"]
    (tmp_path / "quora-dev.csv").write_text("\n".join(lines) + "\n")
    gold = Gold(tmp_path)
    for rows in ([("a1", 1.0)], [("b2", 0.0), ("a1", 1.0)]):
        text = DIALECTS["code"].text(ASKED["para"], rows)
        found = check(Document("para-dev-output.csv", text.encode()), gold)
        assert found.faults == [] and found.predictions(gold.expected("para", "dev")) == [1.0]
