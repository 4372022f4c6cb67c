"""AdamW decays what BERT's own decays, rates rise and fall, and a diverged training stops."""

import math

import pytest
import torch
from torch import nn

from runtime.errors import TrainingError
from runtime.training import adamw, check_finite, linear_schedule


def moved(model, undecayed=()):
    """Return the names of the parameters that a step without gradients makes smaller."""
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = adamw([(model, 1.0)], 0.5, undecayed)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    return {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}


def test_matrices_are_decayed_and_vectors_are_not():
    model = nn.ModuleDict({"dense": nn.Linear(3, 2), "LayerNorm": nn.LayerNorm(2)})
    assert moved(model) == {"dense.weight"}


def test_names_can_be_spared():
    model = nn.ModuleDict({"word": nn.Embedding(3, 2), "position": nn.Embedding(3, 2)})
    assert moved(model, ("position",)) == {"word.weight"}
    assert moved(model) == {"word.weight", "position.weight"}


def test_every_module_has_its_own_rate_and_frozen_parameters_none():
    first, second = nn.Linear(3, 2), nn.Linear(2, 1)
    second.bias.requires_grad_(False)
    groups = adamw([(first, 1e-2), (second, 1e-4)], 0.1).param_groups
    found = [(len(group["params"]), group["lr"], group["weight_decay"]) for group in groups]
    assert found == [(1, 1e-2, 0.1), (1, 1e-2, 0.0), (1, 1e-4, 0.1), (0, 1e-4, 0.0)]


@pytest.mark.parametrize(
    ("step", "factor"), [(0, 1 / 11), (9, 10 / 11), (10, 1), (80, 1), (90, 0.5), (100, 0)]
)
def test_schedule_rises_stays_and_falls(step, factor):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    schedule = linear_schedule(optimizer, 100, warmup_ratio=0.1, decay_ratio=0.2)
    for _ in range(step):
        optimizer.step()
        schedule.step()
    assert schedule.get_last_lr() == pytest.approx([2 * factor])


def rates(num_steps, **ratios):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = linear_schedule(optimizer, num_steps, **ratios)
    found = []
    for _ in range(num_steps):
        found += schedule.get_last_lr()
        optimizer.step()
        schedule.step()
    return found


def test_without_warm_up_the_rate_falls_from_the_first_step_on():
    assert rates(4, warmup_ratio=0.0) == pytest.approx([1, 0.75, 0.5, 0.25])


def test_the_fall_begins_where_the_rise_ends_at_the_earliest():
    assert rates(4, warmup_ratio=0.5, decay_ratio=1.0) == pytest.approx([1 / 3, 2 / 3, 1, 0.5])


def test_a_rate_that_never_falls_stays():
    assert rates(3, warmup_ratio=0.0, decay_ratio=0.0) == [1, 1, 1]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_diverged_training_stops_with_what_to_change(value):
    check_finite(1e30, 3)
    with pytest.raises(TrainingError, match="at step 3; lower the learning rate"):
        check_finite(value, 3)
