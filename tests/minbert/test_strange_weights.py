"""Weights and sizes that are none are refused in one line; activations compute as transformers."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_sizes import TINY

from minbert.checkpoint import read_file
from minbert.config import BertConfig, CheckpointError
from minbert.mlm import BertForMaskedLM
from minbert.model import BertModel
from minbert.packing import pack_padded

NAME = "encoder.layer.1.output.dense.weight"


def weights():
    torch.manual_seed(0)
    return {key: t.clone() for key, t in BertModel(BertConfig(**TINY)).state_dict().items()}


def write(folder, tensors=None, settings=None):
    if tensors is not None:
        save_file(tensors, folder / "model.safetensors")
    text = settings if isinstance(settings, str) else json.dumps({**TINY, **(settings or {})})
    (folder / "config.json").write_text(text)
    return str(folder)


def assert_refused(load, *named):
    with pytest.raises(CheckpointError) as error:
        load()
    message = str(error.value)
    assert "\n" not in message and len(message) < 400
    assert all(name in message for name in named), message


@pytest.mark.parametrize(
    "change",
    [torch.Tensor.int, torch.Tensor.bool, lambda tensor: tensor.to(torch.complex64)],
    ids=["integers", "truth values", "complex"],
)
def test_weights_that_are_no_floats_are_refused(change, tmp_path):
    tensors = weights()
    tensors[NAME] = change(tensors[NAME])
    folder = write(tmp_path, tensors)
    assert_refused(lambda: BertModel.from_pretrained(folder), folder, NAME, "expected floats")


def test_what_is_no_weight_of_the_model_may_be_an_integer(tmp_path):
    folder = write(
        tmp_path, {**weights(), "bert.embeddings.token_type_ids": torch.zeros(1, 32).int()}
    )
    assert BertModel.from_pretrained(folder).config.hidden_size == 16


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_blamed(number, tmp_path):
    tensors = weights()
    tensors[NAME][3, 5] = number
    folder = write(tmp_path, tensors)
    assert_refused(lambda: BertModel.from_pretrained(folder), folder, NAME, "NaN or infinity")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"layer_norm_eps": float("nan")}, "layer_norm_eps"),
        ({"layer_norm_eps": float("inf")}, "layer_norm_eps"),
        ({"initializer_range": 10**400}, "too large a number"),
        ({"vocab_size": 10**12}, "vocab_size"),
        ({"vocab_size": 2 * 10**9}, "embeddings.word_embeddings.weight"),
        ({"max_position_embeddings": 10**9}, "embeddings.position_embeddings.weight"),
        ({"type_vocab_size": 10**9}, "embeddings.token_type_embeddings.weight"),
        ({"intermediate_size": 10**9}, "encoder.layer.0.intermediate.dense.weight"),
        ({"hidden_size": 10**8}, "embeddings.word_embeddings.weight"),
        ({"num_hidden_layers": 10**6}, "have 2 layers, config.json asks for 1000000"),
        ({"num_hidden_layers": 10**4000}, "too large a number"),
        ({"model_type": "b" * 10**6}, "model_type"),
        ({"hidden_act": ["gelu"] * 10**5}, "hidden_act"),
        ({"model_type": None}, "model_type"),
        ("null", "object"),
        ("7", "object"),
        ('{"vocab_size": ' + "1" * 5000 + "}", "not a readable JSON file"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    ],
    ids=range(19),
)
def test_strange_sizes_are_refused_before_memory_is_taken(settings, named, tmp_path):
    folder = write(tmp_path, weights(), settings)
    assert_refused(lambda: BertModel.from_pretrained(folder), str(tmp_path), named)


def test_a_size_of_a_tensor_that_is_missing_is_not_believed(tmp_path):
    tensors = weights()
    del tensors["embeddings.word_embeddings.weight"]
    folder = write(tmp_path, tensors, {"vocab_size": 2 * 10**9})
    assert_refused(lambda: BertModel.from_pretrained(folder), "word_embeddings.weight is missing")


STRANGE_FILES = {
    "integer keys": {1: torch.zeros(2)},
    "no tensors": {"a": "b"},
    "a list": [torch.zeros(2)],
    "sparse": {"a": torch.eye(3).to_sparse()},
    "quantised": {"a": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)},
    "meta": {"a": torch.empty(2, device="meta")},
}


@pytest.mark.parametrize("name", STRANGE_FILES)
def test_pickles_of_other_things_are_refused(name, tmp_path):
    path = tmp_path / "pytorch_model.bin"
    torch.save(STRANGE_FILES[name], path)
    assert_refused(lambda: read_file(path), str(path))


def test_damaged_pickles_are_refused_whatever_their_reader_raises(tmp_path):
    path = tmp_path / "pytorch_model.bin"
    torch.save(weights(), path, _use_new_zipfile_serialization=False)
    whole = path.read_bytes()
    torch.manual_seed(1)
    for place in torch.randint(20, 2000, (150,)).tolist():
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            read_file(path)  # a flipped bit in a number or a name is no damage of the format
        except CheckpointError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("index", ["null", "3", '{"weight_map": null}', "[" * 100_000])
def test_a_strange_index_of_shards_is_refused(index, tmp_path):
    (tmp_path / "model.safetensors.index.json").write_text(index)
    folder = write(tmp_path)
    assert_refused(lambda: BertModel.from_pretrained(folder), "index.json")


def reference(kind, **more):
    """Return transformers' model with weights far from 0 and 1, so that activations matter."""
    transformers = pytest.importorskip("transformers", reason="transformers is the reference")
    torch.manual_seed(0)
    model = getattr(transformers, kind)(transformers.BertConfig(**TINY, **more)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.3)
    return model


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
    assert_refused(lambda: BertForMaskedLM.from_pretrained(str(tmp_path)), "tie_word_embeddings")
    assert BertModel.from_pretrained(str(tmp_path)).config.hidden_size == 16


def test_a_configuration_that_asks_for_tuples_loads_as_without(tmp_path):
    theirs = reference("BertModel", return_dict=False)
    theirs.save_pretrained(tmp_path)
    ids = torch.randint(1, 60, (3, 9))
    found = BertModel.from_pretrained(str(tmp_path))(ids).last_hidden_state
    torch.testing.assert_close(found, theirs(ids)[0], atol=1e-4, rtol=1e-4)
