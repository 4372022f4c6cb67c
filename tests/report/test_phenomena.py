"""Where the encoders differ: errors by what a row tests, side by side."""

import csv
import json
from dataclasses import replace

import pytest
from made_cells import cell, tagged

from data.examples import DataError
from report.phenomena import contrasts, phenomena_rows
from report.run_folder import RunFolder


def test_phenomena_join_seeds_and_set_the_encoders_side_by_side(tmp_path):
    cells = [tagged("bi", role_swap=0.9), tagged("bi", role_swap=0.7), tagged("cross", passive=1)]
    rows = {row["phenomenon"]: row for row in phenomena_rows(cells)}
    assert rows["role swap"]["bi"] == pytest.approx(0.8) and rows["role swap"]["cross"] is None
    assert rows["passive"]["bi"] is None and rows["passive"]["n"] == 30
    RunFolder(tmp_path).write_results(cells, {})
    with (tmp_path / "phenomena.csv").open() as file:
        assert [row["bi"] for row in csv.DictReader(file)] == ["0.8", ""]


def test_a_distilled_encoder_has_a_column_where_it_ran(tmp_path):
    cells = [tagged("bi", passive=0.5), tagged("distilled", passive=0.3)]
    (row,) = phenomena_rows(cells)
    assert (row["bi"], row["cross"], row["distilled"]) == (0.5, None, 0.3)
    assert contrasts(cells) == []
    RunFolder(tmp_path).write_results(cells, {})
    assert (tmp_path / "phenomena.csv").read_text().splitlines()[0].endswith("bi,cross,distilled")


def test_contrasts_name_where_each_encoder_is_ahead():
    cells = [
        tagged("bi", role_swap=0.9, passive=0.2, number=0.5),
        tagged("cross", role_swap=0.4, passive=0.3, number=0.5),
    ]
    (line,) = contrasts(cells)
    assert line == (
        "sts dev, sup, frozen: cross ahead on role swap +0.50; bi ahead on passive +0.10 (distance)"
    )
    assert contrasts(cells[:1]) == []  # nothing to compare
    rare = {"place": {"n": 19, "error": 1}}
    assert contrasts([cell(encoder=kind, phenomena=rare) for kind in ("bi", "cross")]) == []
    tested = [replace(tagged(kind, place=0.1), split="test") for kind in ("bi", "cross")]
    assert contrasts([*cells, *tested]) == ["sts test, sup, frozen: no difference (distance)"]


def test_a_run_on_data_without_tags_writes_no_phenomena(tmp_path):
    RunFolder(tmp_path).write_results([cell()], {})
    assert not (tmp_path / "phenomena.csv").exists()


@pytest.mark.parametrize("damage", [{"place": {"n": 3}}, {"place": {"n": 3, "error": "x"}}, [1]])
def test_damaged_phenomena_are_one_clear_line(damage, tmp_path):
    entry = cell().to_json() | {"phenomena": damage}
    (tmp_path / "results.json").write_text(json.dumps([entry]))
    with pytest.raises(DataError, match="not a run's results"):
        RunFolder(tmp_path).finished_cells("b", "d")
