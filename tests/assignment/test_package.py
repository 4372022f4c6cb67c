"""`python -m assignment package`: the course's files, from a run or from any spelling."""

import zipfile

import numpy as np
import pytest
from made_submissions import gold_of, ids_of, predictions, text_of, write_data, write_submission

from assignment.__main__ import main
from evaluation.metrics import task_metrics
from report.cell import Cell
from report.run_folder import RunFolder


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "data", labelled=("dev",))
    return tmp_path


def made_run(path, skills, tasks=("sst", "para", "sts")):
    """Write a run with a head of each skill for each task; labels are of dev alone."""
    run, cells = RunFolder(path), []
    for task in tasks:
        for seed, skill in enumerate(skills):
            found = {
                split: np.array(predictions(task, split, skill, seed)) for split in ("dev", "test")
            }
            metrics = task_metrics(task, found["dev"], gold_of(task, "dev"))
            place = ("sup", task, "bi", "frozen", "concat", "b", "data", seed, "dev", 40)
            seen = {"sentences": 0.0, "metrics_on_rest": {}}
            cell = Cell(*place, metrics, 1.0, 1.0, f"{task}{seed}", seen)
            cells.append(cell)
            for split, values in found.items():
                run.write_predictions(cell.name, task, split, ids_of(task, split), values)
    run.write_results(cells)
    return path


def package(capsys, *words):
    code = main(["package", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_run_gives_the_best_head_of_each_task(place, capsys):
    made_run(place / "run", (0.4, 0.9, 0.6))
    code, out, err = package(capsys, "run", "--out", "s.zip")
    assert (code, err) == (0, "") and "sup-sts-bi-frozen-concat-1, dev 0.9" in out
    with zipfile.ZipFile(place / "s.zip") as archive:
        names = archive.namelist()
        best = archive.read("predictions/sts-test-output.csv").decode()
    tasks, splits = ("para", "sst", "sts"), ("dev", "test")
    assert names == [f"predictions/{t}-{s}-output.csv" for t in tasks for s in splits]
    assert best == text_of("sts", "test", values=predictions("sts", "test", 0.9, 1))
    assert main(["validate", "s.zip", "--data", "data"]) == 0


def test_other_heads_and_spellings_can_be_asked_for(place, capsys):
    made_run(place / "run", (0.4, 0.9))
    cell = "sup-sst-bi-frozen-concat-0"
    words = ["--cells", cell, "--dialect", "handout", "--out", "s.zip"]
    code, out, _ = package(capsys, "run", *words)
    assert code == 0 and f"sst     {cell}" in out
    with zipfile.ZipFile(place / "s.zip") as archive:
        text = archive.read("predictions/sst-dev-out.csv").decode()
    assert text == text_of("sst", "dev", "handout", predictions("sst", "dev", 0.4, 0))


def test_any_spelling_and_order_gives_the_same_bytes(place, capsys):
    for spelling in ("handout", "tab", "code"):
        folder = write_submission(place / spelling, spelling)
        for path in folder.iterdir() if spelling != "code" else ():
            head, *rows = path.read_text().splitlines(keepends=True)
            path.write_text("".join([head, *reversed(rows)]))
        code, _, err = package(capsys, spelling, "--data", "data", "--out", f"{spelling}.zip")
        assert (code, err) == (0, "")
    assert len({path.read_bytes() for path in place.glob("*.zip")}) == 1


def test_nothing_is_written_where_anything_is_wrong(place, capsys):
    folder = write_submission(place / "mine")
    (folder / "sst-dev-output.csv").write_text(text_of("sst", "dev") + "more , 1 \n")
    (folder / "para-test-output.csv").unlink()
    code, out, err = package(capsys, "mine", "--data", "data", "--out", "s.zip")
    assert code == 2 and "2 fault(s), told above; nothing written" in err
    assert "para-test-output.csv is missing" in out and "sst-dev-output.csv:42: id 'more'" in out
    assert not (place / "s.zip").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "--cells", "none"), "run: no head 'none'; --cells takes sup-sst-"),
        (("run", "--tasks", "sst", "sts"), "run: no dev score of sts; name a head"),
        (("data", "--cells", "x"), "data: --cells names heads of a run"),
        (("none",), "none: cannot be read"),
    ],
)
def test_what_cannot_be_packed_is_one_line(words, message, place, capsys):
    made_run(place / "run", (0.5,), ("sst",))
    code, _, err = package(capsys, *words, "--out", "s.zip")
    assert code == 2 and err.startswith(f"error: {message}") and err.count("\n") == 1
