"""`python -m report compare`: two runs or two files, the same numbers as by hand, clear errors."""

import json
from dataclasses import replace

import numpy as np
import pytest
from made_cells import cell
from scipy.stats import pearsonr

from data.tasks import TASKS
from evaluation import intervals
from evaluation.significance import compare
from report.__main__ import main
from report.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("few_resamples")
N = 40
GOLD = np.arange(N) % 6 * 1.0
IDS = [f"id{i:03d}" for i in range(N)]


@pytest.fixture
def few_resamples(monkeypatch):
    monkeypatch.setattr(intervals, "RESAMPLES", 200)


@pytest.fixture
def data(tmp_path):
    """A folder with an STS dev file."""
    folder = tmp_path / "data"
    folder.mkdir()
    lines = ["\tid\tsentence1\tsentence2\tsimilarity"]
    lines += [f"{i}\t{IDS[i]}\tone {i}\tother {i}\t{GOLD[i]}" for i in range(N)]
    (folder / "sts-dev.csv").write_text("\n".join(lines) + "\n")
    return folder


def noisy(seed, size) -> np.ndarray:
    return GOLD + np.random.default_rng(seed).normal(0, size, N)


def predicted(path, values, ids=IDS, header="id \t Predicted_Similiary ", between=" , "):
    rows = [f"{id}{between}{value}" for id, value in zip(ids, values, strict=True)]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def made_run(folder, data, noise, seeds=(1,), **coordinates):
    run = RunFolder(folder)
    cells = [replace(cell(data=str(data), n=N), seed=seed, **coordinates) for seed in seeds]
    for one in cells:
        run.write_predictions(one.name, TASKS["sts"], "dev", IDS, noisy(one.seed, noise))
    run.write_results(cells)
    return folder


def run_command(capsys, *argv):
    code = main(["compare", *map(str, argv)])
    out, err = capsys.readouterr()
    return code, out, err


def test_two_files_of_any_dialect_are_compared(tmp_path, data, capsys):
    a, b = noisy(1, 0.2), noisy(2, 3)
    order = np.random.default_rng(0).permutation(N)
    ours = predicted(tmp_path / "ours.csv", a)
    theirs = predicted(
        tmp_path / "theirs.csv", b[order], [IDS[i].upper() for i in order],
        "id,Predicted_Similarity", ",",
    )  # fmt: skip
    code, out, err = run_command(
        capsys, ours, theirs, "--gold", data / "sts-dev.csv",
        "--json", tmp_path / "c.json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "pearson: A beats B by " in out and "t over rows, p < 0.001, Holm" in out
    content = json.loads((tmp_path / "c.json").read_text())
    (entry, _), (found, *_) = (
        content["comparisons"],
        compare("sts", "pearson", {"A": {0: a}, "B": {0: b}}, GOLD)[1],
    )
    assert entry["difference"] == pytest.approx(pearsonr(a, GOLD)[0] - pearsonr(b, GOLD)[0])
    assert (entry["p"], entry["interval"]["low"]) == (found.p, pytest.approx(found.interval.low))


def test_the_split_is_found_by_the_ids(tmp_path, data, capsys):
    text = (data / "sts-dev.csv").read_text()
    (data / "sts-test-student.csv").write_text(
        text.replace("\tid", "\ttest").replace("test\t", "id\t", 1)
    )
    paths = [
        predicted(tmp_path / name, noisy(k, 1), [id.replace("id", "test") for id in IDS])
        for k, name in enumerate("xy")
    ]
    code, out, _ = run_command(capsys, *paths, "--data", data)
    assert code == 0 and "sts test, pearson: A and B differ by " in out and "not significant" in out


def test_two_runs_are_compared_by_system_and_seed(tmp_path, data, capsys):
    a = made_run(tmp_path / "a", data, 0.3, seeds=(1, 2, 3))
    b = made_run(tmp_path / "b", data, 2.0, seeds=(2, 3, 4))
    code, _, err = run_command(capsys, a, b, "--json", tmp_path / "c.json")
    assert (code, err) == (0, "")
    entry = json.loads((tmp_path / "c.json").read_text())["comparisons"][0]
    assert entry["seeds"] == [2, 3] and entry["test"] == "t over rows and seeds"
    assert (entry["a"], entry["b"]) == ("A sup-bi-frozen-concat", "B sup-bi-frozen-concat")
    scores = [[pearsonr(noisy(s, size), GOLD)[0] for s in (2, 3)] for size in (0.3, 2.0)]
    assert entry["difference"] == pytest.approx(np.mean(scores[0]) - np.mean(scores[1]))


def test_single_systems_are_compared_whatever_they_and_their_seeds_are(tmp_path, data, capsys):
    a = made_run(tmp_path / "a", data, 1.0, seeds=(1,), reader="bi")
    b = made_run(tmp_path / "b", data, 1.0, seeds=(9,), reader="cross")
    code, out, _ = run_command(capsys, a, b)
    assert code == 0 and "A sup-bi-frozen-concat and B sup-cross-frozen-concat" in out


GOOD, FILE = "good.csv", ("--gold", "data/sts-dev.csv")
WRONG = [  # arguments, and words of the message
    ((GOOD, "short.csv", *FILE), "short.csv:40: ends without 1 of the 40 ids"),
    ((GOOD, "other.csv", *FILE), "other.csv:41: id 'new' is not in data/sts-dev.csv"),
    ((GOOD, "para.csv", *FILE), "para.csv:1: predictions for para"),
    ((GOOD, "none", *FILE), "none: not found"),
    ((GOOD, GOOD, "--gold", "none"), "none: cannot be read"),
    (("new.csv", GOOD, "--data", "data"), "new.csv:2: id 'x' is not in data/"),
    ((GOOD, "data", *FILE), "good.csv, data: a folder and a file"),
    (("data", "data"), "data: no cells in results.json"),
    ((GOOD, GOOD, *FILE, "--data", "data"), "leave out the other"),
    (("run12", "run34"), "run12, run34: no seed in common"),
    (("run12", "test"), "no task and split with cells of the same system"),
]


def test_what_cannot_be_compared_is_one_clear_line(tmp_path, data, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    predicted(tmp_path / GOOD, GOLD)
    predicted(tmp_path / "short.csv", np.ones(N - 1), IDS[1:])
    predicted(tmp_path / "other.csv", np.ones(N), [*IDS[1:], "new"])
    predicted(tmp_path / "para.csv", np.ones(N), header="id,Predicted_Is_Paraphrase")
    predicted(tmp_path / "new.csv", [1.0], ["x"])
    made_run(tmp_path / "run12", "data", 1, (1, 2))
    made_run(tmp_path / "run34", "data", 1, (3, 4))
    made_run(tmp_path / "test", "data", 1, split="test")
    for argv, message in WRONG:
        code, _, err = run_command(capsys, *argv)
        assert code == 2 and err.startswith("error: ") and err.count("\n") == 1
        assert message in err
