"""What all training loops share: order of rows, AdamW and rates, the state on disk."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from runtime.errors import StateError, TrainingError
from runtime.training import (
    adamw,
    batch_rows,
    check_finite,
    linear_schedule,
    load_training,
    save_training,
    saved_state,
    steps_per_epoch,
)


def test_every_epoch_reads_every_row_once_in_an_order_of_its_own():
    epochs = [[batch_rows(3 * epoch + i, 10, 4, 7) for i in range(3)] for epoch in range(2)]
    for batches in epochs:
        assert [len(rows) for rows in batches] == [4, 4, 2]
        assert sorted(np.concatenate(batches)) == list(range(10))
    first, second = (np.concatenate(batches).tolist() for batches in epochs)
    other_seed = np.concatenate([batch_rows(i, 10, 4, 8) for i in range(3)]).tolist()
    assert first != second and first != other_seed
    assert batch_rows(1, 10, 4, 7).tolist() == epochs[0][1].tolist()  # whatever came between


@pytest.mark.parametrize(
    ("ranks", "count", "batch", "steps"),
    [(2, 40, 16, 3), (2, 33, 16, 2), (2, 4, 4, 1), (1, 40, 16, 3), (1, 33, 16, 3), (1, 1, 4, 1)],
)
def test_a_last_batch_smaller_than_the_ranks_is_left_out(ranks, count, batch, steps, monkeypatch):
    monkeypatch.setattr("runtime.training.world_size", lambda: ranks)
    assert steps_per_epoch(count, batch) == steps


@pytest.mark.parametrize(("ranks", "count", "batch"), [(4, 40, 2), (3, 2, 16), (1, 0, 16)])
def test_a_batch_smaller_than_the_ranks_is_refused(ranks, count, batch, monkeypatch):
    monkeypatch.setattr("runtime.training.world_size", lambda: ranks)
    told = f"batches of {min(count, batch)} cannot feed {ranks} processes"
    with pytest.raises(TrainingError, match=told):
        steps_per_epoch(count, batch)


def moved(model, undecayed=()):
    """Return the names of the parameters that a step without gradients makes smaller."""
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = adamw([(model, 1.0)], 0.5, undecayed)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    return {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}


def test_matrices_are_decayed_but_for_names_that_are_spared_and_vectors_are_not():
    model = nn.ModuleDict({"dense": nn.Linear(3, 2), "LayerNorm": nn.LayerNorm(2)})
    assert moved(model) == {"dense.weight"}
    model = nn.ModuleDict({"word": nn.Embedding(3, 2), "position": nn.Embedding(3, 2)})
    assert moved(model, ("position",)) == {"word.weight"}
    assert moved(model) == {"word.weight", "position.weight"}


def test_every_module_has_its_own_rate_and_frozen_parameters_none():
    first, second = nn.Linear(3, 2), nn.Linear(2, 1)
    second.bias.requires_grad_(False)
    groups = adamw([(first, 1e-2), (second, 1e-4)], 0.1).param_groups
    found = [(len(group["params"]), group["lr"], group["weight_decay"]) for group in groups]
    assert found == [(1, 1e-2, 0.1), (1, 1e-2, 0.0), (1, 1e-4, 0.1)]
    groups = adamw([(first, 1e-2)], 0.0).param_groups
    assert [len(group["params"]) for group in groups] == [2]  # a step of one group is faster


def test_a_step_and_its_state_load_no_compiler():
    code = (
        "import sys, torch; from runtime.training import adamw; model = torch.nn.Linear(2, 1);"
        "optimizer = adamw([(model, 1.0)], 0.1); model(torch.ones(1, 2)).backward();"
        "optimizer.step(); optimizer.zero_grad();"
        "optimizer.load_state_dict(optimizer.state_dict());"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def rates(num_steps, **ratios):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = linear_schedule(optimizer, num_steps, **ratios)
    found = []
    for _ in range(num_steps):
        found += schedule.get_last_lr()
        optimizer.step()
        schedule.step()
    return found


@pytest.mark.parametrize(
    ("warmup", "expected"),
    [
        (0.0, [1, 0.75, 0.5, 0.25]),  # falls from the first step on
        (0.5, [1 / 3, 2 / 3, 1, 0.5]),  # not before the rise has ended
    ],
)
def test_a_schedule_rises_and_falls(warmup, expected):
    assert rates(4, warmup_ratio=warmup) == pytest.approx(expected)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_diverged_training_stops_with_what_to_change(value):
    check_finite(1e30, 3)
    with pytest.raises(TrainingError, match="at step 3; lower the learning rate"):
        check_finite(value, 3)


def parts_of(seed):
    torch.manual_seed(seed)
    model = torch.nn.Linear(3, 2)
    return {"model": model, "optimizer": torch.optim.AdamW(model.parameters())}


def test_parts_progress_and_random_numbers_come_back_as_they_were(tmp_path):
    path = tmp_path / "new" / "state.pt"
    saved = parts_of(0)
    saved["model"](torch.randn(5, 3)).sum().backward()
    saved["optimizer"].step()
    progress = {"step": 7, "best": torch.ones(2), "history": [{"loss": 0.5, "dev": None}]}
    save_training(path, saved, progress)
    expected = torch.rand(4)
    loaded = parts_of(1)
    found = load_training(path, loaded)
    assert torch.equal(torch.rand(4), expected)
    assert found["step"] == 7 and found["history"] == progress["history"]
    assert torch.equal(found["best"], progress["best"])
    for name, part in saved.items():
        assert str(loaded[name].state_dict()) == str(part.state_dict())
    assert [file.name for file in path.parent.iterdir()] == ["state.pt"]


def flip_a_bit(whole: bytes) -> bytes:
    values = parts_of(0)["model"].weight.detach().numpy().tobytes()
    at = whole.index(values)
    return whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]


def cut(whole: bytes) -> bytes:
    return whole[: len(whole) // 2]


@pytest.mark.parametrize("damage", [flip_a_bit, cut])
def test_a_state_that_was_changed_is_refused(damage, tmp_path):
    path = tmp_path / "state.pt"
    save_training(path, parts_of(0), {"step": 3})
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StateError, match=r"state\.pt: not the state .* delete it to start over"):
        load_training(path, parts_of(1))


def test_a_full_disk_is_named_and_leaves_the_older_state(tmp_path, monkeypatch):
    path = tmp_path / "state.pt"
    save_training(path, parts_of(0), {})
    before = path.read_bytes()

    def full(state, file):
        file.write_bytes(b"half")
        raise RuntimeError("PytorchStreamWriter failed")  # what torch says of it

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(OSError, match=r"state\.pt: cannot be written"):
        save_training(path, parts_of(1), {})
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_there_is_a_saved_state_where_its_file_is(tmp_path):
    assert saved_state(None) is None and saved_state(tmp_path / "state.pt") is None
    assert saved_state(tmp_path) is None  # a folder is no state
    save_training(tmp_path / "state.pt", parts_of(0), {})
    assert saved_state(tmp_path / "state.pt") == tmp_path / "state.pt"


def test_a_state_that_would_run_code_is_refused(tmp_path):
    class Attack:
        def __reduce__(self):
            return (tmp_path / "executed").touch, ()

    torch.save({"model": Attack()}, tmp_path / "state.pt")
    with pytest.raises(StateError, match="delete it to start over"):
        load_training(tmp_path / "state.pt", parts_of(0))
    assert not (tmp_path / "executed").exists()
