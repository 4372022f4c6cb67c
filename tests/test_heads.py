"""Heads: what they see, that they learn, and that a frozen encoder stays frozen."""

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from data.cs224n import Splits, read_task
from heads.experiment import HEADS, build_head, train_cell

from data.examples import Sentence, SentencePair
from evaluation.metrics import MAIN_METRIC, task_metrics
from heads.cache import frozen_vectors
from heads.config import HeadConfig, head_config
from heads.features import bi_features, cross_features, embed_pairs, feature_size, unit_rms
from heads.inputs import LiveInputs, frozen_inputs
from heads.sts import STSHead

H = 32
KINDS = sorted(HEADS)


def examples(task: str, count: int = 8):
    a, b = toy_sentences(count, 1), toy_sentences(count, 2)
    if task == "sst":
        return [Sentence(str(i), a[i], i % 5) for i in range(count)]
    top = 1 if task == "para" else 5
    return [SentencePair(str(i), a[i], b[i], float(i % 2 * top)) for i in range(count)]


def test_interaction_features_are_u_v_difference_and_product():
    u, v = torch.randn(3, H), torch.randn(3, H)
    features = bi_features(u, v, "interaction")
    u, v = unit_rms(u), unit_rms(v)
    torch.testing.assert_close(features, torch.cat([u, v, (u - v).abs(), u * v], dim=1))
    cosine = torch.nn.functional.cosine_similarity(u, v)
    torch.testing.assert_close((u * v).mean(dim=1), cosine)
    torch.testing.assert_close(u.pow(2).mean(dim=1), torch.ones(3))


def test_concat_features_are_the_reports():
    u, v = torch.randn(3, H), torch.randn(3, H)
    assert torch.equal(bi_features(u, v, "concat"), torch.cat([u, v], dim=1))
    assert torch.equal(bi_features(u, None, "concat"), u)
    parts = torch.randn(3, 3, H)
    assert torch.equal(cross_features(parts, "concat"), parts[:, 0])


@pytest.mark.parametrize("features", ["interaction", "concat"])
@pytest.mark.parametrize(("task", "kind"), KINDS)
def test_feature_size_is_what_the_inputs_give(task, kind, features, tiny_encoder):
    batch = LiveInputs(tiny_encoder, examples(task), kind, features).batch(np.arange(3))
    assert batch.shape == (3, feature_size(H, kind, features, 1 if task == "sst" else 2))


def test_parts_of_a_pair_are_cls_and_the_means_of_both_segments(tiny_encoder):
    pairs = examples("sts", 4)
    sequences = tiny_encoder.tokenize([p.text_a for p in pairs], [p.text_b for p in pairs])
    batch = sequences.pack(np.arange(4))
    with torch.no_grad():
        parts = embed_pairs(tiny_encoder, batch)
        states = tiny_encoder.model.packed(batch).last_hidden_state
    for row in range(4):
        start, end = batch.cu_seqlens[row], batch.cu_seqlens[row + 1]
        types = batch.token_type_ids[start:end].bool()
        own = states[start:end]
        expected = torch.stack([own[0], own[~types].mean(0), own[types].mean(0)])
        torch.testing.assert_close(parts[row], expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("features", ["interaction", "concat"])
@pytest.mark.parametrize(("task", "kind"), KINDS)
def test_live_and_frozen_inputs_agree(task, kind, features, tiny_encoder, tmp_path):
    rows = examples(task, 12)
    tiny_encoder.freeze()
    (frozen,) = frozen_inputs(tiny_encoder, [rows], kind, features, tmp_path, "key")
    live = LiveInputs(tiny_encoder, rows, kind, features)
    for batch in (np.arange(12), np.array([7, 3, 3, 11])):
        torch.testing.assert_close(frozen.batch(batch), live.batch(batch), atol=1e-5, rtol=0)
    assert sorted(np.concatenate(list(live.batches()))) == list(range(12))
    assert sorted(np.concatenate(list(frozen.batches()))) == list(range(12))


@pytest.mark.parametrize("tune", ["frozen", "full"])
@pytest.mark.parametrize(("task", "kind"), KINDS)
def test_every_head_overfits_eight_examples(task, kind, tune, tiny_encoder, tmp_path):
    rows = examples(task)
    config = HeadConfig(
        tune=tune,
        learning_rate=1e-2,
        backbone_learning_rate=1e-3,
        num_epochs=150,
        batch_size=4,
        dropout=0.0,
    )
    labels = np.array([row.label for row in rows], float)

    def score(predictions):
        return task_metrics(task, predictions, labels)[MAIN_METRIC[task]]

    splits = Splits(train=rows, dev=rows, test=[])
    result = train_cell(tiny_encoder, splits, task, kind, config, score, tmp_path)
    assert score(result.predictions["dev"]) > 0.95
    assert result.history[-1]["loss"] < result.history[0]["loss"]


@pytest.mark.parametrize(("task", "kind"), KINDS)
def test_a_frozen_encoder_is_bit_identical_afterwards(task, kind, tiny_encoder, toy_data, tmp_path):
    before = {name: t.clone() for name, t in tiny_encoder.model.state_dict().items()}
    splits = read_task(toy_data, task)
    config = head_config("quick", "frozen", task)
    train_cell(tiny_encoder, splits, task, kind, config, lambda p: float(p.mean()), tmp_path)
    after = tiny_encoder.model.state_dict()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    assert all(parameter.grad is None for parameter in tiny_encoder.model.parameters())
    assert not tiny_encoder.model.training


def test_full_tuning_changes_every_layer_of_the_encoder(tiny_encoder, toy_data, tmp_path):
    before = {name: t.clone() for name, t in tiny_encoder.model.state_dict().items()}
    config = HeadConfig(tune="full", backbone_learning_rate=1e-3, num_epochs=1)
    splits = read_task(toy_data, "sts")
    train_cell(tiny_encoder, splits, "sts", "bi", config, lambda p: 0.0, tmp_path)
    after = tiny_encoder.model.state_dict()
    changed = {name for name, tensor in before.items() if not torch.equal(after[name], tensor)}
    for layer in range(3):
        assert f"encoder.layer.{layer}.attention.self.query.weight" in changed


def test_training_twice_gives_the_same_predictions(tiny_encoder, toy_data, tmp_path):
    splits = read_task(toy_data, "sts")
    config = head_config("quick", "frozen", "sts")
    first, second = (
        train_cell(tiny_encoder, splits, "sts", "bi", config, lambda p: float(p.std()), tmp_path)
        for _ in range(2)
    )
    assert np.array_equal(first.predictions["dev"], second.predictions["dev"])


def test_the_best_epoch_is_kept_not_the_last(tiny_encoder, toy_data, tmp_path):
    splits = read_task(toy_data, "sts")
    config = HeadConfig(num_epochs=4)
    seen = []

    def score(predictions):
        seen.append(predictions.copy())
        return [0.1, 0.9, 0.5, 0.2][len(seen) - 1]

    result = train_cell(tiny_encoder, splits, "sts", "bi", config, score, tmp_path)
    assert np.array_equal(result.predictions["dev"], seen[1])
    assert not np.array_equal(seen[1], seen[3])


def test_an_undefined_dev_score_still_leaves_a_trained_head(tiny_encoder, toy_data, tmp_path):
    splits = read_task(toy_data, "sts")
    result = train_cell(
        tiny_encoder, splits, "sts", "bi", HeadConfig(num_epochs=2), lambda p: None, tmp_path
    )
    assert np.isfinite(result.predictions["dev"]).all()


def test_cache_encodes_each_distinct_text_once_and_is_reused(tiny_encoder, tmp_path, monkeypatch):
    tiny_encoder.freeze()
    encoded = []
    embed = tiny_encoder.embed
    monkeypatch.setattr(
        tiny_encoder, "embed", lambda batch: encoded.append(len(batch)) or embed(batch)
    )
    pairs = [SentencePair("1", "the cat", "a dog"), SentencePair("2", "a dog", "the cat")]
    for _ in range(2):
        (inputs,) = frozen_inputs(tiny_encoder, [pairs], "bi", "concat", tmp_path, "weights")
    assert sum(encoded) == 2
    swapped = inputs.batch(np.array([0, 1]))
    assert torch.equal(swapped[0, :H], swapped[1, H:])
    assert isinstance(inputs.vectors, np.memmap)
    frozen_vectors(tiny_encoder, "other weights", [("the cat",)], tmp_path)
    assert sum(encoded) == 3
    assert len(list(tmp_path.iterdir())) == 2


def test_a_failed_encoding_leaves_no_file(tiny_encoder, tmp_path, monkeypatch):
    tiny_encoder.freeze()

    def fail(batch):
        raise KeyboardInterrupt

    monkeypatch.setattr(tiny_encoder, "embed", fail)
    with pytest.raises(KeyboardInterrupt):
        frozen_vectors(tiny_encoder, "weights", [("the cat",)], tmp_path)
    assert not list(tmp_path.iterdir())


def test_sts_predictions_never_leave_the_scale():
    head = STSHead(4, 8)
    scores = head.predict(torch.tensor([-1e3, 0.0, 1e3]))
    assert scores.tolist() == [0.0, 2.5, 5.0]


def test_sts_loss_is_smallest_at_the_label():
    head = STSHead(4, 8)
    logits = torch.linspace(-6, 6, 2001)
    losses = torch.stack([head.loss(x[None], torch.tensor([3.8])) for x in logits])
    assert head.predict(logits[losses.argmin()]).item() == pytest.approx(3.8, abs=0.01)


@pytest.mark.parametrize(
    ("task", "kind", "hidden_layers"),
    [
        ("sst", "bi", 1),
        ("para", "bi", 2),
        ("sts", "bi", 3),
        ("para", "cross", 1),
        ("sts", "cross", 1),
    ],
)
def test_heads_have_the_reports_number_of_hidden_layers(task, kind, hidden_layers):
    head = build_head(task, kind, H, HeadConfig())
    linears = [layer for layer in head.layers if isinstance(layer, torch.nn.Linear)]
    assert len(linears) == hidden_layers + 1
    assert linears[-1].out_features == (5 if task == "sst" else 1)
