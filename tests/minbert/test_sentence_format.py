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


@pytest.mark.parametrize(("name", "pooling"), [("sup", "cls"), ("unsup", "cls_before_pooler")])
def test_what_simcses_own_script_leaves_is_read(name, pooling, tiny_checkpoint, tmp_path):
    """Its MLP is under a name of its own, in place of the pooler, and the optimizer lies beside."""
    folder = shutil.copytree(tiny_checkpoint, tmp_path / f"my-{name}-simcse-bert")
    change(folder / "config.json", architectures=["BertForCL"])
    expected = load(folder)
    tensors = load_file(folder / "model.safetensors")
    theirs = {
        f"mlp.{key.removeprefix('pooler.')}" if key.startswith("pooler.") else f"bert.{key}": tensor
        for key, tensor in tensors.items()
    }
    (folder / "model.safetensors").unlink()
    torch.save(theirs, folder / "pytorch_model.bin")
    torch.save({}, folder / "optimizer.pt")
    found = load(folder)
    assert found.pooling == pooling and (found.encode(TEXTS) == expected.encode(TEXTS)).all()
    assert found.model.pooler is not None
    # A pooler that BERT's training left is not what SimCSE trained.
    torch.save({"bert.pooler.dense.weight": torch.zeros(32, 32), **theirs}, folder / "old.bin")
    (folder / "old.bin").replace(folder / "pytorch_model.bin")
    assert (load(folder).encode(TEXTS) == found.encode(TEXTS)).all()


def test_the_prefix_of_data_parallel_is_taken_off(tiny_checkpoint, tmp_path):
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "module")
    expected = load(folder)
    tensors = load_file(folder / "model.safetensors")
    save_file({f"module.bert.{key}": t for key, t in tensors.items()}, folder / "model.safetensors")
    assert load(folder).fingerprint() == expected.fingerprint()


def test_roberta_with_berts_tokenizer_reads_pairs_without_token_types(tiny_checkpoint, tmp_path):
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "roberta")
    change(folder / "config.json", model_type="roberta", type_vocab_size=1)
    tensors = load_file(folder / "model.safetensors")
    segments = "embeddings.token_type_embeddings.weight"
    tensors[segments] = tensors[segments][:1].clone()
    save_file({f"roberta.{key}": t for key, t in tensors.items()}, folder / "model.safetensors")
    encoder = load(folder)
    # Its positions begin after that of the padding.
    assert (encoder.max_length, encoder.tokenizer.second_type) == (63, 0)
    reference = transformers.AutoModel.from_pretrained(folder).eval()
    sequences = encoder.tokenize(["the cat", "a red boat"], ["the dog sees a cat .", "the lamp"])
    for row in range(2):
        batch = sequences.pack([row])
        with torch.no_grad():
            expected = reference(batch.input_ids[None]).last_hidden_state[0]
            found = encoder.model.packed(batch).last_hidden_state
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_layers_that_the_encoder_does_not_return_are_left_out_as_there(
    tiny_encoder, tmp_path, caplog
):
    folder = saved(tiny_encoder, tmp_path / "layers", "avg_top2")
    change(folder / "config.json", output_hidden_states=False)
    assert load(folder).pooling == "avg"
    assert "WeightedLayerPooling is left out, as in sentence-transformers" in caplog.text
    assert_as_theirs(folder)


def test_what_their_file_says_to_the_tokenizer_is_obeyed(tiny_encoder, tmp_path):
    folder = saved(tiny_encoder, tmp_path / "avg")
    shouting = [text.upper() for text in TEXTS]
    change(folder / "sentence_bert_config.json", tokenizer_args={"do_lower_case": False})
    assert_as_theirs(folder, shouting)
    assert not (load(folder).encode(shouting) == load(folder).encode(TEXTS)).all()
