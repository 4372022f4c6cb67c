"""Re-ranking by the cross-encoder of a run: its scores are the run's own predictions."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from indexing import command, write_lines

from data.examples import DataError
from data.tasks import read_task
from data.triplets import iter_triplets
from minbert.config import CheckpointError
from run_multitask import Settings, run
from search.encoders import open_cross_encoder


@pytest.fixture(scope="module")
def runs(tiny_checkpoint, toy_data, tmp_path_factory) -> Path:
    """Train heads that re-rank, frozen on a tuned backbone and tuned along, and a bi-encoder."""
    folder = tmp_path_factory.mktemp("rerank") / "runs"
    settings = {
        "backbone": str(tiny_checkpoint),
        "data": str(toy_data),
        "device": "cpu",
        "precision": "float32",
        "simcse": {"max_steps": 2, "eval_steps": 2},
        "head": {"num_epochs": 2},
    }
    grid = {"pretrain": "unsup", "tune": ("frozen", "full"), "task": ("para", "sts")}
    run(Settings(run_dir=folder / "many", encoder=("late", "cross"), **grid, **settings))
    run(Settings(run_dir=folder / "one", encoder=("bi", "cross"), task="sts", **settings))
    return folder


def test_scores_are_the_predictions_of_the_run(runs, toy_data):
    heads = sorted((runs / "many" / "heads").glob("*.safetensors"))
    assert len(heads) == 8
    for path in heads:
        task = path.name.split("-")[1]
        cross = open_cross_encoder(path, "cpu", "float32")
        scores = [cross(pair.text_a, [pair.text_b])[0] for pair in read_task(toy_data, task).dev]
        file = runs / "many" / "predictions" / path.stem / f"{task}-dev-output.csv"
        predicted = [float(line.split(" , ")[1]) for line in file.read_text().splitlines()[1:]]
        found = np.array(scores) if task == "sts" else np.array(scores) > 0.5
        assert found == pytest.approx(np.array(predicted), abs=1e-4), path


def test_the_best_of_the_candidates_come_first(runs, tmp_path, tiny_checkpoint, capsys):
    index, text = tmp_path / "i", "the old cat sees a dog ."
    write_lines(tmp_path / "t.txt", 60, 8)
    assert command("index", tmp_path / "t.txt", "--out", index, "--backbone", tiny_checkpoint) == 0

    def query(*more) -> list[dict]:
        assert command("query", index, text, "--json", *more) == 0
        return json.loads(capsys.readouterr().out.splitlines()[-1])["hits"]

    by_cosine = query("--top-k", "20")
    cross = open_cross_encoder(runs / "one", "cpu", "float32")
    scores = cross(text, [hit["text"] for hit in by_cosine])
    order = np.argsort(-scores, kind="stable")[:5]
    hits = query("--top-k", "5", "--candidates", "20", "--rerank", runs / "one")
    assert [hit.pop("score") for hit in hits] == pytest.approx(scores[order], abs=1e-5)
    assert hits == [by_cosine[row] for row in order]
    # Negatives are scored so, too, and their positive.
    best, *rest = [by_cosine[row]["text"] for row in np.argsort(-scores, kind="stable")]
    (tmp_path / "p.tsv").write_text(f"{text}\t{best}\n")
    words = ("--to-rank", "19", "--per-pair", "4", "--relative-margin", "0")
    words = (*words, "--rerank", runs / "one", "--out", tmp_path / "t.csv")
    assert command("mine", index, tmp_path / "p.tsv", *words) == 0
    wanted = [(text, best, negative) for negative in list(dict.fromkeys(rest))[:4]]
    assert [triplet.texts for triplet in iter_triplets(tmp_path / "t.csv")] == wanted
    capsys.readouterr()
    assert command("query", index, "a cat", "--rerank", runs / "one") == 0
    header = capsys.readouterr().out.splitlines()[1]
    assert header.split() == ["rank", "score", "cosine", "id", "text"]


def test_a_cell_is_named_or_the_best_of_a_task_is_taken(runs, tmp_path, tiny_checkpoint, capsys):
    index, text = tmp_path / "i", "the old cat sees a dog ."
    write_lines(tmp_path / "t.txt", 9, 8)
    assert command("index", tmp_path / "t.txt", "--out", index, "--backbone", tiny_checkpoint) == 0
    for cell in (
        "unsup-sts-late-full-interaction-42",
        "unsup-sts-cross-full-interaction-42",
        "para",
    ):
        capsys.readouterr()
        words = ("--json", "--rerank", runs / "many", "--cell", cell)
        assert command("query", index, text, *words) == 0
        printed = capsys.readouterr()
        name = printed.err.splitlines()[0].removeprefix("re-ranked by ")
        assert name == cell or "-para-" in name
        hits = json.loads(printed.out)["hits"]
        cross = open_cross_encoder(
            runs / "many" / "heads" / f"{name}.safetensors", "cpu", "float32"
        )
        scores = cross(text, [hit["text"] for hit in hits])
        assert [hit["score"] for hit in hits] == pytest.approx(scores, abs=1e-5)
    with pytest.raises(SystemExit):
        command("query", index, text, "--cell", "para")
    assert "--cell para: names a head of --rerank; add --rerank RUN" in capsys.readouterr().err


def test_what_cannot_rerank_is_named(runs, tmp_path):
    def refused(run, cell=None) -> str:
        with pytest.raises((DataError, CheckpointError)) as error:
            open_cross_encoder(run, "cpu", "float32", cell)
        return str(error.value)

    assert "no results.json in it; give the folder of a run" in refused(runs / "absent")
    assert "several tasks; give --cell para or --cell sts" in refused(runs / "many")
    assert "no finished cell 'sst'; it has para, sts, " in refused(runs / "many", "sst")
    name = "none-sts-bi-frozen-interaction-42"
    assert "a bi-encoder's head" in refused(runs / "one", name)
    head = runs / "one" / "heads" / f"{name}.safetensors"
    assert "is one head already; leave out --cell" in refused(head, name)
    shutil.copytree(runs / "one", tmp_path / "one", symlinks=True)
    error = refused(tmp_path / "one")
    assert "missing; it is the encoder of the head" in error and "none-sts-cross" in error
    (cross,) = (tmp_path / "one" / "heads").glob("*cross*")
    cross.unlink()
    assert "no suitable cell; none-sts-bi-frozen" in refused(tmp_path / "one")
    (bi,) = (tmp_path / "one" / "heads").iterdir()
    assert "a bi-encoder's head" in refused(bi)
