"""Nothing is chosen by rows that are scored: other dev and test labels change only the scores."""

import json
import random
import shutil

import pytest
from conftest import toy_sentences
from toy_runs import cells_of, run

WORDS = ["--select", "train", "--task"]
FILES = {"sst": "ids-sst", "para": "quora", "sts": "sts"}
COUNT = 130  # labelled rows of each task: enough to hold some out


@pytest.fixture(scope="module")
def larger(toy_data, tmp_path_factory):
    """The toy data with more labelled rows, whose texts are not those of dev and test."""
    folder = tmp_path_factory.mktemp("selection") / "data"
    shutil.copytree(toy_data, folder)
    a = [f"{k} {text}" for k, text in enumerate(toy_sentences(COUNT, 5))]
    b = [f"{text} {k}" for k, text in enumerate(toy_sentences(COUNT, 6))]
    for task, most in {"sst": 5, "para": 2, "sts": 6}.items():
        path = folder / f"{FILES[task]}-train.csv"
        header = path.read_text().splitlines()[0]
        texts = a if task == "sst" else [f"{x}\t{y}" for x, y in zip(a, b, strict=True)]
        rows = [f"{k}\tr{k}\t{text}\t{k % most}" for k, text in enumerate(texts)]
        path.write_text("\n".join([header, *rows]) + "\n")
    return folder


def with_other_labels(data, folder):
    """Return a copy of the data in which dev and test have their labels in another order."""
    shutil.copytree(data, folder)
    changed = 0
    for path in [*folder.glob("*-dev.csv"), *folder.glob("*-test-student.csv")]:
        header, *rows = path.read_text().splitlines()
        cut = [row.rpartition("\t") for row in rows]
        if "sentence" in header.rpartition("\t")[2]:
            continue  # no labels, the last column is a text
        labels = [label for _, _, label in cut]
        random.Random(1).shuffle(labels)
        changed += labels != [label for _, _, label in cut]
        turned = [f"{before}\t{label}" for (before, _, _), label in zip(cut, labels, strict=True)]
        path.write_text("\n".join([header, *turned]) + "\n")
    assert changed >= 3
    return folder


def decided(folder):
    """Return what was decided in a run, by cell and split: epochs, rates, steps, thresholds."""
    return {
        cell.place(): (
            cell.choice | {"seconds": 0},
            cell.steps,
            {name: cell.threshold[name]["threshold"] for name in ("accuracy", "f1")}
            if cell.threshold
            else {},
        )
        for cell in cells_of(folder)
    }


@pytest.mark.parametrize(
    "tune",
    [
        "sst para sts --reader bi cross --tune frozen",
        "para sts --reader bi --tune joint",
        "para sts --reader cross --tune full --rates 1e-4 1e-3",
    ],
    ids=lambda words: words.split("--tune ")[1],
)
def test_other_labels_of_dev_and_test_change_the_scores_only(
    tune, tiny_checkpoint, larger, tmp_path
):
    words = [*WORDS, *tune.split()]
    other = with_other_labels(larger, tmp_path / "data")
    first, second = tmp_path / "1" / "r", tmp_path / "2" / "r"
    assert run(tiny_checkpoint, larger, first, *words) == 0
    assert run(tiny_checkpoint, other, second, *words) == 0
    assert decided(first) == decided(second)
    assert all(choice["chosen_on"] == "train" for choice, _, _ in decided(first).values())
    assert any(thresholds for _, _, thresholds in decided(first).values())
    names = [path.relative_to(first) for path in first.glob("predictions/*/*.csv")]
    assert len(names) >= 4
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes()
    scores = [[cell.metrics for cell in cells_of(folder)] for folder in (first, second)]
    assert scores[0] != scores[1]


def test_last_chooses_nothing_and_few_rows_keep_the_last_epoch(
    tiny_checkpoint, toy_data, larger, tmp_path, capsys
):
    words = ["--task", "sts", "--select"]
    assert run(tiny_checkpoint, larger, tmp_path / "last", *words, "last") == 0
    assert "epochs    all of them" in capsys.readouterr().out
    (cell,) = [cell for cell in cells_of(tmp_path / "last") if cell.split == "dev"]
    assert cell.choice == {} and cell.steps == 6  # two epochs of 130 rows in batches of 64
    assert run(tiny_checkpoint, toy_data, tmp_path / "few", *words, "train") == 0
    assert "too few rows share no text" in capsys.readouterr().out
    assert all(cell.choice == {} for cell in cells_of(tmp_path / "few"))


def test_what_the_checkpoint_was_trained_on_counts_as_seen(tiny_checkpoint, toy_data, tmp_path):
    words = ["--task", "sts"]
    shares = []
    for name, notes in {"plain": {}, "read": {"trained_on": str(toy_data / "sts-dev.csv")}}.items():
        backbone = shutil.copytree(tiny_checkpoint, tmp_path / name)
        (backbone / "training.json").write_text(json.dumps(notes))
        assert run(backbone, toy_data, tmp_path / f"{name}-run" / "r", *words) == 0
        cells = {cell.split: cell for cell in cells_of(tmp_path / f"{name}-run" / "r")}
        shares.append(cells["dev"].overlap["sentences"])
    assert shares[0] < shares[1] == 1
