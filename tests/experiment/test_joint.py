"""`--tune joint` as a command: its cells, files, what it refuses, and what reads them later."""

import numpy as np
import pytest
import torch
from toy_runs import cells_of, hashes_of, small
from transformers import AutoModel

from baselines.isbert import load_tuned
from data.tasks import read_task
from evaluation.metrics import AVERAGE_PRECISION
from experiment.cells import decisive
from experiment.opening import open_run
from experiment.settings import Settings
from heads.saved import load_head
from report.costs import measure_run
from report.page.write import write_page
from report.run_folder import RunFolder
from run_multitask import contrastive_stage, say_nothing
from runtime.files import digest

FLAGS = ["--task", "all", "--reader", "bi", "cross", "--tune", "joint"]
FLAGS += ["--schedule", "sequential", "proportional"]


@pytest.fixture(scope="module")
def finished(start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("joint") / "run"
    assert start(folder, *FLAGS) == 0
    return folder


def test_every_schedule_and_encoder_has_a_cell_per_task(finished):
    found = {(cell.task, cell.reader, cell.tune) for cell in cells_of(finished)}
    tunes = ("joint-sequential", "joint-proportional")
    tasks, kinds = ("sst", "sts", "para"), ("bi", "cross")
    assert found == {(task, kind, tune) for task in tasks for kind in kinds for tune in tunes}
    for cell in cells_of(finished):
        assert bool(cell.before) == (cell.tune == "joint-sequential")
        if cell.task == "para" and cell.before:  # learnt last: nothing came after it
            assert cell.before == {n: v for n, v in cell.metrics.items() if n != AVERAGE_PRECISION}


def test_one_encoder_is_saved_for_all_heads_of_a_training(finished, tiny_checkpoint):
    folder = finished / "models" / "none-sst+sts+para-cross-joint-sequential-interaction-42"
    theirs = AutoModel.from_pretrained(folder).state_dict()
    ours = load_tuned(folder, "cpu", "float32").model.state_dict()
    assert all(torch.equal(theirs[name], tensor) for name, tensor in ours.items())
    for task in ("sst", "sts", "para"):
        linked = finished / "models" / f"none-{task}-cross-joint-sequential-interaction-42"
        assert linked.resolve() == folder.resolve()


def test_saved_heads_predict_what_the_run_wrote(finished, toy_data):
    for cell in cells_of(finished):
        head = load_head(finished / "heads" / f"{cell.name}.safetensors", "cpu")
        examples = getattr(read_task(toy_data, cell.task), cell.split)
        found = head.logits([example.texts for example in examples])
        predicted = head.head.predict(torch.from_numpy(found)).numpy()
        assert np.allclose(predicted, RunFolder(finished).predictions(cell, examples), atol=1e-5)


def test_costs_page_and_predictions_know_its_heads(finished, toy_data):
    found = measure_run(finished, 0.02, "cpu")
    places = [(cell["task"], cell["cost"]["reader"]) for cell in found["cells"]]
    pairs = [(task, kind) for task in ("para", "sts") for kind in ("bi", "cross")]
    assert sorted(places) == sorted([("sst", "bi"), *pairs])
    page = write_page(finished).read_text()
    assert "jointly fine-tuned (sequential)" in page and "joint-proportional" in page
    path = finished / "heads" / "none-sts-cross-joint-proportional-interaction-42.safetensors"
    pair = read_task(toy_data, "sts").dev[0]
    (score,) = load_head(path, "cpu", "float32").soft([pair.texts])
    (cell,) = (c for c in cells_of(finished) if c.name == path.stem and c.split == "dev")
    predicted = RunFolder(finished).predictions(cell, read_task(toy_data, "sts").dev)
    assert score == pytest.approx(predicted[0], abs=1e-4)


def test_the_same_command_again_computes_nothing(start, finished, monkeypatch):
    before = hashes_of(finished / "heads")
    monkeypatch.setattr("heads.train.fit_heads", None)  # calling it would fail
    assert start(finished, *FLAGS) == 0
    assert hashes_of(finished / "heads") == before


def test_a_key_depends_on_the_other_tasks_and_their_order(tiny_checkpoint, toy_data, tmp_path):
    def key(*tasks):
        settings = small(
            tiny_checkpoint, toy_data, tmp_path / "r", task=tasks, tune="joint",
            schedule="sequential",
        )  # fmt: skip
        opened = open_run(settings)
        (stage,) = opened.stages
        tuned = contrastive_stage(opened, stage, say_nothing)
        (training,) = stage.trainings
        return digest(decisive(opened, training, tuned))

    first = key("sts", "sst")
    assert len({first, key("sst", "sts"), key("sst", "sts", "para")}) == 3
    assert key("sts", "sst") == first


def test_settings_of_other_runs_name_the_folders_they_did():
    assert Settings(tune="full").folder() == Settings(tune="full", schedule="proportional").folder()
    folders = {
        Settings(task="all", tune="joint", schedule="sequential", remedies=remedies).folder()
        for remedies in ("none", "replay")
    }
    assert len(folders) == 2
