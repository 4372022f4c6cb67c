"""Checkpoints in and out: all spellings load, saving is exact. Refusals: test_refusals.py."""

import json

import pytest
import torch
from families import transformers
from safetensors.torch import load_file, save_file
from tiny_sizes import TINY

from minbert.checkpoint import (
    read_about,
    read_file,
    tensors_digest,
    whole_checkpoint,
    write_tensors,
)
from minbert.config import BertConfig, CheckpointError
from minbert.mlm import BertForMaskedLM
from minbert.model import BertModel
from minbert.packing import pack_padded

INDEX = "model.safetensors.index.json"


def reference(kind: str, **more):
    """Return transformers' model with weights far from 0 and 1, so that every one matters."""
    torch.manual_seed(0)
    model = getattr(transformers, kind)(transformers.BertConfig(**TINY, **more)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.3)
    return model


def own_tensors():
    torch.manual_seed(0)
    return {key: t.clone() for key, t in BertModel(BertConfig(**TINY)).state_dict().items()}


def write(folder, tensors, pickled=False):
    (folder / "config.json").write_text(json.dumps(TINY))
    if pickled:
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        save_file(tensors, folder / "model.safetensors")


def assert_loads_as(folder, expected):
    state = BertModel.from_pretrained(str(folder)).state_dict()
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[key], tensor) for key, tensor in expected.items())


@pytest.mark.parametrize(
    ("kind", "ignored"),
    [
        ("BertModel", None),
        ("BertForPreTraining", "cls.seq_relationship"),
    ],
)
def test_models_saved_by_transformers_load(kind, ignored, tmp_path, caplog):
    theirs = reference(kind)
    theirs.save_pretrained(tmp_path)
    assert_loads_as(tmp_path, (theirs.bert if ignored else theirs).state_dict())
    assert ignored is None or ignored in caplog.text


def test_sharded_weights_load_and_a_missing_shard_is_named(tmp_path):
    theirs = reference("BertModel")
    theirs.save_pretrained(tmp_path, max_shard_size="5KB")
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) > 2
    assert_loads_as(tmp_path, theirs.state_dict())
    index = tmp_path / INDEX
    listed = json.loads(index.read_text())
    other = {"weight_map": {**listed["weight_map"], "other": shards[0].name}}
    index.write_text(json.dumps(other))
    with pytest.raises(CheckpointError, match="tensor other is in none of its shards"):
        BertModel.from_pretrained(str(tmp_path))
    shards[1].unlink()
    with pytest.raises(CheckpointError, match=f"{shards[1].name}: missing"):
        BertModel.from_pretrained(str(tmp_path))


@pytest.mark.parametrize(("prefix", "pickled"), [("", True), ("bert.", False)])
def test_prefix_and_tensorflow_names_load(prefix, pickled, tmp_path):
    expected = own_tensors()
    old = {}
    for key, tensor in expected.items():
        key = key.replace("LayerNorm.weight", "LayerNorm.gamma")
        old[prefix + key.replace("LayerNorm.bias", "LayerNorm.beta")] = tensor
    old[prefix + "embeddings.position_ids"] = torch.arange(32)[None]
    old[prefix + "embeddings.token_type_ids"] = torch.zeros(1, 32).int()  # of no model either
    write(tmp_path, old, pickled=pickled)
    assert_loads_as(tmp_path, expected)


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu", "silu"])
def test_every_activation_gives_the_logits_of_transformers(activation, tmp_path):
    theirs = reference("BertForMaskedLM", hidden_act=activation)
    theirs.save_pretrained(tmp_path)
    own = BertForMaskedLM.from_pretrained(str(tmp_path))
    ids = torch.randint(1, 60, (3, 9))
    batch, _ = pack_padded(ids)
    found = own(batch, torch.arange(27)).view(3, 9, 60)
    torch.testing.assert_close(found, theirs(ids).logits, atol=2e-4, rtol=1e-4)


def test_a_prediction_head_with_a_matrix_of_its_own_is_refused(tmp_path):
    reference("BertForMaskedLM", tie_word_embeddings=False).save_pretrained(tmp_path)
    assert "cls.predictions.decoder.weight" in load_file(tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"config\.json: tie_word_embeddings is false"):
        BertForMaskedLM.from_pretrained(str(tmp_path))
    assert BertModel.from_pretrained(str(tmp_path)).config.hidden_size == 16


def test_a_digest_tells_tensors_of_every_type():
    kinds = (torch.float16, torch.bfloat16)
    tensors = [torch.tensor(1.5), *(torch.ones(2, 3, dtype=kind) for kind in kinds)]
    digests = {tensors_digest({"a": tensor}) for tensor in tensors}
    assert len(digests) == 3 and tensors_digest({"a": tensors[2].clone()}) in digests


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


def test_a_checkpoint_with_other_files_in_it_is_not_replaced(tiny_encoder, tmp_path):
    target = tmp_path / "mine"
    tiny_encoder.save(target, {})
    tiny_encoder.save(target, {})
    (target / "thesis").mkdir()
    (target / "thesis" / "notes.txt").write_text("precious")
    with pytest.raises(CheckpointError, match=r"thesis/notes\.txt in it is not part of the"):
        tiny_encoder.save(target)
    assert (target / "thesis" / "notes.txt").read_text() == "precious"
    # Without its list it might be anyone's.
    (target / "SHA256SUMS").unlink()
    with pytest.raises(CheckpointError, match="is no checkpoint that was saved here"):
        tiny_encoder.save(target)


def test_an_empty_folder_and_a_link_to_one_can_become_checkpoints(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    with whole_checkpoint(tmp_path / "link") as folder:
        fill(folder, "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "disk" / "file").read_text() == "new"


def test_what_is_noted_in_a_file_of_tensors_is_read_again(tmp_path):
    (tmp_path / "plain").write_text("as the user's umask has it")
    path = tmp_path / "head.safetensors"
    assert read_about(path) == {}
    write_tensors({"a": torch.zeros(2)}, path, {"task": "sts"})
    assert read_about(path) == {"task": "sts"}
    assert len({found.stat().st_mode for found in tmp_path.iterdir()}) == 1  # others may read it
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


def test_equal_tensors_and_notes_are_equal_bytes(tmp_path):
    torch.manual_seed(0)
    tensors = {"a": torch.randn(3, 2), "b.é": torch.randn(5).half()}
    about = {f"key {n}": 'quoted "é"\n\x1f\u2028' * n for n in range(9)}
    files = []
    for n in range(5):
        write_tensors(tensors, tmp_path / f"{n}.safetensors", about)
        files.append((tmp_path / f"{n}.safetensors").read_bytes())
    assert len(set(files)) == 1
    found = load_file(tmp_path / "0.safetensors")
    assert all(torch.equal(found[key], tensor) for key, tensor in tensors.items())
    assert read_about(tmp_path / "0.safetensors") == about
