"""The run folder is written whole or not at all; the table says what is undefined."""

import csv
import json
import os

import pytest

from data.examples import DataError
from report.phenomena import contrasts, phenomena_rows
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
    assert shown["cosine"] == "undefined"  # of an earlier version, which did not measure it
    assert (shown["seen"], shown["on unseen"], shown["n"]) == ("25.0%", "0.400", "9")


def test_table_shows_the_bare_cosine_of_bi_encoders_alone():
    metrics = {"accuracy": None, "f1": None, "pearson": 0.5, "spearman": 0.25}
    bare = cell(metrics={**metrics, "cosine_spearman": 0.75})
    assert row([bare])["cosine"] == "0.750"
    assert row([cell(encoder="cross")])["cosine"] == "-"


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
    folder.write_results([cell(key="new", n=10)], folder.finished_cells("b", "d"))
    kept = folder.finished_cells("b", "d")
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
        RunFolder(tmp_path).finished_cells("b", "d")


def tagged(encoder, **errors):
    """Return a cell with an error by phenomenon, 30 rows each."""
    found = {tag.replace("_", " "): {"n": 30, "error": error} for tag, error in errors.items()}
    return cell(encoder=encoder, phenomena=found)


def test_phenomena_join_seeds_and_set_the_encoders_side_by_side(tmp_path):
    cells = [tagged("bi", role_swap=0.9), tagged("bi", role_swap=0.7), tagged("cross", passive=1)]
    rows = {row["phenomenon"]: row for row in phenomena_rows(cells)}
    assert rows["role swap"]["bi"] == pytest.approx(0.8) and rows["role swap"]["cross"] is None
    assert rows["passive"]["bi"] is None and rows["passive"]["n"] == 30
    RunFolder(tmp_path).write_results(cells, {})
    with (tmp_path / "phenomena.csv").open() as file:
        assert [row["bi"] for row in csv.DictReader(file)] == ["0.8", ""]


def test_contrasts_name_where_each_encoder_is_ahead():
    cells = [
        tagged("bi", role_swap=0.9, passive=0.2, number=0.5),
        tagged("cross", role_swap=0.4, passive=0.3, number=0.5),
    ]
    (line,) = contrasts(cells)
    assert line == (
        "sts dev, sup: cross ahead on role swap +0.50; bi ahead on passive +0.10 (distance)"
    )
    assert contrasts(cells[:1]) == []  # nothing to compare
    rare = {"place": {"n": 19, "error": 1}}
    assert contrasts([cell(encoder=kind, phenomena=rare) for kind in ("bi", "cross")]) == []
    tested = [tagged(kind, place=0.1) | {"split": "test"} for kind in ("bi", "cross")]
    assert contrasts([*cells, *tested]) == ["sts test, sup: no difference (distance)"]


def test_a_run_on_data_without_tags_writes_no_phenomena(tmp_path):
    RunFolder(tmp_path).write_results([cell()], {})
    assert not (tmp_path / "phenomena.csv").exists()


@pytest.mark.parametrize("damage", [{"place": {"n": 3}}, {"place": {"n": 3, "error": "x"}}, [1]])
def test_damaged_phenomena_are_one_clear_line(damage, tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_results([cell()], {})
    (tmp_path / "results.json").write_text(json.dumps([cell(phenomena=damage)]))
    with pytest.raises(DataError, match="not a run's results"):
        folder.finished_cells("b", "d")
