"""A new task is one record and one reader: everything else follows from them."""

import csv

import pytest
import toy_runs
from conftest import toy_sentences

from data.examples import SentencePair
from data.table import Column, open_table
from data.tasks import COURSE, TASKS, Task
from experiment.settings import Settings, parse_options
from runtime.options import build_parser

HEADER = "number\tpremise\thypothesis\tgold"


def read_nli(path, labelled=True) -> list[SentencePair]:
    names = ["number", "premise", "hypothesis", *(["gold"] if labelled else [])]
    return [
        SentencePair(row["number"], row["premise"], row["hypothesis"],
                     int(row["gold"]) if labelled else None)
        for _, row in open_table(path, [Column(name, kind="other") for name in names]).rows()
    ]  # fmt: skip


NLI = Task(
    name="nli",
    about="entailment in 3 classes",
    files=("nli-train.tsv", "nli-dev.tsv", "nli-test.tsv"),
    texts=("premise", "hypothesis"),
    label="gold",
    label_kind="classes",
    largest=2,
    metrics=("accuracy", "f1"),
    prediction_header="Predicted_Entailment",
    read=read_nli,
)


@pytest.fixture
def nli_data(monkeypatch, tmp_path):
    """The record in the table, and a folder of its files; the test file has no labels."""
    monkeypatch.setitem(TASKS, "nli", NLI)
    monkeypatch.setitem(COURSE, "nli", NLI)
    folder = tmp_path / "nli"
    folder.mkdir()
    for seed, (name, count) in enumerate(zip(NLI.files, (45, 15, 6), strict=True)):
        pairs = zip(toy_sentences(count, seed), toy_sentences(count, seed + 9), strict=True)
        rows = [[f"{name}{i}", a, b, str(i % 3)] for i, (a, b) in enumerate(pairs)]
        width = 3 if name == "nli-test.tsv" else 4
        lines = ["\t".join(row[:width]) for row in [HEADER.split("\t"), *rows]]
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def test_a_new_task_runs_to_the_end(nli_data, tiny_checkpoint, toy_data, tmp_path):
    lines = []
    settings = toy_runs.small(
        tiny_checkpoint, nli_data, tmp_path / "r", task="nli", reader=("bi", "cross"),
        pretrain="sup",
        sup_data=str(toy_data / "nli_for_simcse.csv"),
    )  # fmt: skip
    cells = toy_runs.compare(settings, lines.append)
    assert toy_runs.cells_of(tmp_path / "r") == cells and len(cells) == 2
    for cell in cells:
        assert cell.task == "nli" and cell.n == 15 and 0 <= cell.metrics["accuracy"] <= 1
        assert cell.metrics["pearson"] is None and "f1_weighted" in cell.metrics
        for split, count in (("dev", 15), ("test", 6)):
            path = tmp_path / "r" / "predictions" / cell.name / f"nli-{split}-output.csv"
            header, *rows = path.read_text().splitlines()
            assert header == "id \t Predicted_Entailment " and len(rows) == count
            assert {row.split(" , ")[1].strip() for row in rows} <= {"0", "1", "2"}
    plan = "\n".join(lines)
    assert "| always class 0 |" in plan
    assert "nli: 45 train, 15 dev, 6 test" in plan and "nli bi-encoder, nli cross-encoder" in plan
    assert (
        "\nnli, dev, n 15, " in plan and "the last" in plan
    )  # no STS pairs to choose a checkpoint by
    with (tmp_path / "r" / "results.csv").open() as file:
        assert {row["task"] for row in csv.DictReader(file)} == {"nli"}


def test_the_command_line_knows_a_new_task(nli_data):
    settings = parse_options(["--task", "nli"])
    assert settings.tasks == ("nli",)
    assert parse_options(["--task", "all"]).tasks == ("sst", "para", "sts", "nli")
    assert settings.head_config("nli", "frozen", 1).num_epochs == 10
    assert "nli" in build_parser(Settings).format_help()
