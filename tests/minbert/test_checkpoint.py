"""Checkpoints in and out: all spellings load, damage is named, round trips are exact."""

import json
import os
import pickle

import pytest
import torch
from conftest import real_checkpoint, toy_sentences
from safetensors.torch import load_file, save_file
from tiny_sizes import TINY

from minbert.checkpoint import (
    read_tensors,
    tensors_digest,
)
from minbert.config import POOLINGS, BertConfig, CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.model import BertModel


def transformers_model(kind: str, **more):
    transformers = pytest.importorskip("transformers", reason="transformers is the reference")
    torch.manual_seed(0)
    return getattr(transformers, kind)(transformers.BertConfig(**TINY), **more).eval()


def write(folder, tensors, config=None, pickled=False):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config or {"model_type": "bert", **TINY}))
    if pickled:
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        save_file(tensors, folder / "model.safetensors")


def own_tensors(seed: int = 0):
    torch.manual_seed(seed)
    return {key: t.clone() for key, t in BertModel(BertConfig(**TINY)).state_dict().items()}


def assert_loads_as(folder, expected):
    state = BertModel.from_pretrained(str(folder)).state_dict()
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[key], tensor) for key, tensor in expected.items())


@pytest.mark.parametrize(
    "kind", ["BertModel", "BertForPreTraining", "BertForSequenceClassification"]
)
def test_models_saved_by_transformers_load(kind, tmp_path, caplog):
    reference = transformers_model(kind)
    reference.save_pretrained(tmp_path)
    encoder = reference if kind == "BertModel" else reference.bert
    assert_loads_as(tmp_path, encoder.state_dict())
    if kind == "BertForPreTraining":
        assert "cls.seq_relationship" in caplog.text
    if kind == "BertForSequenceClassification":
        assert "classifier" in caplog.text


def test_a_checkpoint_without_a_pooler_loads_and_says_so(tmp_path, caplog):
    reference = transformers_model("BertForMaskedLM")
    reference.save_pretrained(tmp_path)
    with caplog.at_level("INFO"):
        model = BertModel.from_pretrained(str(tmp_path))
    assert model.pooler is None and "no pooler" in caplog.text
    assert model(torch.tensor([[1, 2, 3]])).pooler_output is None


def test_sharded_weights_load_and_a_missing_shard_is_named(tmp_path):
    reference = transformers_model("BertModel")
    reference.save_pretrained(tmp_path, max_shard_size="5KB")
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) > 2
    assert_loads_as(tmp_path, reference.state_dict())
    shards[1].unlink()
    with pytest.raises(CheckpointError, match=shards[1].name):
        BertModel.from_pretrained(str(tmp_path))


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("prefix", ["", "bert."])
def test_prefix_and_tensorflow_names_load(prefix, pickled, tmp_path):
    expected = own_tensors()
    old = {}
    for key, tensor in expected.items():
        key = key.replace("LayerNorm.weight", "LayerNorm.gamma")
        old[prefix + key.replace("LayerNorm.bias", "LayerNorm.beta")] = tensor
    old[prefix + "embeddings.position_ids"] = torch.arange(32)[None]
    write(tmp_path, old, pickled=pickled)
    assert_loads_as(tmp_path, expected)


def test_float16_weights_load_as_float32(tmp_path):
    tensors = {key: tensor.half() for key, tensor in own_tensors().items()}
    write(tmp_path, tensors)
    assert_loads_as(tmp_path, {key: tensor.float() for key, tensor in tensors.items()})


class Attack:
    """A pickle that would run a command when loaded."""

    def __reduce__(self):
        return os.system, ("echo executed > executed.txt",)


@pytest.mark.parametrize(
    ("file", "content", "named"),
    [
        ("model.safetensors", b"\x08\0\0\0\0\0\0\0{}", "model.safetensors"),
        ("model.safetensors", b"<html>not found</html>", "model.safetensors"),
        ("model.safetensors", b"", "model.safetensors"),
        ("pytorch_model.bin", pickle.dumps({"a": Attack()}), "pytorch_model.bin"),
        ("pytorch_model.bin", b"garbage", "pytorch_model.bin"),
        ("pytorch_model.bin", b"", "pytorch_model.bin"),
        ("model.safetensors.index.json", b"{", "index.json"),
        ("model.safetensors.index.json", b'{"weight_map": {"a": "../x"}}', "index.json"),
        ("model.safetensors.index.json", b'{"weight_map": {"a": 3}}', "index.json"),
        (
            "model.safetensors.index.json",
            b'{"weight_map": {"a": "b.safetensors"}}',
            "b.safetensors",
        ),
        ("notes.txt", b"", "no weights"),
    ],
)
def test_damaged_weights_are_named_and_nothing_is_executed(
    file, content, named, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    (tmp_path / file).write_bytes(content)
    with pytest.raises(CheckpointError, match=named) as error:
        BertModel.from_pretrained(str(tmp_path))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "executed.txt").exists()


def test_truncated_weights_are_named(tmp_path):
    write(tmp_path, own_tensors())
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"model\.safetensors.*truncated"):
        read_tensors(tmp_path)


@pytest.mark.parametrize("how", ["missing", "misshapen"])
def test_a_missing_or_misshapen_tensor_is_named(how, tmp_path):
    name = "encoder.layer.1.attention.self.key.weight"
    tensors = own_tensors()
    if how == "missing":
        del tensors[name]
    else:
        tensors[name] = torch.zeros(16, 17)
    write(tmp_path, tensors)
    with pytest.raises(CheckpointError, match=name) as error:
        BertModel.from_pretrained(str(tmp_path))
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model_type": "distilbert"}, "distilbert"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
        ({"hidden_act": "tanh"}, "tanh"),
        ({"is_decoder": True}, "is_decoder"),
        ({"hidden_size": 15}, "multiple"),
        ({"hidden_size": "large"}, "hidden_size"),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"layer_norm_eps": None}, "layer_norm_eps"),
        ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob"),
        ({"pad_token_id": 10**6}, "pad_token_id"),
    ],
)
def test_configurations_that_would_compute_wrongly_are_refused(change, named, tmp_path):
    write(tmp_path, own_tensors(), {"model_type": "bert", **TINY, **change})
    with pytest.raises(CheckpointError, match=named) as error:
        BertModel.from_pretrained(str(tmp_path))
    assert "config.json" in str(error.value)


@pytest.mark.parametrize("content", [None, "{", "[1, 2]", "\x00"])
def test_an_unreadable_configuration_is_named(content, tmp_path):
    write(tmp_path, own_tensors())
    (tmp_path / "config.json").unlink()
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        BertModel.from_pretrained(str(tmp_path))


def test_a_digest_tells_tensors_of_every_type():
    tensors = [
        torch.tensor(1.5),
        *(torch.ones(2, 3, dtype=t) for t in (torch.float16, torch.bfloat16)),
    ]
    digests = {tensors_digest({"a": tensor}) for tensor in tensors}
    assert len(digests) == 3 and tensors_digest({"a": tensors[2].clone()}) in digests


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("normalize", [False, True])
def test_saved_checkpoints_load_everywhere_as_they_are(pooling, normalize, tiny_encoder, tmp_path):
    transformers = pytest.importorskip("transformers")
    sentence_transformers = pytest.importorskip("sentence_transformers")
    tiny_encoder.pool_by(pooling)
    tiny_encoder.normalize = normalize
    tiny_encoder.save(tmp_path / "saved", {"made": "here"})
    texts = toy_sentences(12)
    expected = tiny_encoder.encode(texts)
    again = SentenceEncoder.from_pretrained(str(tmp_path / "saved"), precision="float32")
    assert (again.pooling, again.normalize) == (pooling, normalize)
    assert (again.encode(texts) == expected).all()
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert abs(theirs.encode(texts) - expected).max() < 1e-5
    reference = transformers.BertModel.from_pretrained(tmp_path / "saved")
    state = reference.state_dict()
    assert all(torch.equal(state[k], t) for k, t in tiny_encoder.model.state_dict().items())


def test_a_round_trip_is_bit_exact(tmp_path):
    encoder = SentenceEncoder.from_pretrained(str(real_checkpoint()), precision="float32")
    encoder.save(tmp_path / "a")
    SentenceEncoder.from_pretrained(str(tmp_path / "a"), precision="float32").save(tmp_path / "b")
    original = load_file(real_checkpoint() / "model.safetensors")
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in "ab")
    assert first.keys() == second.keys() == original.keys() - {"embeddings.position_ids"}
    for key, tensor in second.items():
        assert torch.equal(tensor, first[key]) and torch.equal(tensor, original[key])
    assert (
        encoder.fingerprint()
        == SentenceEncoder.from_pretrained(str(tmp_path / "b"), precision="float32").fingerprint()
    )
