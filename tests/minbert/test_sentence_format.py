"""Folders of every family embed here as in sentence-transformers and back, or are refused."""

import json
import shutil

import pytest
import torch
from conftest import toy_sentences
from families import (
    MULTILINGUAL,
    checkpoint,
    reference_config,
    reference_model,
    transformers,
    unigram,
)
from safetensors.torch import load_file, save_file

from minbert.config import POOLINGS, CheckpointError
from minbert.encoder import SentenceEncoder

FAMILIES = ["roberta", "xlm-roberta", "bert"]
TEXTS = [*toy_sentences(6), "the cat sees a dog . " * 12]
HURT = [*MULTILINGUAL[50:], "", " x", "naïve 👩‍👩‍👧 <mask> <pad> </s>", "word " * 100]


def load(folder, pooling=None):
    return SentenceEncoder.from_pretrained(str(folder), pooling, "cpu", "float32")


def saved(encoder, folder, pooling="avg"):
    encoder.pool_by(pooling)
    encoder.save(folder)
    return folder


def change(path, **values):
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **values}))


def assert_as_theirs(folder, texts=TEXTS):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    theirs = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    assert abs(theirs.encode(texts) - load(folder).encode(texts)).max() < 2e-5
    return theirs


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return a tiny checkpoint of every family."""
    root = tmp_path_factory.mktemp("families")
    return {name: checkpoint(root / name, name) for name in FAMILIES}


@pytest.mark.parametrize(
    ("family", "pooling"),
    [*(("bert", pooling) for pooling in POOLINGS), ("roberta", "cls"), ("xlm-roberta", "avg_top2")],
)
def test_a_saved_checkpoint_gives_its_embeddings_everywhere(family, pooling, folders, tmp_path):
    encoder = load(folders[family], pooling)
    assert encoder.max_length == 66
    encoder.normalize = pooling in ("cls_before_pooler", "avg")
    encoder.save(tmp_path / "saved", {"made": "here"})
    expected = encoder.encode(HURT)
    again = load(tmp_path / "saved")
    assert (again.pooling, again.normalize) == (pooling, encoder.normalize)
    assert again.fingerprint() == encoder.fingerprint()
    assert (again.encode(HURT) == expected).all()
    theirs = assert_as_theirs(tmp_path / "saved", HURT)
    assert theirs.max_seq_length == 66
    assert json.loads((tmp_path / "saved" / "config.json").read_text())["model_type"] == family
    reference = transformers.AutoModel.from_pretrained(tmp_path / "saved")
    assert type(reference) is type(transformers.AutoModel.from_pretrained(folders[family]))
    state = reference.state_dict()
    assert all(torch.equal(state[k], t) for k, t in encoder.model.state_dict().items())


def test_a_bert_with_xlm_rs_vocabulary_is_one(tmp_path):
    """As multilingual sentence encoders are: BERT's positions, `<s> a </s></s> b </s>`."""
    unigram(tmp_path / "base")
    reference_model(reference_config("bert", 400)).save_pretrained(tmp_path / "base")
    encoder = load(tmp_path / "base", "avg")
    assert encoder.model.config.first_position == 0 and encoder.tokenizer.second_type == 0
    assert not encoder.tokenize(["a"], ["b"]).pack([0]).token_type_ids.any()
    encoder.save(tmp_path / "saved")
    assert_as_theirs(tmp_path / "saved", HURT)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sup-simcse", "cls"), ("unsup-simcse", "cls_before_pooler"), ("other", None)],
)
@pytest.mark.parametrize("place", ["here", "cache"])
def test_published_simcse_checkpoints_find_their_pooling(
    name, expected, place, tiny_checkpoint, tmp_path, monkeypatch
):
    folder = tmp_path / f"{name}-bert-base"
    if place == "cache":
        folder = tmp_path / f"models--princeton-nlp--{name}-bert-base" / "snapshots" / "0123"
    shutil.copytree(tiny_checkpoint, folder)
    if place == "here":
        monkeypatch.chdir(folder)
    encoder = load("." if place == "here" else folder)
    assert (encoder.stated_pooling, encoder.pooling) == (expected, expected or "cls_before_pooler")
    assert load(folder, "avg").pooling == "avg"
    # From here on the folder says it, under whatever name.
    encoder.save(tmp_path / "anything")
    assert load(tmp_path / "anything").stated_pooling == encoder.pooling


def test_a_pooling_other_than_the_stated_one_is_warned_of_in_one_line(
    tiny_checkpoint, tmp_path, caplog
):
    folder = tmp_path / "unsup-simcse-x"
    shutil.copytree(tiny_checkpoint, folder)
    for pooling, number in ((None, 0), ("cls_before_pooler", 0), ("avg", 1)):
        caplog.clear()
        SentenceEncoder.from_pretrained(str(folder), pooling, "cpu", "float32", tuning=True)
        lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert len(lines) == number
    assert "cls_before_pooler" in lines[0] and "avg" in lines[0] and str(folder) in lines[0]


def test_an_encoder_to_be_tuned_need_not_have_the_pooler_yet(tmp_path):
    folder = str(checkpoint(tmp_path, "roberta", "AutoModelForMaskedLM"))
    with pytest.raises(CheckpointError, match="pooler"):
        SentenceEncoder.from_pretrained(folder, "cls")
    encoder = SentenceEncoder.from_pretrained(folder, "cls", tuning=True)
    assert encoder.pooling == "cls_before_pooler"


def test_a_foreign_dense_step_is_used_instead_of_the_pooler(tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "st", "cls")
    weights = folder / "2_Dense" / "model.safetensors"
    draw = torch.Generator().manual_seed(0)
    drawn = {k: torch.randn(t.shape, generator=draw) for k, t in load_file(weights).items()}
    save_file(drawn, weights)
    assert_as_theirs(folder)
    assert abs(load(folder).encode(TEXTS) - tiny_encoder.encode(TEXTS)).max() > 0.1


def test_a_pooling_may_be_a_single_name(tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "st", "cls_before_pooler")
    path = folder / "1_Pooling" / "config.json"
    for name, pooling in (("mean", "avg"), ("cls", "cls_before_pooler")):
        path.write_text(json.dumps({"embedding_dimension": 32, "pooling_mode": name}))
        assert load(folder).pooling == pooling


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_tokenizers_length_and_side_are_obeyed(side, tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "avg")
    (folder / "sentence_bert_config.json").unlink()
    change(folder / "tokenizer_config.json", model_max_length=3, truncation_side=side)
    assert load(folder).max_length == 3
    assert_as_theirs(folder)


def layer_weights(folder, weights, **settings):
    step = folder / "1_WeightedLayerPooling"
    change(step / "config.json", **settings)
    save_file({"layer_weights": torch.tensor(weights)}, step / "model.safetensors")


@pytest.mark.parametrize(
    ("weights", "start", "pooling"),
    [
        ([2.0, 0.0, 2.0], 1, "avg_first_last"),
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


def test_other_layers_learned_weights_and_another_pooling_behind_them_are_refused(
    tiny_encoder, tmp_path
):
    folder = saved(tiny_encoder, tmp_path / "layers", "avg_first_last")

    def refused():
        with pytest.raises(
            CheckpointError, match=r"WeightedLayerPooling .* give --pooling to"
        ) as line:
            load(folder)
        return "\n" not in str(line.value) and load(folder, "avg").pooling == "avg"

    for weights, start in (
        ([1.0, 1.0, 1.0], 1),
        ([0.3, 0.0, 0.7], 1),
        ([1.0, 0.0, 0.0, 1.0], 0),
        ([1.0, 0.0, 1.0, 0.0], 1),
    ):
        layer_weights(folder, weights, layer_start=start)
        assert refused()
    layer_weights(folder, [2.0, 0.0, 2.0], layer_start=1)
    path = folder / "2_Pooling" / "config.json"
    change(path, pooling_mode_mean_tokens=False, pooling_mode_cls_token=True)
    assert refused()


def test_an_empty_default_prompt_is_none(tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "avg")
    path = folder / "config_sentence_transformers.json"
    change(path, prompts={"query": "the old ", "document": ""}, default_prompt_name="document")
    assert_as_theirs(folder)
