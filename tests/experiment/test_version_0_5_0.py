"""A tree of runs that version 0.5.0 left is read; a run into it is refused in one line."""

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
    cells = RunFolder(RUNS / "r").cells()
    raw = json.loads((RUNS / "r" / "results.json").read_text())
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


def test_a_run_into_its_folder_is_refused_in_one_line(runs, capsys):
    assert toy_runs.run("tiny", "toy", runs / "r", *FLAGS) == 2
    error = capsys.readouterr().err
    assert "r: holds a run of version 1.0 or earlier" in error and error.count("\n") == 1
    assert (runs / "r" / "results.json").read_bytes() == (RUNS / "r/results.json").read_bytes()
