"""The whole command on toy data: files, no work done twice, the number that run_multitask gives."""

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from experiment.ablate.command import ablate
from experiment.ablate.options import AblateOptions
from experiment.ablate.tables import TABLES
from experiment.settings import parse_options
from run_multitask import run
from runtime.errors import UserError
from simcse.train import SimCSETrainer

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def options(tiny_checkpoint, toy_data, tmp_path_factory):
    return AblateOptions(
        names=("dropout",), rows=("0", "0.5"), seeds=2, steps=4, backbone=str(tiny_checkpoint),
        data=str(toy_data), device="cpu", precision="float32", threads=1,
        out=tmp_path_factory.mktemp("ablate"),
    )  # fmt: skip


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
    assert {row["threads"] for row in rows} == {"1"}
    assert {row["precision"] for row in rows} == {"float32"}
    content = json.loads((options.out / "dropout.json").read_text())
    assert len(content["measured"]) == 4 and not content["failed"]
    assert "published" in said[-2] and "not measured" in said[-2]
    assert str(options.out) in said[-1]
    svg, page = ((options.out / f"dropout.{form}").read_text() for form in ("svg", "html"))
    assert svg.startswith("<svg") and "#1f5fa8" in svg and "var(" not in svg
    assert (options.out / "dropout-trajectory.svg").is_file()
    assert "trajectory-dropout" in page and "python run_multitask.py" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_a_second_run_computes_nothing(options, said, monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("trained again")

    before = rows_of(options)
    monkeypatch.setattr(SimCSETrainer, "run", never)
    assert ablate(options, [].append) == 0
    assert rows_of(options) == before


def test_a_rows_command_gives_its_number(options, said, tmp_path):
    """The best checkpoint's cosines on dev, as run_multitask.py scores them."""
    row = rows_of(options)[-1]
    words = row["command"].split()[2:]
    assert row["command"].startswith("python run_multitask.py ")
    settings = replace(parse_options([*words, "--head-epochs", "1"]), run_dir=tmp_path / "run")
    (cell,) = (cell for cell in run(settings) if cell.split == "dev")
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
    assert list(tmp_path.glob("measured/*.state.pt"))
    assert ablate(one, [].append) == 0
    assert rows_of(one)[0]["best"] == rows_of(options)[2]["best"]
    assert not list(tmp_path.glob("measured/*.state.pt"))


def test_a_row_that_cannot_be_measured_is_left_out_and_said(options, said, tmp_path):
    lines = []
    asked = replace(
        options, names=("supervised-data",), rows=("unsup", "captions"), seeds=1, out=tmp_path
    )
    assert ablate(asked, lines.append) == 2
    assert any("captions: left out" in line and "--from captions=FILE" in line for line in lines)
    assert "was left out" in (tmp_path / "supervised-data.html").read_text()


def test_the_reports_tables_are_cells_of_the_grid(options, tmp_path, monkeypatch):
    lines = []
    rows = ("sts: none bi", "para: unsup cross", "sts: none, linear on [u; v]")
    asked = replace(options, names=("report",), rows=rows, steps=2, out=tmp_path)
    assert ablate(asked, lines.append) == 0
    content = json.loads((tmp_path / "report.json").read_text())
    assert [(one["row"], one["seed"]) for one in content["measured"]] == [
        (row, seed) for row in (rows[2], *rows[:2]) for seed in (42, 43)
    ]
    (results,) = (tmp_path / "runs").glob("*/results.json")
    cells = {(c["pretrain"], c["task"], c["encoder"], c["split"], c["seed"]): c["metrics"]
             for c in json.loads(results.read_text())}  # fmt: skip
    scores = {(one["row"], one["seed"]): one["values"]["score"] for one in content["measured"]}
    assert scores[rows[0], 43] == cells["none", "sts", "bi", "dev", 43]["pearson"]
    assert scores[rows[1], 42] == cells["unsup", "para", "cross", "dev", 42]["accuracy"]
    monkeypatch.setattr("heads.train.HeadTrainer", None)
    assert ablate(asked, lines.append) == 0  # nothing is trained again


def test_a_dry_run_projects_and_leaves_nothing(options, tmp_path):
    lines = []
    asked = replace(options, names=("batch-size", "report"), rows=(), dry_run=True, out=tmp_path)
    assert ablate(replace(asked, names=("batch-size",), rows=("32", "64")), lines.append) == 0
    assert "hours projected" in lines[-1] and "GiB" in lines[-1]
    # 4 steps of 64 are 256 examples, here four times as many: 32 and 16 steps, two seeds.
    assert lines[-1].startswith("batch-size: 96 steps")
    assert not list(tmp_path.iterdir())


def test_a_dry_run_of_heads_projects_runs_that_share_trainings_once(options, tmp_path):
    rows = ("sts: own model", "sts: annealed", "sst: own model")
    asked = replace(options, names=("forgetting",), rows=rows, dry_run=True, out=tmp_path)
    lines = []
    assert ablate(asked, lines.append) == 0
    assert lines[0].startswith("forgetting: python run_multitask.py")
    steps = [line.split(" steps")[0].strip() for line in lines[1::2]]
    # 48 rows a task are one batch; 3 epochs, 2 seeds, and 2 and 3 trainings.
    assert steps == ["12", "18"]
    assert lines[-1].startswith("forgetting: 30 steps") and "hours projected" in lines[-1]
    assert not list(tmp_path.iterdir())


def test_the_list_tells_all_tables(options):
    lines = []
    assert ablate(AblateOptions(list=True), lines.append) == 0
    assert ablate(AblateOptions(), [].append) == 0
    told = "\n".join(lines)
    assert all(f"\n{name}: " in told for name in TABLES) and "--documents FILE" in told
    assert told.count("price: ") == len(TABLES)


@pytest.mark.parametrize(
    ("more", "told"),
    [({"names": ("dropuot",)}, "no table 'dropuot'"), ({"rows": ("0.7",)}, "--rows 0.7")],
)
def test_bad_names_are_one_line(options, more, told):
    with pytest.raises(UserError, match=told) as error:
        ablate(replace(options, **more))
    assert "\n" not in str(error.value)


def test_the_program_ends_with_2_and_one_line():
    words = [sys.executable, "-m", "experiment.ablate", "dropuot"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("error: no table 'dropuot'") and done.stderr.count("\n") == 1
