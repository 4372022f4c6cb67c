"""The state of a training on disk: whole, refused in one line where it cannot be used."""

import pytest
import torch

from runtime.errors import StateError
from runtime.files import seal
from runtime.training import load_training, save_training, saved_state


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


def test_a_state_with_one_other_bit_is_refused(tmp_path):
    path = tmp_path / "state.pt"
    save_training(path, parts_of(0), {"step": 3})
    whole = bytearray(path.read_bytes())
    values = parts_of(0)["model"].weight.detach().numpy().tobytes()
    whole[whole.index(values)] ^= 1
    path.write_bytes(whole)
    with pytest.raises(StateError, match=r"state\.pt: damaged .* delete it to start over"):
        load_training(path, parts_of(1))


def test_the_state_of_another_training_is_refused_whatever_its_name(tmp_path):
    save_training(tmp_path / "other.pt", parts_of(0), {})
    (tmp_path / "other.pt").rename(tmp_path / "state.pt")
    with pytest.raises(StateError, match="delete it to start over"):
        load_training(tmp_path / "state.pt", parts_of(0))


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
    seal(tmp_path / "state.pt", "state.pt")
    with pytest.raises(StateError, match="delete it to start over"):
        load_training(tmp_path / "state.pt", parts_of(0))
    assert not (tmp_path / "executed").exists()
