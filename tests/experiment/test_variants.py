"""Every flag and odd input runs to its end; what is there already is neither lost nor mixed up."""

import json
import re
import shutil

import pytest
import torch
from toy_runs import cells_of, hashes_of, results, run

from data.tasks import read_task
from heads.train import fit_heads
from minbert.encoder import SentenceEncoder
from report.__main__ import main as report_main
from report.run_folder import RunFolder
from runtime.files import file_digest

STS = ["--task", "sts"]


@pytest.fixture(scope="module")
def finished(start, tiny_checkpoint, tmp_path_factory):
    """The folder of runs, caches and encoders that a run on STS leaves."""
    runs = tmp_path_factory.mktemp("variants") / "runs"
    before = hashes_of(tiny_checkpoint)
    assert start(runs / "r", *STS) == 0
    assert hashes_of(tiny_checkpoint) == before
    return runs


@pytest.fixture
def folder(finished, tmp_path):
    """A finished run that a test may change."""
    return shutil.copytree(finished, tmp_path / "runs", symlinks=True) / "r"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--head-lr", "0.1"], "--head-lr: not given there, 0.1 now"),
        (["--head-epochs", "3"], "--head-epochs: 2 there, 3 now"),
        (["--seeds", "2", "--task", "sst"], "--task: sts there, sst now; --seeds: 1 there, 2 now"),
        (["--reader", "bi", "cross", "--dry-run"], "--reader: bi there, bi cross now"),
    ],
)
def test_another_command_is_refused_in_the_folder_and_named(flags, said, finished, start, capsys):
    before = hashes_of(finished)
    assert start(finished / "r", *STS, *flags) == 2
    error = capsys.readouterr().err
    assert f"r: written by another command ({said}); give another --run-dir" in error
    assert hashes_of(finished) == before


def test_what_changes_no_number_is_no_other_command(folder, start):
    assert start(folder, *STS, "--resume", "--cost-seconds", "0.01") == 0


def change_score(folder):
    """Write a better score into the results by hand."""
    edited = results(folder)
    edited[0]["metrics"]["pearson"] = 0.91
    (folder / "results.json").write_text(json.dumps(edited))


def change_prediction(folder):
    (path,) = folder.glob("predictions/*/sts-dev-output.csv")
    path.write_text(re.sub(r" , [^ ]*", " , 2.5", path.read_text(), count=1))


def change_score_without_links(folder):
    change_score(folder)
    shutil.rmtree(folder / "heads")


def change_both_scores(folder):
    """Change the score in the training, too, and take the list of its files away."""
    change_score(folder)
    (training,) = (folder / "trainings").iterdir()
    (training / "results.json").write_text((folder / "results.json").read_text())
    (training / "SHA256SUMS").unlink()


def remove_trainings(folder):
    shutil.rmtree(folder / "trainings")


@pytest.mark.parametrize(
    ("change", "said", "again"),
    [
        (change_score_without_links, "(dev) has changed since it was measured", 0),
        (remove_trainings, "has no training in", 0),
        (change_both_scores, "no SHA256SUMS in it; delete", 2),
        (change_score, "sts-bi-frozen-interaction-42 (dev) has changed since it was measured", 0),
        (change_prediction, "sts-dev-output.csv has changed; delete", 2),
    ],
)
def test_results_that_were_edited_are_never_shown(change, said, again, folder, start, capsys):
    before = results(folder)
    change(folder)
    assert report_main(["html", str(folder)]) == 2
    assert said in capsys.readouterr().err
    # The command itself writes what was measured, or says what to delete.
    assert start(folder, *STS) == again
    scores = [[cell["metrics"] for cell in cells] for cells in (results(folder), before)]
    assert scores[0] == scores[1] or again
    assert ("; delete the folder to make it again" in capsys.readouterr().err) == bool(again)


def test_a_prediction_that_was_edited_beside_the_training_is_not_read(folder, start, toy_data):
    (path,) = folder.glob("predictions/*/sts-dev-output.csv")
    edited = re.sub(r" , [^ ]*", " , 2.5", path.read_text(), count=1)
    path.unlink()  # as `sed -i` replaces a link
    path.write_text(edited)
    run = RunFolder(folder, read_only=True)
    (cell,) = (cell for cell in run.cells() if cell.split == "dev")
    assert run.predictions(cell, read_task(toy_data, "sts").dev)[0] != 2.5
    assert start(folder, *STS) == 0 and path.is_symlink()


def test_a_second_command_in_a_folder_that_is_in_use_changes_nothing(finished, start, capsys):
    before = hashes_of(finished)
    with RunFolder(finished / "r").alone():
        assert start(finished / "r", *STS) == 2
    assert "another command is writing into it" in capsys.readouterr().err
    assert hashes_of(finished) == before


def test_deleted_predictions_of_a_finished_run_are_made_again(folder, start):
    """Those of the unlabelled test rows, too, which no cell of the results stands for."""
    for split in ("dev", "test"):
        (path,) = (folder / "predictions").rglob(f"sts-{split}-output.csv")
        before = path.read_bytes()
        path.unlink()
        assert start(folder, *STS) == 0
        assert path.read_bytes() == before


def test_an_encoder_tuned_with_other_threads_is_said_to_be(start, tmp_path, capsys):
    threads = torch.get_num_threads()
    try:
        for count in ("1", "2"):
            assert start(tmp_path / "r", *STS, "--pretrain", "sup", "--threads", count) == 0
            told = "tuned with 1 threads, this run has 2" in capsys.readouterr().out
            assert told == (count == "2")
    finally:
        torch.set_num_threads(threads)


def test_foreign_files_in_a_tuned_encoders_folder_stay(start, tmp_path):
    assert start(tmp_path / "r", *STS, "--tune", "full") == 0
    (model,) = (tmp_path / "r" / "models").iterdir()
    (model / "notes.txt").write_text("precious")
    assert start(tmp_path / "r", *STS, "--tune", "full") == 0
    assert (model / "notes.txt").read_text() == "precious"


def test_pairs_are_read_in_both_orders(start, toy_data, tmp_path, monkeypatch):
    read = []

    def fitted(encoder, head_tasks, *rest, **more):
        read.append([example.texts for example in head_tasks[0].splits.train])
        return fit_heads(encoder, head_tasks, *rest, **more)

    monkeypatch.setattr("heads.train.fit_heads", fitted)
    argv = ["--task", "sts", "sst", "--reader", "cross", "--both-orders"]
    assert start(tmp_path / "r", *argv) == 0
    sst, sts = ([row.texts for row in read_task(toy_data, task).train] for task in ("sst", "sts"))
    assert sorted(read) == sorted([sst, [*sts, *((b, a) for a, b in sts)]])
    # With few labels the rows are chosen among all, of which single texts have no second order.
    assert start(tmp_path / "few", *argv, "--train-rows", "30") == 0
    assert sorted(len(rows) for rows in read[2:]) == [30, 60]


def test_a_labelled_test_file_is_scored_as_its_own_split(tiny_checkpoint, toy_data, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for split in ("train", "dev"):
        (data / f"sts-{split}.csv").write_text((toy_data / f"sts-{split}.csv").read_text())
    (data / "sts-test.csv").write_text((toy_data / "sts-dev.csv").read_text())
    assert run(tiny_checkpoint, data, tmp_path / "r", "--task", "sts") == 0
    dev, test = cells_of(tmp_path / "r")
    assert (dev.split, test.split) == ("dev", "test")
    assert dev.metrics == test.metrics


@pytest.mark.parametrize(
    "flags",
    [
        ["--pooling", "avg_top2", "--symmetric", "--mlm-weight", "0.1", "--features", "concat"],
        ["--pooling", "cls", "--simcse-batch-size", "2", "--hard-negative-weight", "2"],
    ],
)
def test_variants_run_to_the_end(flags, start, tmp_path):
    argv = ["--pretrain", "unsup", "sup", "--task", "sts", *flags]
    assert start(tmp_path / "r", *argv) == 0
    # The tuned encoder says how it is to be pooled.
    tuned = SentenceEncoder.from_pretrained(str(tmp_path / "r" / "backbones" / "sup-42"))
    assert tuned.stated_pooling == flags[1]
    for cell in cells_of(tmp_path / "r"):
        assert cell.metrics["pearson"] is None or -1 <= cell.metrics["pearson"] <= 1


def test_a_damaged_results_file_is_refused_not_overwritten(start, tmp_path, capsys):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "results.json").write_text('[{"half": ')
    (tmp_path / "r" / "config.json").write_text('{"options": {}}')
    assert start(tmp_path / "r", "--task", "sts") == 2
    assert "version 1.0 or earlier" in capsys.readouterr().err
    assert (tmp_path / "r" / "results.json").read_text() == '[{"half": '
    assert (tmp_path / "r" / "config.json").read_text() == '{"options": {}}'


def test_a_checkpoint_named_as_run_folder_is_not_overwritten(tiny_checkpoint, toy_data, tmp_path):
    checkpoint = tmp_path / "bert"
    shutil.copytree(tiny_checkpoint, checkpoint)
    before = hashes_of(checkpoint)
    assert run(checkpoint, toy_data, checkpoint, "--task", "sts") == 2
    assert {path: file_digest(path) for path in before} == before


def test_a_chosen_pooling_needs_nothing_of_the_backbones_own(tiny_encoder, toy_data, tmp_path):
    tiny_encoder.pool_by("avg")
    tiny_encoder.model.pooler = None
    tiny_encoder.save(tmp_path / "bert")
    own = {"embedding_dimension": 32, "pooling_mode": "max"}
    (tmp_path / "bert" / "1_Pooling" / "config.json").write_text(json.dumps(own))
    argv = ["--task", "sts", "--pretrain", "sup", "--pooling", "avg"]
    assert run(tmp_path / "bert", toy_data, tmp_path / "r", *argv) == 0


def test_predictions_are_never_nan(start, tmp_path):
    argv = ["--task", "sts", "--head-lr", "1e12", "--head-epochs", "1", "--head-batch-size", "999"]
    start(tmp_path / "r", *argv)
    for path in (tmp_path / "r").rglob("*-output.csv"):
        assert "nan" not in path.read_text()
