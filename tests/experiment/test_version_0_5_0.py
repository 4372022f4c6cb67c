"""A tree of runs that version 0.5.0 left is read, and a run into it goes on or says why not."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import toy_runs
from conftest import toy_sentences

from minbert.encoder import SentenceEncoder
from report.run_folder import RunFolder
from report.table import results_table
from simcse.stage import read_notes

RUNS = Path(__file__).parents[1] / "golden" / "run-0.5.0"
FLAGS = "--pretrain sup --task sts para --encoder bi cross".split()


@pytest.fixture
def runs(tmp_path, tiny_checkpoint, toy_data, monkeypatch) -> Path:
    """Lay a copy of the tree beside a backbone and data of the names it was made with."""
    shutil.copytree(RUNS, tmp_path / "runs")
    (tmp_path / "tiny").symlink_to(tiny_checkpoint)
    (tmp_path / "toy").symlink_to(toy_data)
    monkeypatch.chdir(tmp_path)
    return Path("runs")


def places(cells) -> set[tuple[str, str]]:
    """Return the (task, encoder) of cells."""
    return {(cell.task, cell.encoder) for cell in cells}


def test_its_cells_are_read_and_can_be_shown():
    found = RunFolder(RUNS / "r").finished_cells("tiny", "toy")
    raw = json.loads((RUNS / "r" / "results.json").read_text())
    cells = [cell for group in found.values() for cell in group]
    assert list(found) == [entry["key"] for entry in raw]
    for cell, entry in zip(cells, raw, strict=True):
        written = cell.to_json()
        assert written | entry == written  # later versions know more of a cell, nothing else
    assert places(cells) == {(t, e) for t in ("sts", "para") for e in ("bi", "cross")}
    assert "0.709" in results_table(cells)  # cosine similarity


def test_its_tuned_backbone_is_read():
    (tuned,) = (RUNS / "backbones").iterdir()
    notes = read_notes(tuned)
    assert notes["best_score"] == pytest.approx(0.6802, abs=1e-4) and len(notes["history"]) == 2
    encoder = SentenceEncoder.from_pretrained(str(tuned), device="cpu", precision="float32")
    assert encoder.pooling == encoder.stated_pooling == "cls"
    embeddings = encoder.encode(toy_sentences(3))
    assert embeddings.shape == (3, 32) and np.isfinite(embeddings).all()


def test_a_run_into_its_folder_goes_on(runs, capsys):
    """The heads of that run are not there, so all cells are computed again, each in its place."""
    assert toy_runs.run("tiny", "toy", runs / "r", *FLAGS) == 0
    assert capsys.readouterr().err == ""
    before = json.loads((RUNS / "r" / "results.json").read_text())
    cells = toy_runs.cells_of(runs / "r")
    assert [cell.place() for cell in cells] == [
        ("-".join(["sup", e["task"], e["encoder"], "frozen-interaction-42"]), "dev") for e in before
    ]
    assert json.loads((runs / "r" / "config.json").read_text())["options"]["tune"] == ["frozen"]
    assert (runs / "r" / "backbones" / "sup-42").resolve().parent == (runs / "backbones").resolve()


def test_a_smaller_run_into_its_folder_keeps_the_other_cells(runs):
    smaller = "--pretrain none --task sst".split()
    assert toy_runs.run("tiny", "toy", runs / "r", *smaller) == 0
    cells = toy_runs.cells_of(runs / "r")
    assert len(cells) == 5 and places(cells) >= {("sst", "bi"), ("sts", "cross")}


def test_a_run_of_other_data_is_refused_in_one_line(runs, toy_data, capsys):
    assert toy_runs.run("tiny", toy_data, runs / "r", *FLAGS) == 2
    error = capsys.readouterr().err
    assert "--backbone tiny --data toy; give another --run-dir" in error
    assert error.count("\n") == 1
    assert (runs / "r" / "results.json").read_bytes() == (RUNS / "r/results.json").read_bytes()
