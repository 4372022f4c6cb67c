"""A cell's fields are all there is: keys, columns, names of files and rows follow from them."""

import csv
import json
from dataclasses import FrozenInstanceError, dataclass, fields

import pytest
from made_cells import METRICS, cell

from evaluation.metrics import METRICS as METRIC_NAMES
from report import cell as module
from report.cell import Cell, Coordinates, csv_columns
from report.run_folder import RunFolder

# As version 0.5.0 wrote them; who reads a results.csv reads it by these names.
COLUMNS = (
    "pretrain,task,encoder,tune,features,backbone,data,seed,split,n,accuracy,f1,pearson,spearman,"
    "cosine_spearman,seconds,sentences_per_second"
)


def written(folder, cells) -> tuple[list[dict], list[str]]:
    """Return the entries of results.json and the header of results.csv."""
    RunFolder(folder).write_results(cells, {})
    with (folder / "results.csv").open() as file:
        header = csv.DictReader(file).fieldnames
    return json.loads((folder / "results.json").read_text()), header


def test_keys_and_columns_are_the_fields(tmp_path):
    (entry,), header = written(tmp_path, [cell()])
    assert list(entry) == [found.name for found in fields(Cell)]
    assert header == csv_columns() == COLUMNS.split(",")
    flat = {name for name, value in entry.items() if not isinstance(value, dict)} - {"key"}
    assert set(header) == flat | {*METRIC_NAMES, "cosine_spearman"}


def test_a_field_more_is_a_key_and_a_column_more(tmp_path, monkeypatch):
    @dataclass(frozen=True)
    class Wider(Cell):
        epochs: int = 3

    monkeypatch.setattr(module, "Cell", Wider)
    (entry,), header = written(tmp_path, [Wider(**cell().to_json())])
    assert entry["epochs"] == 3 and header[-1] == "epochs"
    assert Wider.from_json(entry | {"epochs": 7}).epochs == 7


def test_a_coordinate_more_is_in_the_names_of_files(monkeypatch):
    @dataclass(frozen=True)
    class Wider(Coordinates):
        pooling: str = "avg"

    place = {found.name: getattr(cell(), found.name) for found in fields(Coordinates)}
    assert cell().name == Coordinates(**place).name == "sup-sts-bi-frozen-concat-1"
    monkeypatch.setattr(module, "Coordinates", Wider)
    assert Wider(**place).name == "sup-sts-bi-frozen-concat-1-avg"


def test_a_cell_is_what_was_written_of_it(tmp_path):
    cells = [cell(metrics=METRICS | {"cosine_spearman": 0.75}), cell(split="test", n=3)]
    entries, _ = written(tmp_path, cells)
    assert [Cell.from_json(entry) for entry in entries] == cells
    assert [one.place() for one in cells] == [(cells[0].name, "dev"), (cells[0].name, "test")]
    with pytest.raises(FrozenInstanceError):
        cells[0].n = 4


def test_keys_that_a_later_version_added_are_passed_over():
    assert Cell.from_json(cell().to_json() | {"joules": 5}) == cell()
