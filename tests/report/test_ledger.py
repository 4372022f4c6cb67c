"""The ledger lists runs of all versions; what is damaged is named, what is missing is a dash."""

import os
import shutil
from pathlib import Path

import pytest
from conftest import toy_sentences
from made_cells import cell, para_cell

from report.__main__ import main
from report.run_folder import RunFolder

OLD = Path(__file__).parents[1] / "golden" / "run-0.5.0"


@pytest.fixture
def runs(tmp_path) -> Path:
    """Return a folder with a finished run of three seeds."""
    folder = RunFolder(tmp_path / "runs" / "first")
    options = {"backbone": "mini", "data": "bundled"}
    folder.write_json("config.json", {"options": options, "device": "cpu"})
    cells = []
    for seed in (42, 43, 44):
        for pretrain, score in (("none", 0.25 + seed / 100), ("sup", 0.125)):
            own = {"pretrain": pretrain, "seed": seed, "key": f"{pretrain}{seed}"}
            scores = {"accuracy": None, "f1": None, "pearson": score, "spearman": None}
            # Splits of a head share its time.
            cells += [cell(**own, metrics=scores, split=s, seconds=60.0) for s in ("dev", "test")]
        trained = folder.path / "backbones" / f"sup-{seed}"
        trained.mkdir(parents=True)
        (trained / "training.json").write_text('{"seconds": 30.0}')
    folder.write_results([*cells, para_cell(tune="full", key="p", seconds=9.0)], {})
    return tmp_path / "runs"


def lines_of(capsys, *words) -> list[str]:
    assert main(list(map(str, words))) == 0
    printed = capsys.readouterr()
    assert not printed.err
    return printed.out.splitlines()


def table_of(lines: list[str]) -> list[dict[str, str]]:
    """Return the rows of the only Markdown table among the lines."""
    header, _, *rows = [line for line in lines if line.startswith("|")]
    names = [name.strip() for name in header.strip("|").split(" | ")]
    return [
        dict(zip(names, map(str.strip, row.strip("|").split(" | ")), strict=True)) for row in rows
    ]


def test_a_run_is_listed_with_its_minutes_and_best_scores(runs, capsys):
    lines = lines_of(capsys, "list", runs)
    (row,) = table_of(lines)
    del row["when"]
    assert row == {
        "run": str(runs / "first"),
        "minutes": "7.7",  # 6 heads of a minute, one of 9 s, 3 backbones of 30 s
        "device": "cpu",
        "backbone": "mini",
        "data": "bundled",
        "seeds": "1, 42, 43, 44",
        "cells": "13",
        "best": "sts 0.680 (none bi); para 0.500 (none bi full)",
    }
    assert lines[-1].startswith(f"1 run(s) in {runs};")


def test_an_old_run_stays_readable(capsys):
    (row,) = table_of(lines_of(capsys, "list", OLD))
    assert row["best"] == "sts 0.398 (sup cross); para 0.500 (sup bi)"


def test_missing_keys_are_a_dash(tmp_path, capsys):
    RunFolder(tmp_path / "bare").write_json("config.json", {"options": {}})
    undefined = dict.fromkeys(("accuracy", "f1", "pearson", "spearman"))
    RunFolder(tmp_path / "constant").write_results([cell(metrics=undefined)], {})
    rows = table_of(lines_of(capsys, "list", tmp_path))
    assert {row[name] for row in rows for name in ("device", "backbone", "best")} == {"-"}
    assert {row["minutes"] for row in rows} == {"-", "0.0"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("results.json", c) for c in ("{", "7", "[3]", '[{"task": ["sts"]}]', '{"a": 1}')),
        ("results.json", '[{"metrics": [0.5]}]'),
        *(("config.json", c) for c in ("{", "[1]")),
    ],
)
def test_a_damaged_run_is_named_and_does_not_stop_the_list(name, content, runs, capsys):
    broken = runs / "a-broken\x1b[2J"
    shutil.copytree(runs / "first", broken)
    (broken / name).write_text(content)
    lines = lines_of(capsys, "list", runs)
    assert [row["run"] for row in table_of(lines)] == [str(runs / "first")]
    (left_out,) = [line for line in lines if line.startswith("left out")]
    assert name in left_out and "\x1b" not in left_out


def test_runs_are_in_order_of_time_and_unfinished_ones_say_so(runs, capsys):
    for name, age in (("older", 500), ("oldest", 900)):
        RunFolder(runs / name).write_json("config.json", {"options": {"backbone": "mini"}})
        changed = os.stat(runs / "first" / "results.json").st_mtime - age
        os.utime(runs / name / "config.json", (changed, changed))
    (runs / "first" / "state").mkdir()
    (runs / "first" / "state" / "x.pt").write_text("")
    rows = table_of(lines_of(capsys, "list", runs))
    assert [Path(row["run"]).name for row in rows] == ["oldest", "older", "first"]
    assert [row["cells"] for row in rows] == ["0, unfinished", "0, unfinished", "13, unfinished"]


def test_folders_of_other_things_are_not_runs(tmp_path, tiny_checkpoint, capsys):
    shutil.copytree(tiny_checkpoint, tmp_path / "bert")
    (tmp_path / "notes").mkdir()
    (tmp_path / "file.txt").write_text(toy_sentences(1)[0])
    (line,) = lines_of(capsys, "list", tmp_path)
    assert line.startswith("0 run(s)")
    assert main(["list", str(tmp_path / "absent")]) == 2
    assert "no such folder" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "code"), [([], 2), (["tell"], 2), (["--help"], 0)])
def test_other_words_print_the_usage(words, code, capsys):
    assert main(words) == code
    assert "usage: python -m report list|compare|cost|html" in "".join(capsys.readouterr())


@pytest.mark.parametrize("command", ["list", "compare", "cost", "html"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0 and f"python -m report {command}" in shown
    assert len(shown.splitlines()) < 40
