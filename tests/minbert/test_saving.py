"""Checkpoints on disk appear whole or not at all, and replace nothing but checkpoints."""

import pytest
import torch
from safetensors.torch import load_file

from minbert.checkpoint import read_about, read_file, whole_checkpoint, write_tensors
from minbert.config import CheckpointError


def fill(folder, content):
    (folder / "config.json").write_text('{"model_type": "bert"}')
    (folder / "file").write_text(content)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_save_that_fails_leaves_the_older_checkpoint(error, tmp_path):
    target = tmp_path / "checkpoint"
    with whole_checkpoint(target) as folder:
        fill(folder, "old")
    with pytest.raises(error), whole_checkpoint(target) as folder:
        fill(folder, "half")
        raise error
    assert (target / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
    with whole_checkpoint(target) as folder:
        fill(folder, "new")
    assert (target / "file").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


@pytest.mark.parametrize("content", ["file", "folder", "run"])
def test_what_is_no_checkpoint_is_not_replaced_by_one(content, tmp_path):
    target = tmp_path / "mine"
    if content == "file":
        target.write_text("precious")
    else:
        target.mkdir()
        name = "notes.txt" if content == "folder" else "config.json"
        (target / name).write_text('{"options": "precious"}')
    with pytest.raises(CheckpointError, match="no checkpoint"), whole_checkpoint(target):
        pytest.fail("must not begin")
    kept = target if content == "file" else next(target.iterdir())
    assert "precious" in kept.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_weights_can_be_read_by_others(tmp_path):
    (tmp_path / "plain").write_text("as the user's umask has it")
    write_tensors({"a": torch.zeros(2)}, tmp_path / "model.safetensors")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_an_empty_folder_can_become_a_checkpoint(tmp_path):
    with whole_checkpoint(tmp_path / "mine") as folder:
        fill(folder, "new")
    (tmp_path / "empty").mkdir()
    with whole_checkpoint(tmp_path / "empty") as folder:
        fill(folder, "new")
    assert (tmp_path / "empty" / "file").read_text() == "new"


def test_a_link_to_a_checkpoint_stays_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    with whole_checkpoint(tmp_path / "link") as folder:
        fill(folder, "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "disk" / "file").read_text() == "new"


def test_what_is_noted_in_a_file_of_tensors_is_read_again(tmp_path):
    path = tmp_path / "head.safetensors"
    assert read_about(path) == {}
    write_tensors({"a": torch.zeros(2)}, path, {"task": "sts"})
    assert read_about(path) == {"task": "sts"}
    path.write_bytes(path.read_bytes()[:20])
    assert read_about(path) == {}


@pytest.mark.parametrize(("old", "new"), [(b"\0\0\x80?", b"\0\0\x81?"), (b'"sts"', b'"sst"')])
def test_a_file_of_tensors_that_has_changed_is_refused(old, new, tmp_path):
    path = tmp_path / "head.safetensors"
    write_tensors({"a": torch.ones(2)}, path, {"task": "sts"})
    assert torch.equal(read_file(path)["a"], torch.ones(2))
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))
    with pytest.raises(CheckpointError, match=r"head\.safetensors: has changed since"):
        read_file(path)


def test_views_and_shared_tensors_are_written_whole(tmp_path):
    base = torch.arange(12.0).view(3, 4)
    tensors = {"column": base[:, 1], "transposed": base.T, "again": base}
    write_tensors(tensors, tmp_path / "model.safetensors")
    found = load_file(tmp_path / "model.safetensors")
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())


@pytest.mark.parametrize("listed", [True, False])
def test_a_checkpoint_with_other_files_in_it_is_not_replaced(listed, tiny_encoder, tmp_path):
    target = tmp_path / "mine"
    tiny_encoder.save(target, {})
    if not listed:  # of an earlier version
        (target / "SHA256SUMS").unlink()
    tiny_encoder.save(target, {})
    if not listed:
        (target / "SHA256SUMS").unlink()
    (target / "thesis").mkdir()
    (target / "thesis" / "notes.txt").write_text("precious")
    with pytest.raises(CheckpointError, match=r"thesis/notes\.txt in it is not part of the"):
        tiny_encoder.save(target)
    assert (target / "thesis" / "notes.txt").read_text() == "precious"
