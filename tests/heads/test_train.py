"""A head is fitted: it learns, its encoder stays frozen or is tuned, its best epoch is kept."""

import numpy as np
import pytest
import torch
from pairings import examples

from data.tasks import TASKS, Splits, read_task
from evaluation.metrics import task_metrics
from heads.config import HeadConfig, head_config
from heads.train import fit_head


@pytest.mark.parametrize(
    ("task", "kind", "tune", "epochs"),
    [
        ("sst", "bi", "frozen", 150),
        ("para", "bi", "frozen", 60),
        ("sts", "bi", "frozen", 60),
        ("sts", "cross", "full", 50),
    ],
)
def test_every_head_overfits_eight_examples(task, kind, tune, epochs, tiny_encoder, tmp_path):
    rows = examples(task)
    config = HeadConfig(
        tune=tune,
        learning_rate=1e-2,
        backbone_learning_rate=1e-3,
        num_epochs=epochs,
        batch_size=4,
        dropout=0.0,
    )
    labels = np.array([row.label for row in rows], float)

    def score(predictions):
        return task_metrics(task, predictions, labels)[TASKS[task].main_metric]

    splits = Splits(train=rows, dev=rows, test=[])
    result = fit_head(tiny_encoder, splits, task, kind, config, score, tmp_path)
    assert score(result.predictions["dev"]) > 0.95
    assert result.history[-1]["loss"] < result.history[0]["loss"]


@pytest.mark.parametrize(("task", "kind"), [("sst", "bi"), ("sts", "cross")])
def test_a_frozen_encoder_is_bit_identical_afterwards(task, kind, tiny_encoder, toy_data, tmp_path):
    before = {name: t.clone() for name, t in tiny_encoder.model.state_dict().items()}
    splits = read_task(toy_data, task)
    config = head_config("quick", "frozen", task)
    fit_head(tiny_encoder, splits, task, kind, config, lambda p: float(p.mean()), tmp_path)
    after = tiny_encoder.model.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    assert all(parameter.grad is None for parameter in tiny_encoder.model.parameters())
    assert not tiny_encoder.model.training


@pytest.mark.parametrize(
    ("tune", "changing", "dropout"),
    [("last1", [2], None), ("last2", [1, 2], 0.5), ("full", [0, 1, 2], 0.0)],
)
def test_tuning_changes_the_last_layers_or_all(
    tune, changing, dropout, tiny_encoder, toy_data, tmp_path
):
    before = {name: t.clone() for name, t in tiny_encoder.model.state_dict().items()}
    config = HeadConfig(
        tune=tune, backbone_learning_rate=1e-3, backbone_dropout=dropout, num_epochs=1
    )
    splits = read_task(toy_data, "sts")
    fit_head(tiny_encoder, splits, "sts", "cross", config, lambda p: 0.0, tmp_path)
    after = tiny_encoder.model.state_dict()
    changed = {name for name, tensor in before.items() if not torch.equal(after[name], tensor)}
    last = tuple(f"encoder.layer.{layer}." for layer in changing)
    assert {name for name in before if name.startswith(last)} <= changed
    assert tune == "full" or all(name.startswith(last) for name in changed)
    rates = {m.p for m in tiny_encoder.model.modules() if isinstance(m, torch.nn.Dropout)}
    assert rates == {0.1 if dropout is None else dropout}


def test_the_best_epoch_is_kept_not_the_last(tiny_encoder, toy_data, tmp_path):
    splits = read_task(toy_data, "sts")
    config = HeadConfig(num_epochs=4)
    seen = []

    def score(predictions):
        seen.append(predictions.copy())
        return [0.1, 0.9, 0.5, 0.2][len(seen) - 1]

    result = fit_head(tiny_encoder, splits, "sts", "bi", config, score, tmp_path)
    assert np.array_equal(result.predictions["dev"], seen[1])
    assert not np.array_equal(seen[1], seen[3])


def test_the_loss_of_an_epoch_is_its_mean_over_examples(tiny_encoder, toy_data, tmp_path):
    """Batches of 32 and 16 rows of one head that hardly learns, against one batch of 48."""
    splits = read_task(toy_data, "sts")
    losses = [
        fit_head(
            tiny_encoder,
            splits,
            "sts",
            "bi",
            HeadConfig(num_epochs=1, batch_size=size, learning_rate=1e-12, dropout=0.0),
            lambda p: 0.0,
            tmp_path,
        ).history[-1]["loss"]
        for size in (32, 48)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_an_undefined_dev_score_still_leaves_a_trained_head(tiny_encoder, toy_data, tmp_path):
    splits = read_task(toy_data, "sts")
    result = fit_head(
        tiny_encoder, splits, "sts", "bi", HeadConfig(num_epochs=2), lambda p: None, tmp_path
    )
    assert np.isfinite(result.predictions["dev"]).all()


def test_the_cache_is_named_by_the_encoder_unless_its_fingerprint_is_known(
    tiny_encoder, toy_data, tmp_path
):
    splits, config = read_task(toy_data, "sst"), HeadConfig(num_epochs=1)

    def fit(*more) -> int:
        fit_head(tiny_encoder, splits, "sst", "bi", config, lambda p: 0.0, tmp_path, *more)
        return len(list(tmp_path.iterdir()))

    known = tiny_encoder.fingerprint()
    assert fit() == 1
    tiny_encoder.model.embeddings.word_embeddings.weight.data[7] += 1
    assert fit(None, False, known) == 1 and fit() == 2
