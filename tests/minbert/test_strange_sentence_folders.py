"""sentence-transformers' folders embed as there or are refused; encode takes any column."""

import json
import shutil

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from safetensors.torch import save_file

from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from runtime.errors import UserError

TEXTS = [*toy_sentences(6), "the cat sees a dog . " * 12]


def saved(encoder, folder, pooling="avg"):
    encoder.pool_by(pooling)
    encoder.save(folder)
    return folder


def change(path, **values):
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **values}))


def load(folder):
    return SentenceEncoder.from_pretrained(str(folder), device="cpu", precision="float32")


def assert_as_theirs(folder):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    theirs = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    assert abs(theirs.encode(TEXTS) - load(folder).encode(TEXTS)).max() < 1e-5


def assert_refused(folder, *named):
    with pytest.raises(CheckpointError) as error:
        load(folder)
    message = str(error.value)
    assert "\n" not in message and all(name in message for name in named), message


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_tokenizers_length_and_side_are_obeyed(side, tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "avg")
    (folder / "sentence_bert_config.json").unlink()
    change(folder / "tokenizer_config.json", model_max_length=9, truncation_side=side)
    assert load(folder).max_length == 9
    assert_as_theirs(folder)


def layer_weights(folder, weights, **settings):
    step = folder / "1_WeightedLayerPooling"
    change(step / "config.json", **settings)
    save_file({"layer_weights": torch.tensor(weights)}, step / "model.safetensors")


@pytest.mark.parametrize(
    ("weights", "start", "pooling"),
    [
        ([2.0, 0.0, 2.0], 1, "avg_first_last"),
        ([0.0, 1.0, 0.0, 1.0], 0, "avg_first_last"),
        ([0.5, 0.5], 2, "avg_top2"),
        ([0.0, 1.0, 1.0], 1, "avg_top2"),
    ],
)
def test_equal_weights_of_two_layers_are_our_averages(
    weights, start, pooling, tiny_encoder, tmp_path
):
    folder = saved(tiny_encoder, tmp_path / "layers", "avg_first_last")
    layer_weights(folder, weights, layer_start=start)
    assert load(folder).pooling == pooling
    assert_as_theirs(folder)


@pytest.mark.parametrize(
    ("weights", "start"),
    [
        ([1.0, 1.0, 1.0], 1),
        ([0.3, 0.0, 0.7], 1),
        ([1.0, 0.0, 0.0, 1.0], 0),
        ([1.0, 0.0], 1),
        ([0.0, 0.0, 0.0], 1),
    ],
)
def test_other_layers_and_learned_weights_are_refused(weights, start, tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "layers", "avg_first_last")
    layer_weights(folder, weights, layer_start=start)
    assert_refused(folder, "WeightedLayerPooling", "--pooling")
    assert SentenceEncoder.from_pretrained(str(folder), "avg").pooling == "avg"


def test_another_pooling_behind_the_layers_is_refused(tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "layers", "avg_first_last")
    path = folder / "2_Pooling" / "config.json"
    change(path, pooling_mode_mean_tokens=False, pooling_mode_cls_token=True)
    assert_refused(folder, "WeightedLayerPooling")


@pytest.mark.parametrize("kind", ["LayerNorm", "Pooling"])
def test_steps_that_are_not_known_or_come_twice_are_refused(kind, tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "avg")
    steps = json.loads((folder / "modules.json").read_text())
    steps.append({**steps[-1], "type": f"sentence_transformers.models.{kind}"})
    (folder / "modules.json").write_text(json.dumps(steps))
    assert_refused(folder, kind, "--pooling")


def test_a_default_prompt_is_refused_and_an_empty_one_is_not(tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "avg")
    path = folder / "config_sentence_transformers.json"
    change(path, prompts={"query": "the old ", "document": ""}, default_prompt_name="document")
    assert_as_theirs(folder)
    change(path, default_prompt_name="query")
    assert_refused(folder, "'the old '", "default_prompt_name")


@pytest.mark.parametrize("content", ["null", "3", "[3]", '[{"type": 7}]', "[" * 100_000, "\\x00"])
@pytest.mark.parametrize("name", ["modules.json", "sentence_bert_config.json"])
def test_strange_files_are_refused(name, content, tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "cls", "cls")
    (folder / name).write_text(content)
    assert_refused(folder, str(folder))


def test_the_older_layout_is_named(tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "avg")
    (folder / "0_Transformer").mkdir()
    for name in ("config.json", "model.safetensors", "vocab.txt", "tokenizer.json"):
        shutil.move(folder / name, folder / "0_Transformer" / name)
    assert_refused(folder, "0_Transformer", "save it again")


def test_generators_are_texts(tiny_encoder):
    expected = tiny_encoder.encode(TEXTS)
    for texts in ((text for text in TEXTS), iter(TEXTS), dict.fromkeys(TEXTS).keys()):
        assert np.array_equal(tiny_encoder.encode(texts), expected)


def test_columns_of_pandas_are_texts_and_its_tables_are_not(tiny_encoder):
    pandas = pytest.importorskip("pandas", reason="pandas makes columns")
    expected = tiny_encoder.encode(TEXTS)
    for kind in ("object", "string"):
        column = pandas.Series(TEXTS, index=range(5, 5 + len(TEXTS)), dtype=kind)
        assert np.array_equal(tiny_encoder.encode(column), expected)
    with pytest.raises(UserError, match="got a DataFrame"):
        tiny_encoder.encode(pandas.DataFrame({"text": TEXTS}))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, "got a NoneType"),
        (float("nan"), "got a float"),
        (b"the cat", "got a bytes"),
        ({"text": "the cat"}, "got a dict"),
        (np.array("the cat"), "got a ndarray"),
        (np.array([["the cat"]]), "got a ndarray"),
        ([["the cat"]], "text 0 is a list"),
        ([b"the cat"], "text 0 is a bytes"),
        ((text for text in ["the cat", None]), "text 1 is a NoneType"),
    ],
)
def test_what_is_no_text_is_refused_in_one_line(texts, message, tiny_encoder):
    with pytest.raises(UserError, match=message) as error:
        tiny_encoder.encode(texts)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("length", [0, 2, 65, -1, 7.5, "8", float("nan")])
def test_lengths_without_positions_are_refused(length, tiny_encoder):
    with pytest.raises(UserError, match="from 3 to 64"):
        tiny_encoder.tokenize(["the cat"], max_length=length)
    tiny_encoder.max_length = length
    with pytest.raises(UserError, match="from 3 to 64"):
        tiny_encoder.encode(["the cat"])


def test_encode_gives_back_the_mode_of_every_part(tiny_encoder):
    model = tiny_encoder.model
    for whole in (False, True):
        model.train(whole)
        model.encoder.layer[1].train(not whole)
        before = [module.training for module in model.modules()]
        tiny_encoder.encode(TEXTS)
        assert [module.training for module in model.modules()] == before
        with pytest.raises(UserError):
            tiny_encoder.encode([None])
        assert [module.training for module in model.modules()] == before


@pytest.mark.parametrize("activation", ["relu", "silu", "gelu_new"])
def test_other_activations_embed_as_theirs_and_have_fingerprints(
    activation, tiny_encoder, tmp_path
):
    folder = saved(tiny_encoder, tmp_path / "avg")
    before = load(folder).fingerprint()
    change(folder / "config.json", hidden_act=activation)
    assert load(folder).fingerprint() != before
    assert_as_theirs(folder)


def test_a_configuration_that_asks_for_tuples_embeds_alike(tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "avg")
    expected = load(folder).encode(TEXTS)
    change(folder / "config.json", return_dict=False)
    assert np.array_equal(load(folder).encode(TEXTS), expected)
