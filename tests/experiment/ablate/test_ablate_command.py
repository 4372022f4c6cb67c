"""The whole command on toy data: files, no work done twice, the number that run_multitask gives."""

import csv
import json
from dataclasses import replace

import pytest

from experiment.ablate.__main__ import ablate, main
from experiment.ablate.recipes import TABLES, AblateOptions
from experiment.ablate.table import TUNING
from experiment.settings import parse_options
from run_multitask import run
from simcse.train import SimCSETrainer


@pytest.fixture(scope="module")
def options(tiny_checkpoint, toy_data, tmp_path_factory):
    return AblateOptions(
        names=("dropout",),
        rows=("0", "0.5"),
        seeds=2,
        steps=4,
        backbone=str(tiny_checkpoint),
        data=str(toy_data),
        device="cpu",
        precision="float32",
        threads=1,
        out=tmp_path_factory.mktemp("ablate"),
    )


@pytest.fixture(scope="module")
def said(options):
    lines = []
    assert ablate(options, lines.append) == 0
    return lines


def rows_of(options):
    return list(csv.DictReader((options.out / "dropout.csv").open()))


def test_a_table_is_measured_and_written(options, said):
    rows = rows_of(options)
    assert [(row["row"], row["seed"]) for row in rows] == [
        *(("0", "42"), ("0", "43"), ("0.5", "42"), ("0.5", "43"))
    ]
    assert all(float(row[column]) for row in rows for column in TUNING)
    assert "published" in said[-2] and "not measured" in said[-2]
    assert TABLES["dropout"].reading in said[-2] and str(options.out) in said[-1]
    svg = (options.out / "dropout-trajectory.svg").read_text()
    assert svg.startswith("<svg") and "#1f5fa8" in svg and "var(" not in svg


def test_a_second_run_computes_nothing(options, said, monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("trained again")

    assert not list(options.out.glob("runs/backbones/*"))  # a table needs no weights
    before = rows_of(options)
    monkeypatch.setattr(SimCSETrainer, "run", never)
    assert ablate(options, [].append) == 0
    assert rows_of(options) == before


def test_a_rows_command_gives_its_number(options, said, tmp_path):
    """The best checkpoint's cosines on dev, as run_multitask.py scores them."""
    rows = rows_of(options)[-2:]
    words = rows[0]["command"].split()[2:]
    assert rows[0]["command"].startswith("python run_multitask.py ")
    settings = replace(parse_options([*words, "--head-epochs", "1"]), run_dir=tmp_path / "run")
    cells = [cell for cell in run(settings) if cell.split == "dev"]
    for cell, row in zip(cells, rows, strict=True):
        assert cell.metrics["cosine_spearman"] == pytest.approx(float(row["best"]), abs=1e-6)


def test_an_interrupted_row_goes_on_to_the_same_number(options, said, tmp_path, monkeypatch):
    check = SimCSETrainer._check

    def stops(trainer, *args):
        check(trainer, *args)
        if trainer.step == 2:
            raise KeyboardInterrupt

    one = replace(options, rows=("0.5",), seeds=1, out=tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(SimCSETrainer, "_check", stops)
        with pytest.raises(KeyboardInterrupt):
            ablate(one, [].append)
    assert list(tmp_path.glob("runs/backbones/*.state.pt"))
    assert ablate(one, [].append) == 0
    assert rows_of(one)[0]["best"] == rows_of(options)[2]["best"]
    assert not list(tmp_path.glob("runs/backbones/*.state.pt"))


def test_a_row_that_cannot_be_measured_is_left_out_and_said(options, said, tmp_path):
    lines = []
    asked = replace(
        options, names=("supervised-data",), rows=("unsup", "captions"), seeds=1, out=tmp_path
    )
    assert ablate(asked, lines.append) == 2
    assert any("captions: left out" in line and "--from captions=FILE" in line for line in lines)
    rows = list(csv.DictReader((tmp_path / "supervised-data.csv").open()))
    assert {row["row"] for row in rows} == {"unsup"}


def test_the_reports_tables_are_cells_of_the_grid(options, tmp_path, monkeypatch):
    lines = []
    rows = ("sts: none bi", "para: unsup cross", "sts: none, linear on [u; v]")
    asked = replace(options, names=("report",), rows=rows, steps=2, seeds=1, out=tmp_path)
    assert ablate(asked, lines.append) == 0
    found = list(csv.DictReader((tmp_path / "report.csv").open()))
    assert [(one["row"], one["seed"]) for one in found] == [
        (row.label, "42") for row in TABLES["report"].rows if row.label in rows
    ]
    (results,) = (tmp_path / "runs").glob("report-*/results.json")
    cells = {
        (c["pretrain"], c["task"], c["encoder"], c["split"], c["seed"]): c["metrics"]
        for c in json.loads(results.read_text())
    }
    scores = {one["row"]: float(one["score"]) for one in found}
    assert scores[rows[0]] == cells["none", "sts", "bi", "dev", 42]["pearson"]
    assert scores[rows[1]] == cells["unsup", "para", "cross", "dev", 42]["accuracy"]
    assert -1 <= scores[rows[2]] <= 1
    monkeypatch.setattr("heads.train.HeadTrainer", None)
    assert ablate(asked, lines.append) == 0  # nothing is trained again


def test_a_list_says_the_commands_and_leaves_nothing(options, said, tmp_path):
    lines = []
    asked = replace(options, rows=("0.5",), list=True, out=tmp_path)
    assert ablate(asked, lines.append) == 0
    assert lines[1:] == [f"    0.5: {rows_of(options)[2]['command']}"]
    lines.clear()
    assert ablate(replace(asked, names=("report", "next-sentence"), rows=()), lines.append) == 0
    rows = [line for line in lines if ": python run_multitask.py " in line]
    assert len(rows) == len(TABLES["report"].rows)
    assert any("left out: next-sentence reads sentences in their order" in line for line in lines)
    assert not list(tmp_path.iterdir())


def test_without_a_name_all_tables_are_told(capsys):
    assert main([]) == 0
    told = "\n" + capsys.readouterr().out
    assert all(f"\n{name}: " in told for name in TABLES) and "--documents FILE" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [(["dropuot"], "no table 'dropuot'"), (["dropout", "--rows", "0.7"], "--rows 0.7")],
)
def test_bad_names_are_one_line(words, told, capsys):
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"error: {told}") and said.err.count("\n") == 1 and not said.out
