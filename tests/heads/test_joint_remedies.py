"""Remedies of joint training, each against its formula in a slow form or another's code."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from pupils import killed, pupils
from torch import nn

from heads.heads import ParaphraseHead, SentimentHead, STSHead
from heads.joint.config import JointConfig
from heads.joint.distillation import taught_loss
from heads.joint.fitting import fit_joint
from heads.joint.ranking import ranking_loss
from heads.joint.recall import Recall, annealed
from heads.joint.surgery import put_gradient, take_gradient, without_conflicts
from simcse.loss import info_nce


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


@pytest.mark.parametrize("seed", range(8))
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


def test_recall_is_recadam():
    """Steps of the trainer's order against algorithm 1 of Chen et al. 2020 with Adam by hand."""
    torch.manual_seed(0)
    gamma, rate, count = 40.0, 1e-2, 12
    model = nn.Linear(4, 1, bias=False).double()
    start, inputs = model.weight.detach().clone(), torch.randn(count, 4, dtype=torch.float64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0, eps=1e-8)
    recall = Recall(model, gamma * rate)
    theta, m, v = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
    for t in range(count):
        learnt = annealed(t / count)
        optimizer.zero_grad()
        ((model(inputs[t]) - 1) ** 2).sum().backward()
        recall.pull(learnt, 1.0)
        optimizer.param_groups[0]["lr"] = rate * learnt
        optimizer.step()

        gradient = 2 * (theta @ inputs[t] - 1)[:, None] * inputs[t]
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        adam = (m / (1 - 0.9 ** (t + 1))) / ((v / (1 - 0.999 ** (t + 1))).sqrt() + 1e-8)
        theta = theta - rate * (learnt * adam + (1 - learnt) * gamma * (theta - start))
        assert torch.allclose(model.weight, theta, atol=1e-10)
    assert not torch.allclose(theta, start, atol=1e-3)


def test_recall_is_annealed_by_a_sigmoid():
    for t in range(11):
        assert annealed(t / 10) == pytest.approx(1 / (1 + math.exp(-2.0 * (t - 5))))


@pytest.mark.parametrize("largest", [1, 5])
def test_ranking_is_simcses_loss_of_the_true_pairs(largest):
    torch.manual_seed(0)
    features = torch.randn(6, 4 * 8)  # u, v and what the head sees beside them
    labels = torch.tensor([1.0, 0.0, 0.8, 0.79, 1.0, 0.2]) * largest
    true = features[[0, 2, 4]]
    expected = info_nce(true[:, :8], true[:, 8:16], temperature=0.05)
    assert ranking_loss(features, labels, largest, 8).item() == pytest.approx(expected.item())
    assert ranking_loss(features, labels * 0, largest, 8).item() == 0
    assert ranking_loss(features[:1], labels[:1], largest, 8).item() == 0  # no negative


@pytest.mark.parametrize("place", [0.0, 0.3, 1.0])
def test_the_taught_loss_is_that_of_mixed_labels(place):
    """Clark et al. 2019: the cross-entropy against lambda y + (1 - lambda) teacher."""
    torch.manual_seed(0)
    labels = torch.tensor([0.0, 4.0, 2.0])
    logits, taught = torch.randn(3, 5), torch.rand(3, 5).softmax(dim=-1)
    mixed = place * F.one_hot(labels.long(), 5) + (1 - place) * taught
    expected = -(mixed * logits.log_softmax(dim=-1)).sum(dim=-1).mean()
    found = taught_loss(SentimentHead(4, 4), logits, labels, taught, place)
    assert found.item() == pytest.approx(expected.item())
    for head, largest in ((ParaphraseHead(4, 4), 1), (STSHead(4, 4), 5)):
        labels, taught, logits = torch.rand(3) * largest, torch.rand(3) * largest, torch.randn(3)
        mixed = (place * labels + (1 - place) * taught) / largest
        expected = -(mixed * logits.sigmoid().log() + (1 - mixed) * (-logits).sigmoid().log())
        found = taught_loss(head, logits, labels, taught, place)
        assert found.item() == pytest.approx(expected.mean().item())


CASES = {
    "pcgrad": "round-robin",
    "recall": "sequential",
    "replay": "sequential",
    "ranking": "annealed",
    "distill": "annealed",
}


def trained(encoder, data, remedies, schedule, **more):
    """Return the results of a joint training of three tasks, and its encoder, a copy."""
    own, learners = copy.deepcopy(encoder), pupils(data, "sst", "sts", "para")
    if "distill" in remedies:
        for task, pupil in learners.items():
            count, draw = len(pupil.splits.train), np.random.default_rng(0)
            taught = draw.dirichlet(np.ones(5), count) if task == "sst" else draw.random(count)
            learners[task] = replace(pupil, taught=taught)
    return fit_joint(own, learners, JointConfig(schedule, remedies), **more), own


@pytest.mark.parametrize("remedy", CASES)
def test_a_remedy_changes_the_training_and_resumes(
    remedy, tiny_encoder, toy_data, tmp_path, monkeypatch
):
    plain, _ = trained(tiny_encoder, toy_data, (), CASES[remedy])
    whole, encoder = trained(tiny_encoder, toy_data, (remedy,), CASES[remedy])
    assert not np.array_equal(whole["sts"].predictions["dev"], plain["sts"].predictions["dev"])
    state = tmp_path / "state.pt"
    with killed(monkeypatch):
        trained(tiny_encoder, toy_data, (remedy,), CASES[remedy], state_path=state)
    torch.manual_seed(7)
    again, other = trained(
        tiny_encoder, toy_data, (remedy,), CASES[remedy], state_path=state, resume=True
    )
    expected = encoder.model.state_dict()
    assert all(torch.equal(t, expected[n]) for n, t in other.model.state_dict().items())
    for task in whole:
        assert again[task].history == whole[task].history
