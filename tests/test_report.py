"""The run folder is written whole or not at all; the table says what is undefined."""

import json
import os

import pytest

from data.examples import DataError
from report.run_folder import RunFolder
from report.table import results_table


def cell(**changes):
    """Return one cell of results.json."""
    metrics = {"accuracy": None, "f1": None, "pearson": 0.5, "spearman": 0.25}
    base = {
        "key": "k", "pretrain": "sup", "task": "sts", "encoder": "bi", "tune": "frozen",
        "features": "concat", "backbone": "b", "data": "d", "seed": 1, "split": "dev", "n": 9,
        "seconds": 2.0, "sentences_per_second": 100.0, "metrics": metrics,
        "overlap": {"sentences": 0.25, "pairs": 0.0, "metrics_on_rest": {"pearson": 0.4}},
    }  # fmt: skip
    return {**base, **changes}


def row(cells) -> dict[str, str]:
    """Return the only row of a table, by column."""
    header, _, body = results_table(cells).splitlines()
    split = [[field.strip() for field in line.split("|")[1:-1]] for line in (header, body)]
    return dict(zip(*split, strict=True))


def test_table_shows_metrics_that_apply_and_dashes_elsewhere():
    shown = row([cell()])
    assert (shown["accuracy"], shown["pearson"], shown["spearman"]) == ("-", "0.500", "0.250")
    assert (shown["seen"], shown["on unseen"], shown["n"]) == ("25.0%", "0.400", "9")


def test_table_says_undefined_for_a_constant_prediction():
    nothing = dict.fromkeys(("accuracy", "f1", "pearson", "spearman"))
    assert row([cell(metrics=nothing)])["pearson"] == "undefined"


def test_table_joins_seeds_into_mean_and_deviation():
    other = {"accuracy": None, "f1": None, "pearson": 0.7, "spearman": 0.25}
    assert row([cell(), cell(seed=2, metrics=other)])["pearson"] == "0.600 ± 0.141"


def test_a_write_that_fails_leaves_the_older_file(tmp_path, monkeypatch):
    folder = RunFolder(tmp_path)
    folder.write_json("config.json", {"old": 1})
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        folder.write_json("config.json", {"new": 2})
    assert json.loads((tmp_path / "config.json").read_text()) == {"old": 1}


def test_results_keep_earlier_cells_and_replace_recomputed_ones(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_results([cell(), cell(task="para", key="p")], {})
    folder.write_results([cell(key="new", n=10)], folder.finished_cells())
    kept = folder.finished_cells()
    assert set(kept) == {"new", "p"}
    assert kept["new"][0]["n"] == 10


def test_a_curve_replaces_only_its_own_lines(tmp_path):
    folder = RunFolder(tmp_path)
    folder.add_curve("a", [{"step": 1}, {"step": 2}])
    folder.add_curve("b", [{"step": 9}])
    folder.add_curve("a", [{"step": 3}])
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines == [{"curve": "b", "step": 9}, {"curve": "a", "step": 3}]


def test_links_are_relative_and_can_be_replaced(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        RunFolder(tmp_path / "run").link("backbones/x", tmp_path / name)
        link = tmp_path / "run" / "backbones" / "x"
        assert link.resolve() == tmp_path / name
        assert not os.path.isabs(os.readlink(link))


@pytest.mark.parametrize("content", ["{", '[{"key": "k"}]', "[3]", "7"])
def test_foreign_results_are_refused(content, tmp_path):
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(DataError, match=r"results\.json"):
        RunFolder(tmp_path).finished_cells()
