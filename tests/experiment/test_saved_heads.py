"""The heads of a finished run predict what the run wrote, and say clearly what is missing."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from sklearn.metrics.pairwise import paired_cosine_distances
from toy_runs import ALL, cells_of, run

from baselines.isbert import load_tuned
from data.tasks import read_task
from evaluation.metrics import task_metrics
from heads import saved
from heads.saved import SavedHead, load_head
from minbert.config import CheckpointError
from report.run_folder import RunFolder

NAME = "none-para-cross-frozen-interaction-42"


def opened(folder: Path, name: str) -> SavedHead:
    return load_head(RunFolder(folder).head_path(name), load_tuned, "cpu")


def predicted(head: SavedHead, texts: list[tuple[str, ...]]) -> np.ndarray:
    return head.head.predict(torch.from_numpy(head.logits(texts))).numpy()


@pytest.fixture(scope="module")
def finished(tiny_checkpoint, toy_data, tmp_path_factory):
    """Run a grid of frozen and tuned encoders once."""
    folder = tmp_path_factory.mktemp("saved") / "runs" / "grid"
    options = [*ALL[4:], "--tune", "frozen", "full"]
    assert run(tiny_checkpoint, toy_data, folder, *options, "--pooling", "avg") == 0
    return folder


def test_predictions_are_those_of_the_run(finished, toy_data):
    cells = cells_of(finished)
    assert len(cells) == 2 * 5
    for cell in cells:
        head = opened(finished, cell.name)
        assert (head.task.name, head.kind, head.encoder.pooling) == (cell.task, cell.encoder, "avg")
        examples = read_task(toy_data, cell.task).dev
        found = predicted(head, [example.texts for example in examples])
        path = finished / "predictions" / cell.name / f"{cell.task}-dev-output.csv"
        rows = [line.split(" , ") for line in path.read_text().splitlines()[1:]]
        np.testing.assert_allclose(found, [float(value) for _, value in rows], atol=1e-4)
        labels = np.array([example.label for example in examples], float)
        metrics = task_metrics(cell.task, found, labels)
        known = {name: cell.metrics[name] for name in metrics}
        assert metrics == pytest.approx(known, abs=1e-3)


def test_soft_predictions_lead_to_the_predictions(finished, toy_data):
    for task, kind in (("sst", "bi"), ("para", "cross"), ("sts", "bi")):
        head = opened(finished, f"none-{task}-{kind}-frozen-interaction-42")
        texts = [example.texts for example in read_task(toy_data, task).dev]
        soft, hard, logits = head.soft(texts), predicted(head, texts), head.logits(texts)
        if task == "sst":
            np.testing.assert_allclose(soft, softmax(logits, axis=1), atol=1e-6)
            assert (soft.argmax(axis=1) == hard).all()
        elif task == "para":
            np.testing.assert_allclose(soft, expit(logits), atol=1e-6)
            assert ((soft > 0.5) == hard).all()
        else:
            np.testing.assert_allclose(soft, hard, atol=1e-5)


def test_texts_embedded_first_and_judged_later_have_the_same_logits(finished, toy_data):
    head = opened(finished, "none-sts-bi-frozen-interaction-42")
    pairs = [pair.texts for pair in read_task(toy_data, "sts").dev]
    first, second = (head.embed([(text,) for text in side]) for side in zip(*pairs, strict=True))
    np.testing.assert_allclose(head.judge([first, second]), head.logits(pairs), atol=1e-5)
    # Embeddings are the encoder's own.
    encoded = head.encoder.encode_quietly([a for a, _ in pairs])
    assert paired_cosine_distances(first, encoded).max() < 1e-6


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "heads" / f"{NAME}.safetensors").unlink(), "not a head that a run saved"),
        (
            lambda f: (f / "heads" / f"{NAME}.safetensors").write_text("x"),
            "not a head that a run saved",
        ),
        (lambda f: (f / "config.json").write_text("[]"), "not a run's config"),
        (lambda f: (f / "config.json").unlink(), "not a run's config"),
        (lambda f: (f / "backbones" / "none").unlink(), "gone, the encoder under"),
    ],
)
def test_what_is_missing_or_damaged_is_named_in_one_line(damage, message, finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run", symlinks=True)
    # Relative links lead out of the copy; these lead where the originals do.
    for link in (tmp_path / "run" / "backbones").iterdir():
        target = (finished / "backbones" / link.name).resolve()
        link.unlink()
        link.symlink_to(target)
    assert opened(tmp_path / "run", NAME).kind == "cross"
    damage(tmp_path / "run")
    with pytest.raises(CheckpointError, match=message) as caught:
        opened(tmp_path / "run", NAME)
    assert "\n" not in str(caught.value)


def test_settings_of_a_later_version_are_passed_over(finished, toy_data, tmp_path, monkeypatch):
    about = saved.read_about(finished / "heads" / f"{NAME}.safetensors")
    about["config"] = json.dumps(json.loads(about["config"]) | {"joules": 3})
    monkeypatch.setattr(saved, "read_about", lambda path: about)
    assert opened(finished, NAME).kind == "cross"
