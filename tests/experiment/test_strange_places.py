"""Paths that are not UTF-8, ids that would forge a row, pipes: no run fails late, or waits."""

import csv
import io
import json
import os
import shutil
import sys

import pytest
from toy_runs import results, run

from data.examples import DataError
from data.tasks import read_sts
from runtime.streams import Shown


def test_a_run_among_paths_that_are_not_utf8(tiny_checkpoint, toy_data, tmp_path, monkeypatch):
    # As `begin` makes it; pytest's own is left alone.
    monkeypatch.setattr(sys, "stdout", Shown(io.BytesIO(), "ascii", "backslashreplace"))
    place = tmp_path / os.fsdecode(b"na\xefve")
    shutil.copytree(tiny_checkpoint, place / "bert")
    shutil.copytree(toy_data, place / "data")
    argv = [place / "bert", place / "data", place / "r", "--task", "sts", "--pretrain", "sup"]
    triplets = next((place / "data").glob("*nli*.csv"))
    assert run(*argv, "--sup-data", str(triplets)) == 0
    assert results(place / "r")[0]["data"] == str(place / "data")
    options = json.loads((place / "r" / "config.json").read_text())["options"]
    assert options["run_dir"] == str(place / "r")
    assert "na\\udcefve" in (place / "r" / "results.csv").read_text("utf-8")
    assert (place / "r" / "report.html").read_text("utf-8")


@pytest.mark.parametrize("id", ["a\nb", "a , 1.0", "a\tb", "a\x85b"])
def test_an_id_that_would_forge_a_prediction_is_refused(id, tmp_path):
    with (tmp_path / "sts.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, delimiter="\t")
        table.writerow(["id", "sentence1", "sentence2", "similarity"])
        table.writerows([["0", "a", "b", "1"], [id, "a", "b", "1"]])
    with pytest.raises(DataError, match=r"sts\.csv:3: id .* would separate predictions"):
        read_sts(tmp_path / "sts.csv")
