"""Tasks: their records, and the folders in which their files lie."""

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import real_data

from data.examples import DataError, SentencePair
from data.tasks import TASKS, Splits, read_task

STS = "\tid\tsentence1\tsentence2\tsimilarity\n"


def write(folder: Path, content: str, name: str) -> None:
    (folder / name).write_text(content)


def error_of(folder: Path, name: str) -> str:
    with pytest.raises(DataError) as caught:
        read_task(folder, name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("task", "counts"), [("sst", (8544, 1101, 2210)), ("sts", (6040, 863, 1725))]
)
def test_published_splits_have_their_published_sizes(task, counts):
    splits = read_task(real_data("cs224n"), task)
    assert (len(splits.train), len(splits.dev), len(splits.test)) == counts
    assert all(example.label is not None for example in splits.train + splits.dev)
    assert all(example.label is None for example in splits.test)


def sts_folder(folder: Path) -> Path:
    for name in ("sts-train.csv", "sts-dev.csv"):
        write(folder, STS + f"0\t{name}\tx\ty\t2\n", name)
    return folder


def test_a_folder_without_a_test_file_has_an_empty_test_part(tmp_path):
    splits = read_task(sts_folder(tmp_path), "sts")
    assert [pair.id for pair in splits.train + splits.dev] == ["sts-train.csv", "sts-dev.csv"]
    assert splits.test == []


def test_labels_of_a_labelled_test_file_are_read(tmp_path):
    write(sts_folder(tmp_path), STS + "0\tt\tx\ty\t4\n", "sts-test.csv")
    assert read_task(tmp_path, "sts").test == [SentencePair("t", "x", "y", 4.0, row=0)]
    write(tmp_path, "\tid\tsentence1\tsentence2\n0\tu\tx\ty\n", "sts-test-student.csv")
    assert read_task(tmp_path, "sts").test == [SentencePair("u", "x", "y", None, row=0)]


@pytest.mark.parametrize("name", ["sts-test-student.csv", "sts-test.csv"])
def test_a_link_to_a_test_file_that_is_gone_is_an_error(name, tmp_path):
    (sts_folder(tmp_path) / name).symlink_to(tmp_path / "gone.csv")
    if name == "sts-test-student.csv":  # no other file stands in for it
        write(tmp_path, STS + "0\tt\tx\ty\t4\n", "sts-test.csv")
    assert f"{name}: cannot be read (No such file or directory)" in error_of(tmp_path, "sts")


def test_an_empty_test_file_is_an_error(tmp_path):
    write(sts_folder(tmp_path), "", "sts-test-student.csv")
    assert "sts-test-student.csv: is empty" in error_of(tmp_path, "sts")


def test_missing_files_and_folders_name_the_remedy(tmp_path):
    sts_folder(tmp_path)
    (tmp_path / "sts-dev.csv").unlink()
    message = error_of(tmp_path, "sts")
    remedy = f"python -m data.download cs224n --out {tmp_path}"
    assert message.startswith(f"looked for sts-dev.csv in {tmp_path}: not found")
    assert remedy in message
    message = error_of(tmp_path / "nowhere", "sst")
    assert "ids-sst-train.csv and ids-sst-dev.csv" in message and "no such folder" in message
    assert "choose one of sst, para, sts" in error_of(tmp_path, "nli")


def test_the_records_say_what_cs224n_does():
    assert [
        (task.name, task.num_texts, task.kind, task.num_classes, task.prediction_header)
        for task in TASKS.values()
    ] == [
        ("sst", 1, "classes", 5, "Predicted_Sentiment"),
        ("para", 2, "binary", 2, "Predicted_Is_Paraphrase"),
        ("sts", 2, "score", 6, "Predicted_Similiary"),
    ]
    for name, task in TASKS.items():
        assert name == task.name and task.about
        assert task.is_pair == (task.num_texts == 2)
        assert task.main_metric in task.metrics
        assert task.whole_predictions == (name == "sst")


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_records_columns_are_those_its_reader_reads(task, tmp_path):
    fields = [f"text {number}" for number in range(task.num_texts)]
    header, row = ["id", *task.texts], ["a", *fields]
    bare, labelled = tmp_path / "bare.csv", tmp_path / "labelled.csv"
    bare.write_text("\t".join(header) + "\n" + "\t".join(row) + "\n")
    (example,) = task.read(bare, labelled=False)
    assert example.texts == tuple(fields) and example.label is None
    for label in (0, task.largest):
        line = "\t".join([*row, str(label)])
        labelled.write_text("\t".join([*header, task.label]) + f"\n{line}\n")
        (example,) = task.read(labelled)
        assert example.texts == tuple(fields) and example.label == label
    labelled.write_text("\t".join([*header, task.label]) + f"\n{line}1\n")  # 41, 11, 51
    with pytest.raises(DataError, match=task.label):
        task.read(labelled)


def test_a_new_task_is_one_record(tmp_path, monkeypatch):
    files = ("news-train.csv", "news-dev.csv", "news-test.csv")
    news = replace(TASKS["sts"], name="news", files=files)
    monkeypatch.setitem(TASKS, "news", news)
    for name in files[:2]:
        write(tmp_path, STS + f"0\t{name}\tx\ty\t2\n", name)
    splits = read_task(tmp_path, "news")
    assert splits == Splits(news.read(tmp_path / files[0]), news.read(tmp_path / files[1]), [])
    assert "choose one of sst, para, sts, news" in error_of(tmp_path, "weather")
