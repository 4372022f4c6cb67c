"""`python -m assignment package`: the course's files, from a run."""

import zipfile

import pytest
from made_submissions import made_run, predictions, text_of, working_folder

from assignment.__main__ import main


@pytest.fixture
def place(tmp_path, monkeypatch):
    return working_folder(tmp_path, monkeypatch)


def package(capsys, *words):
    code = main(["package", *words, "--out", "s.zip"])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_run_gives_the_best_head_of_each_task(place, capsys):
    made_run(place / "run", (0.4, 0.9, 0.6))
    made_run(place / "equal", (0.9, 0.9))
    packed = []
    for run, sst in (("run", 1), ("run", 1), ("equal", 0)):
        code, out, err = package(capsys, run)
        assert (code, err) == (0, "") and f"sst     sup-sst-bi-frozen-concat-{sst}, dev 0." in out
        with zipfile.ZipFile(place / "s.zip") as archive:
            files = {name: archive.read(name).decode() for name in archive.namelist()}
        text = text_of("sst", "dev", values=predictions("sst", "dev", 0.9, sst))
        assert files["predictions/sst-dev-output.csv"] == text
        assert main(["validate", "s.zip", "--data", "data"]) == 0
        packed.append((place / "s.zip").read_bytes())
    tasks, splits = ("para", "sst", "sts"), ("dev", "test")
    assert list(files) == [f"predictions/{t}-{s}-output.csv" for t in tasks for s in splits]
    assert packed[0] == packed[1] != packed[2]


def test_nothing_is_written_where_anything_is_wrong(place, capsys):
    made_run(place / "run", (0.5,))
    for task, split, more in (("sst", "dev", "more , 1 \n"), ("para", "test", "")):
        folder = place / "run" / "predictions" / f"sup-{task}-bi-frozen-concat-0"
        path = folder / f"{task}-{split}-output.csv"
        path.write_text(path.read_text() + more) if more else path.unlink()
    code, out, err = package(capsys, "run")
    assert code == 2 and "2 fault(s), listed above; nothing written" in err
    assert "para-test-output.csv is missing" in out and "sst-dev-output.csv:42: id 'more'" in out
    assert not (place / "s.zip").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "--tasks", "sst", "sts"), "run: no dev score of sts; give --tasks without it"),
        (("data",), "data: no results.json in it; give the folder of a run"),
    ],
)
def test_what_cannot_be_packed_is_one_line(words, message, place, capsys):
    made_run(place / "run", (0.5,), ("sst",))
    code, _, err = package(capsys, *words)
    assert code == 2 and err.startswith(f"error: {message}") and err.count("\n") == 1
