"""A cell's fields are all there is: keys, columns, names of files, rows and lines follow from them.

The table says what applies, what is undefined and what was seen; seeds join into one row.
"""

import csv
import json
from dataclasses import fields

import pytest
from made_cells import METRICS, cell, para_cell, tagged

from data.examples import DataError
from report import table
from report.cell import Cell, best_known, csv_columns, phenomena_rows
from report.costs import read_costs
from report.run_folder import RunFolder
from report.table import results_table, summary, verdict_text

# Whoever reads a results.csv reads it by these names.
COLUMNS = (
    "pretrain,task,reader,tune,features,backbone,data,seed,train_rows,split,n,accuracy,f1,pearson,spearman,"
    "average_precision,cosine_spearman,seconds,sentences_per_second,steps,rate"
)


def written(folder, cells) -> tuple[list[dict], list[str]]:
    """Return the entries of results.json and the header of results.csv."""
    RunFolder(folder).write_results(cells)
    with (folder / "results.csv").open() as file:
        header = csv.DictReader(file).fieldnames
    return json.loads((folder / "results.json").read_text()), header


def test_keys_and_columns_are_the_fields_and_read_again_they_are_the_cell(tmp_path):
    cells = [cell(metrics=METRICS | {"cosine_spearman": 0.75}), cell(split="test", n=3)]
    entries, header = written(tmp_path, cells)
    assert list(entries[0]) == [found.name for found in fields(Cell)]
    assert header == csv_columns() == COLUMNS.split(",")
    assert [Cell.from_json(entry | {"of a later version": 5}) for entry in entries] == cells
    assert [one.place() for one in cells] == [
        (cells[0].name, "dev", 0),
        (cells[0].name, "test", 0),
    ]
    assert cells[0].name == "sup-sts-bi-frozen-concat-1"


def test_a_task_is_shown_on_test_where_that_has_labels_whatever_other_tasks_have():
    para = [para_cell(split=split) for split in ("dev", "test")]
    sts = [cell(split="dev")]
    assert best_known([*para, *sts]) == [para[1], *sts]


def row(cells) -> dict[str, str]:
    """Return the only row of a table, by column."""
    _, header, _, body = results_table(cells).splitlines()
    split = [[field.strip() for field in line.split("|")[1:-1]] for line in (header, body)]
    return dict(zip(*split, strict=True))


@pytest.mark.parametrize(
    ("select", "told"), [("dev", "epochs chosen on dev"), ("last", "epochs all"), ("train", "")]
)
def test_epochs_that_dev_chose_are_named_in_table_and_verdict(select, told):
    cells = [cell(reader=reader, select=select) for reader in ("bi", "cross")]
    above = results_table(cells).splitlines()[0]
    assert told in above and ("epochs" in above) == bool(told)
    assert ("chosen on dev" in verdict_text(cells, [], [])) == (select == "dev")


def test_the_table_shows_what_applies_and_no_column_of_dashes():
    shown = row([cell()])
    assert list(shown) == [
        "reader", "pearson", "spearman", "cosine (Spearman)", "no overlap",
    ]  # fmt: skip
    assert (shown["pearson"], shown["spearman"]) == ("0.500", "0.250")
    assert shown["cosine (Spearman)"] == "undefined"  # of an old version, which did not measure it
    assert shown["no overlap"] == "0.400"
    line = results_table([cell()]).partition("\n")[0]
    assert line.startswith("sts, dev, n 9, pretrain sup, tune frozen, features concat")
    assert line.endswith("train overlap 25.0%")
    bare = cell(metrics={**METRICS, "cosine_spearman": 0.75})
    assert row([bare])["cosine (Spearman)"] == "0.750"
    assert "cosine (Spearman)" not in row([cell(reader="cross")])
    assert row([cell(metrics=dict.fromkeys(METRICS))])["pearson"] == "undefined"
    interval = {"accuracy": {"low": 0.25, "high": 0.75, "method": "percentile"}, "f1": None}
    shown = row([para_cell(interval=interval)])
    assert shown["95% CI"] == "[0.250, 0.750]" and "cosine (Spearman)" not in shown
    assert "95% CI" not in row([para_cell(interval={"accuracy": None})])
    sts, para = results_table(
        [cell(train_rows="50", labels=50), cell(labels=90), para_cell(labels=80)]
    ).split("\n\n")
    _, header, _, *rows = sts.splitlines()
    assert "| labels |" in header and "| 50 " in rows[0] and "| 90 " in rows[1]
    assert "labels 80, " in para and "| labels" not in para and "pearson" not in para


def test_a_table_fits_a_terminal_and_loses_what_matters_least(monkeypatch):
    seeds = [
        cell(seed=seed, reader=reader, labels=labels, steps=labels // 2)
        for seed in (1, 2)
        for reader in ("bi", "late", "cross")
        for labels in (250, 1000)
    ]
    lines = results_table(seeds).splitlines()
    assert max(map(len, lines[1:])) <= 100 and "no overlap" in lines[1]
    monkeypatch.setattr(table, "WIDTH", 75)
    lines = results_table(seeds).splitlines()
    assert max(map(len, lines[1:])) <= 75
    assert "no overlap" not in lines[1] and "pearson" in lines[1]


def test_the_rate_that_was_chosen_stands_with_the_table():
    tried = [{"rate": 5e-4, "score": 0.5}, {"rate": 5e-5, "score": 0.4}]
    chosen = cell(choice=tried[0] | {"tried": tried})
    assert ", rate 5e-4, " in results_table([chosen])
    raw = cell().to_json() | {"rates": {"rate": 5e-4, "tried": tried}}  # of 1.0
    del raw["choice"]
    assert Cell.from_json(raw) == chosen


def test_a_run_ends_with_the_table_the_verdict_and_where_everything_is(tmp_path):
    table = results_table([cell()])
    assert summary([cell()], [], [], tmp_path) == f"{table}\n\nResults saved to {tmp_path}"


def test_seeds_join_into_mean_and_deviation_and_splits_do_not():
    other = cell(seed=2, metrics={**METRICS, "pearson": 0.7})
    assert row([cell(), other])["pearson"] == "0.600 ± 0.141"
    table = results_table([para_cell(), para_cell(seed=2), cell(split="test")]).split("\n\n")
    assert "±" in table[0] and "±" not in table[1] and ", test, " in table[1]
    tested = results_table([para_cell(), para_cell(split="test")])
    assert ", test, " in tested and ", dev, " not in tested


def test_phenomena_join_seeds_and_set_the_encoders_side_by_side(tmp_path):
    cells = [tagged("bi", role_swap=0.9), tagged("bi", role_swap=0.7), tagged("cross", passive=1)]
    rows = {row["phenomenon"]: row for row in phenomena_rows(cells)}
    assert rows["role swap"]["bi"] == pytest.approx(0.8) and rows["role swap"]["cross"] is None
    assert rows["passive"]["bi"] is None and rows["passive"]["n"] == 30
    RunFolder(tmp_path / "tags").write_results(cells)
    with (tmp_path / "tags" / "phenomena.csv").open() as file:
        assert [row["bi"] for row in csv.DictReader(file)] == ["0.8", ""]
    RunFolder(tmp_path / "none").write_results([cell()])
    assert not (tmp_path / "none" / "phenomena.csv").exists()


def test_the_reader_was_called_encoder_up_to_1_1(tmp_path):
    run = RunFolder(tmp_path)
    run.write_results([cell(reader="late")])
    run.write_json("config.json", {"options": {"encoder": ["late"]}})
    results = tmp_path / "results.json"
    results.write_text(results.read_text().replace('"reader":', '"encoder":'))
    assert run.cells() == [cell(reader="late")]
    assert run.config()["options"]["reader"] == ["late"]
    run.write_json("costs.json", {"cells": [{"cost": {"encoder": "bi"}}]})
    assert read_costs(tmp_path / "costs.json")["cells"][0]["cost"]["reader"] == "bi"


@pytest.mark.parametrize(
    "damage",
    [
        {"overlap": None},
        {"rates": True},
        {"rates": None},
        {"rates": {"rate": 1, "epoch": 1, "rows": 2, "chosen_by": 3, "seconds": 4, "tried": [5]}},
        {"n": 10**400},
        {"seconds": "fast"},
        {"task": ["sts"]},
        {"seed": "1"},
        {"metrics": {"accuracy": "high", "f1": None, "pearson": None, "spearman": None}},
        {"phenomena": {"place": {"n": 3}}},
        {"reader": "distilled"},  # of 0.14.0
        {"interval": {"f1": {"low": "x"}}},
        [3],
    ],
)
def test_cells_that_the_table_cannot_show_are_one_clear_line(damage, tmp_path):
    entry = damage if isinstance(damage, list) else [cell().to_json() | damage]
    (tmp_path / "results.json").write_text(json.dumps(entry))
    with pytest.raises(DataError, match=r"results\.json: not a run's results"):
        RunFolder(tmp_path).cells()
