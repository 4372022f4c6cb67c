"""The ledger lists and shows runs of all versions; what was deleted or damaged is said."""

import json
import os
import shutil
from pathlib import Path

import pytest
from conftest import toy_sentences

from experiment import Settings, run
from report.__main__ import main
from report.past_run import PastRun
from report.run_folder import RunFolder
from runtime.files import link

OLD = Path(__file__).parents[1] / "golden" / "run-0.5.0"


@pytest.fixture(scope="module")
def made(tiny_checkpoint, toy_data, tmp_path_factory):
    """Run a small grid; return its folder and its cells."""
    folder = tmp_path_factory.mktemp("ledger") / "runs" / "first"
    settings = Settings(
        pretrain=("none", "sup"), task=("sts", "sst"), seeds=3, run_dir=folder,
        backbone=str(tiny_checkpoint), data=str(toy_data), device="cpu", precision="float32",
        simcse={"max_steps": 2, "eval_steps": 2}, head={"num_epochs": 1},
    )  # fmt: skip
    return folder, run(settings)


@pytest.fixture
def runs(made, tmp_path) -> Path:
    """Return a copy of the folder of runs, which a test may change."""
    shutil.copytree(made[0].parent, tmp_path / "runs", symlinks=True)
    none = tmp_path / "runs" / "first" / "backbones" / "none"  # the link leads out of the folder
    link(none, (made[0] / "backbones" / "none").resolve())
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


def test_a_run_is_listed_with_its_best_scores(made, runs, capsys):
    _, cells = made
    lines = lines_of(capsys, "list", runs)
    (row,) = table_of(lines)
    assert row["run"] == str(runs / "first") and row["seeds"] == "42-44" and row["cells"] == "12"
    assert (row["device"], row["gone"]) == ("cpu", "-")
    means = {
        stage: sum(c.metrics["pearson"] for c in cells if c.task == "sts" and c.pretrain == stage)
        / 3
        for stage in ("none", "sup")
    }
    stage = max(means, key=means.__getitem__)
    assert f"sts {means[stage]:.3f} ({stage} bi)" in row["best"] and "sst " in row["best"]
    assert lines[-1].startswith(f"1 run(s) in {runs};")


def test_minutes_are_those_of_heads_and_of_tuning(made):
    folder, cells = made
    found = PastRun.read(folder)
    assert found.head_seconds() == pytest.approx(sum(cell.seconds for cell in cells))
    notes = [path / "training.json" for path in (folder.parent / "backbones").iterdir()]
    tuned = sum(json.loads(note.read_text())["seconds"] for note in notes)
    assert len(notes) == 3 and found.tuning_seconds() == pytest.approx(tuned)


def test_a_head_of_two_splits_is_counted_once(tmp_path):
    both = [{"key": "k", "split": split, "seconds": 30.0} for split in ("dev", "test")]
    (tmp_path / "results.json").write_text(json.dumps([*both, {"key": "l", "seconds": 15}]))
    assert PastRun.read(tmp_path).head_seconds() == 45


def test_everything_known_is_shown(made, runs, capsys):
    folder, cells = made
    text = "\n".join(lines := lines_of(capsys, "show", runs / "first"))
    config = json.loads((folder / "config.json").read_text())
    for known in (config["machine"], config["python"], *config["sha256"].values()):
        assert known in text
    assert f"torch {config['packages']['torch']}" in text
    assert "device    cpu, precision float32, threads" in text and "command   python " in text
    assert "seeds     42-44" in text and "gone" not in text.replace("0 gone", "")
    rows = table_of(lines)
    assert [row["key"] for row in rows] == [cell.key for cell in cells]
    for row, cell in zip(rows, cells, strict=True):
        shown = {name: row[name] for name in ("pearson", "accuracy")}
        assert shown == {
            name: "-" if cell.metrics[name] is None else f"{cell.metrics[name]:.3f}"
            for name in shown
        }
    assert lines[-1].endswith(str(runs / "first"))


def test_what_was_deleted_is_said_to_be_gone(runs, capsys):
    shutil.rmtree(runs / "cache")
    target = (runs / "first" / "backbones" / "sup-43").resolve()
    shutil.rmtree(target)
    next((runs / "first" / "heads").iterdir()).unlink()
    (row,) = table_of(lines_of(capsys, "list", runs))
    assert row["gone"] == "backbone sup-43, 1 of 12 heads, cache" and "sts" in row["best"]
    shown = lines_of(capsys, "show", runs / "first")
    gone = [line for line in shown if "gone" in line]
    assert [line.split()[0] for line in gone] == ["encoder", "heads", "cache"]
    assert "sup-43" in gone[0] and "11 here, 1 gone" in gone[1]


def test_an_old_run_stays_readable(capsys):
    (row,) = table_of(lines_of(capsys, "list", OLD))
    assert row["gone"] == "backbone sup-42, 4 of 4 heads, cache"
    assert row["best"] == "sts 0.398 (sup cross); para 0.500 (sup bi)"
    raw = json.loads((OLD / "r" / "config.json").read_text())
    shown = "\n".join(lines_of(capsys, "show", OLD / "r"))
    assert raw["sha256"]["sup"] in shown and raw["commit"] in shown


def test_missing_keys_are_a_dash(tmp_path, capsys):
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "results.json").write_text('[{"task": "sts", "metrics": null}, {}]')
    (bare / "config.json").write_text('{"options": 3, "command": 3, "sha256": 3, "packages": 3}')
    (row,) = table_of(lines_of(capsys, "list", tmp_path))
    assert {row[name] for name in ("minutes", "device", "backbone", "seeds", "best")} == {"-"}
    shown = lines_of(capsys, "show", bare)
    assert "command   -" in shown and "packages  -" in shown
    assert [row["task"] for row in table_of(shown)] == ["sts", "-"]


def test_the_test_split_counts_where_it_has_labels(tmp_path, capsys):
    cells = [
        {"task": "sts", "pretrain": "none", "encoder": kind, "split": split, "seed": 1, "key": kind,
         "metrics": {"pearson": score}}
        for kind, split, score in (("bi", "dev", 0.9), ("bi", "test", 0.5), ("cross", "test", 0.6))
    ]  # fmt: skip
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "results.json").write_text(json.dumps(cells))
    (row,) = table_of(lines_of(capsys, "list", tmp_path))
    assert row["best"] == "sts 0.600 (none cross)"


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
    shutil.copytree(runs / "first", broken, symlinks=True)
    (broken / name).write_text(content)
    lines = lines_of(capsys, "list", runs)
    assert [row["run"] for row in table_of(lines)] == [str(runs / "first")]
    (left_out,) = [line for line in lines if line.startswith("left out")]
    assert name in left_out and "\x1b" not in left_out
    assert main(["show", str(broken)]) == 2
    error = capsys.readouterr().err
    assert name in error and error.count("\n") == 1


def test_runs_are_in_order_of_time_and_unfinished_ones_say_so(runs, capsys):
    for name, age in (("older", 500), ("oldest", 900)):
        RunFolder(runs / name).write_json("config.json", {"options": {"backbone": "mini"}})
        changed = os.stat(runs / "first" / "results.json").st_mtime - age
        os.utime(runs / name / "config.json", (changed, changed))
    (runs / "first" / "state").mkdir(exist_ok=True)
    (runs / "first" / "state" / "x.pt").write_text("")
    rows = table_of(lines_of(capsys, "list", runs))
    assert [Path(row["run"]).name for row in rows] == ["oldest", "older", "first"]
    assert [row["cells"] for row in rows] == ["0, unfinished", "0, unfinished", "12, unfinished"]
    assert rows[0]["backbone"] == "mini"
    assert any("--resume" in line for line in lines_of(capsys, "show", runs / "older"))


def test_folders_of_other_things_are_not_runs(tmp_path, tiny_checkpoint, capsys):
    shutil.copytree(tiny_checkpoint, tmp_path / "bert")
    (tmp_path / "notes").mkdir()
    (tmp_path / "file.txt").write_text(toy_sentences(1)[0])
    (line,) = lines_of(capsys, "list", tmp_path)
    assert line.startswith("0 run(s)")
    assert main(["show", str(tmp_path / "bert")]) == 2
    assert "not a run folder" in capsys.readouterr().err
    assert main(["list", str(tmp_path / "absent")]) == 2
    assert "no such folder" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "code"), [([], 2), (["tell"], 2), (["--help"], 0)])
def test_other_words_print_the_usage(words, code, capsys):
    assert main(words) == code
    assert "python -m report list|show" in "".join(capsys.readouterr())


@pytest.mark.parametrize("command", ["list", "show"])
def test_help_has_examples(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"  python -m report {command} runs" in capsys.readouterr().out
