"""Joint training: beside a task's own, resumed, in two processes; gradient surgery in numbers."""

import copy
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import torch
from killable import Killed
from pairings import examples
from ranks import on_two_ranks
from torch import nn

from data.tasks import TASKS, Splits, read_task
from evaluation.metrics import task_metrics
from heads.config import HeadConfig, JointConfig
from heads.joint import (
    JointTrainer,
    Pupil,
    fit_joint,
    put_gradient,
    take_gradient,
    without_conflicts,
)
from heads.train import fit_head
from minbert.encoder import SentenceEncoder

FULL = HeadConfig(
    tune="full", backbone_learning_rate=1e-3, num_epochs=2, batch_size=16, warmup_ratio=0.1
)


def score(found):
    return float(found.mean())


JOINT = replace(FULL, tune="joint")


def pupils(data, *tasks, config=JOINT):
    return {task: Pupil(read_task(data, task), "bi", config, score) for task in tasks}


def joint(encoder, data, *tasks, schedule="sequential", remedies=(), **more):
    """Return the results and the encoder, which is a copy."""
    own = copy.deepcopy(encoder)
    return fit_joint(own, pupils(data, *tasks), JointConfig(schedule, remedies), **more), own


def assert_same(module, other):
    expected = other.state_dict()
    assert all(torch.equal(tensor, expected[n]) for n, tensor in module.state_dict().items())


def test_one_tasks_sequence_is_its_own_training(tiny_encoder, toy_data, tmp_path):
    """With one task to learn, all is as `--tune full` does it, to the last digit."""
    found, encoder = joint(tiny_encoder, toy_data, "sts")
    rising, other = count(), tiny_encoder.clone()
    splits = read_task(toy_data, "sts")
    alone = fit_head(other, splits, "sts", "bi", FULL, lambda p: float(next(rising)), tmp_path)
    assert_same(encoder.model, other.model)
    assert_same(found["sts"].head, alone.head)
    for split in ("dev", "test"):
        assert np.array_equal(found["sts"].predictions[split], alone.predictions[split])
        assert np.array_equal(found["sts"].before[split], alone.predictions[split])


def test_later_tasks_change_the_encoder_and_leave_earlier_heads_alone(tiny_encoder, toy_data):
    both, encoder = joint(tiny_encoder, toy_data, "sst", "sts")
    first, other = joint(tiny_encoder, toy_data, "sst")
    assert_same(both["sst"].head, first["sst"].head)
    assert np.array_equal(both["sst"].before["dev"], first["sst"].predictions["dev"])
    before, after = other.model.state_dict(), encoder.model.state_dict()
    assert not any(torch.equal(before[n], after[n]) for n in before if "layer.0" in n)
    # One check per epoch of either task, of both tasks.
    assert [len(found.history) for found in both.values()] == [4, 4]


@pytest.mark.parametrize(
    ("schedule", "remedy"), [("sequential", "replay"), ("round-robin", "pcgrad"), ("annealed", "")]
)
def test_a_remedy_changes_the_training_and_a_resumed_one_ends_with_the_same_numbers(
    schedule, remedy, tiny_encoder, toy_data, tmp_path, monkeypatch
):
    tasks, remedies = ("sst", "sts", "para"), tuple(filter(None, [remedy]))

    def run(remedies=remedies, **more):
        return joint(tiny_encoder, toy_data, *tasks, schedule=schedule, remedies=remedies, **more)

    whole, encoder = run()
    if remedy:
        plain, _ = run(())
        found = plain["sts"].predictions["dev"]
        assert not np.array_equal(whole["sts"].predictions["dev"], found)
    state, train_step = tmp_path / "state.pt", JointTrainer._train_step

    def killed(trainer, step):
        if step == len(trainer.batches) - 2:
            raise Killed
        return train_step(trainer, step)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(JointTrainer, "_train_step", killed)
        run(state_path=state)
    torch.manual_seed(7)
    again, other = run(state_path=state, resume=True)
    assert_same(encoder.model, other.model)
    for task in tasks:
        assert again[task].history == whole[task].history
        assert np.array_equal(again[task].predictions["test"], whole[task].predictions["test"])
        assert again[task].before.keys() == whole[task].before.keys()
        for split, found in whole[task].before.items():
            assert np.array_equal(again[task].before[split], found)


def test_all_tasks_overfit_eight_examples(tiny_encoder):
    config = replace(
        FULL,
        tune="joint",
        num_epochs=60,
        batch_size=8,
        dropout=0.0,
        learning_rate=1e-2,
        warmup_ratio=0.0,
    )
    scores, learners = {}, {}
    for task in ("sst", "para", "sts"):
        rows = examples(task)
        labels = np.array([row.label for row in rows], float)

        def score(found, task=task, labels=labels):
            return task_metrics(task, found, labels)[TASKS[task].main_metric]

        splits = Splits(train=rows, dev=rows, test=[])
        own = "cross" if TASKS[task].is_pair else "bi"
        scores[task], learners[task] = score, Pupil(splits, own, config, score)
    found = fit_joint(tiny_encoder.clone(), learners, JointConfig("annealed"))
    for task, fitted in found.items():
        assert scores[task](fitted.predictions["dev"]) > 0.95, task


def slow_surgery(gradients, orders):
    """Algorithm 1 of Yu et al. 2020 in numbers alone; `orders` are the random ones of line 5."""
    total = [0.0] * len(gradients[0])
    for i, order in enumerate(orders):
        own = list(gradients[i])
        for j in order:
            product = sum(a * b for a, b in zip(own, gradients[j], strict=True))
            if j != i and product < 0:
                square = sum(b * b for b in gradients[j])
                own = [a - product / square * b for a, b in zip(own, gradients[j], strict=True)]
        total = [a + b for a, b in zip(total, own, strict=True)]
    return total


@pytest.mark.parametrize("seed", range(3))
def test_surgery_is_algorithm_1(seed):
    torch.manual_seed(seed)
    gradients = torch.randn(4, 5, dtype=torch.float64)
    state = torch.get_rng_state()
    orders = [torch.randperm(4).tolist() for _ in range(4)]
    torch.set_rng_state(state)
    expected = slow_surgery(gradients.tolist(), orders)
    assert without_conflicts(gradients).tolist() == pytest.approx(expected)


def test_surgery_of_two():
    """Opposed parts go, what does not conflict is added, a vanished gradient harms nothing."""
    one, other = torch.tensor([1.0, 0.0]), torch.tensor([-1.0, 1.0])
    assert torch.allclose(without_conflicts(torch.stack([one, other])), torch.tensor([0.5, 1.5]))
    same = torch.tensor([[1.0, 2.0], [3.0, 0.5]])
    assert torch.equal(without_conflicts(same), same.sum(0))
    assert torch.equal(without_conflicts(torch.stack([one, 0 * one])), one)


def test_gradients_are_taken_and_put_back():
    module = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    module[0](torch.ones(1, 3)).sum().backward()  # the second layer has no gradient
    parameters = list(module.parameters())
    expected = [None if p.grad is None else p.grad.clone() for p in parameters]
    row = take_gradient(parameters)
    assert len(row) == 11 and all(p.grad is None for p in parameters)
    put_gradient(parameters, row)
    for parameter, grad in zip(parameters, expected, strict=True):
        assert torch.equal(parameter.grad, torch.zeros_like(parameter) if grad is None else grad)


# Slowly: Adam makes large steps of gradients that differ in their last digits only.
SETTINGS = replace(JOINT, dropout=0.0, backbone_dropout=0.0, backbone_learning_rate=1e-5)


def jointly(checkpoint, data, config):
    """Return by task the dev predictions, and the weights of its head."""
    encoder = SentenceEncoder.from_pretrained(str(checkpoint), device="cpu", precision="float32")
    fitted = fit_joint(encoder, pupils(data, "sst", "sts", "para", config=SETTINGS), config)
    return {
        task: (
            found.predictions["dev"],
            nn.utils.parameters_to_vector(found.head.parameters()).detach(),
        )
        for task, found in fitted.items()
    }


def test_two_ranks_train_jointly_as_one_does(tiny_checkpoint, toy_data, tmp_path):
    config = JointConfig("round-robin", ("pcgrad",))
    wanted = jointly(tiny_checkpoint, toy_data, config)
    for found in on_two_ranks(jointly, tmp_path, tiny_checkpoint, toy_data, config):
        for task, (predictions, head) in found.items():
            np.testing.assert_allclose(predictions, wanted[task][0], atol=1e-4)
            # 4e-6 by the order of sums; 1e-3 if a head's gradient is summed twice.
            assert torch.dist(head, wanted[task][1]) < 1e-4 * wanted[task][1].norm()
