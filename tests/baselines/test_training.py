"""The other objectives in the one contrastive loop: what they learn, refuse, and leave behind."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from toy_objectives import OTHERS, QUICK, data_of, trainer_of

from baselines.config import ALL_PRESETS
from baselines.embedder import cosines
from baselines.isbert import FILE, load_isbert, load_tuned
from baselines.objectives import ALL_OBJECTIVES
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from runtime.errors import TrainingError
from simcse.config import PRESETS
from simcse.objectives import OBJECTIVES
from simcse.stage import Backbone, TrainingTexts, tune

TEXTS = toy_sentences(20, 5)


def load(folder) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(str(folder), device="cpu", precision="float32")


def tuned(name, encoder, checkpoint, folder, config=QUICK, dev_score=None):
    texts = TrainingTexts("toy", data_of(name, encoder), {})
    tune(ALL_OBJECTIVES[name], Backbone(checkpoint, encoder), texts, config, folder, dev_score)
    return folder


@pytest.mark.parametrize("name", OTHERS)
def test_training_lowers_the_loss_and_raises_the_accuracy(name, tiny_encoder):
    before = tiny_encoder.encode(TEXTS)
    history = trainer_of(name, tiny_encoder, replace(QUICK, num_epochs=8)).run()
    assert history[-1]["loss"] < 0.9 * history[0]["loss"]
    assert history[-1]["accuracy"] > history[0]["accuracy"]
    assert not np.allclose(tiny_encoder.encode(TEXTS), before)


@pytest.mark.parametrize("name", OTHERS)
def test_the_folder_is_an_ordinary_checkpoint(name, tiny_encoder, tiny_checkpoint, tmp_path):
    folder = tuned(name, tiny_encoder, tiny_checkpoint, tmp_path / "tuned")
    encoder = load(folder)
    assert encoder.pooling == encoder.stated_pooling == "avg"
    assert not np.allclose(encoder.encode(TEXTS), tiny_encoder.encode(TEXTS))
    notes = json.loads((folder / "training.json").read_text())
    assert notes["pretrain"] == name
    # Only losses over a batch have a number of negatives that follows from its size.
    assert notes["negatives_per_anchor"] == (7 if name == "dual" else None)


def test_isbert_scores_and_keeps_what_embeds_by_its_convolutions(
    tiny_encoder, tiny_checkpoint, tmp_path
):
    seen = []

    def dev_score(encoder):
        seen.append(encoder.encode_quietly(TEXTS))
        return -float(len(seen))  # the first check after training began is the best

    folder = tuned("isbert", tiny_encoder, tiny_checkpoint, tmp_path / "t", dev_score=dev_score)
    encoder = load_isbert(folder, "cpu", "float32")
    assert encoder.encode(TEXTS) == pytest.approx(seen[1], abs=1e-6)
    assert not np.allclose(seen[1], seen[-1])
    assert not np.allclose(load(folder).encode(TEXTS), seen[1])
    again = load_tuned(folder, "cpu", "float32")
    assert cosines(again.encode(TEXTS), seen[1]).min() > 0.999
    plain = load_tuned(folder, "cpu", "float32", "avg")
    assert plain.encode(TEXTS) == pytest.approx(load(folder).encode(TEXTS), abs=1e-6)
    assert encoder.fingerprint() != load(folder).fingerprint()
    (folder / FILE).unlink()
    with pytest.raises(CheckpointError, match=FILE):
        load_isbert(folder)


def test_ct_keeps_the_encoder_of_the_second_view(tiny_encoder):
    run = trainer_of("ct", tiny_encoder)
    start = [p.clone() for p in run.form.first_model.parameters()]
    same = zip(start, tiny_encoder.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in same)  # both begin with the same weights
    run.run()
    assert run.form.reader is tiny_encoder
    first = run.form.first_model.state_dict()
    name = "encoder.layer.0.output.dense.weight"
    assert not torch.equal(first[name], tiny_encoder.model.state_dict()[name])


def test_each_view_is_embedded_by_its_own_encoder(tiny_encoder):
    run = trainer_of("dual", tiny_encoder)
    run.trained.eval()
    with torch.no_grad():
        run.form.first_model.embeddings.LayerNorm.weight.mul_(3)
        batch = tiny_encoder.tokenize(TEXTS).pack(range(20))
        first, second = run.form.embed(batch, True), run.form.embed(batch, False)
        torch.testing.assert_close(second, tiny_encoder.embed(batch))
        torch.testing.assert_close(first, run.form.first_encoder.embed(batch))
        expected, _ = run.form.measure([first[:8], second[:8]], None)
        run.data = replace(run.data, sequences=tiny_encoder.tokenize(TEXTS))
    loss, _ = run.add_gradients(np.arange(8))
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("name", OTHERS)
def test_chunks_have_the_gradients_of_the_whole_batch(name, tiny_checkpoint):
    found = []
    for chunk_tokens in (None, 40):
        run = trainer_of(name, load(tiny_checkpoint), replace(QUICK, chunk_tokens=chunk_tokens))
        run.trained.eval()
        loss, accuracy = run.add_gradients(np.arange(12))
        named = {key: p.grad for key, p in run.trained.named_parameters() if p.grad is not None}
        found.append((loss, accuracy, named))
    (loss, accuracy, whole), (cut_loss, cut_accuracy, cut) = found
    torch.testing.assert_close(cut_loss, loss)
    assert cut_accuracy == accuracy and cut.keys() == whole.keys()
    for key, gradient in whole.items():
        scale = gradient.abs().max().item()
        torch.testing.assert_close(cut[key], gradient, rtol=1e-4, atol=1e-5 * max(1, scale))


@pytest.mark.parametrize("name", OTHERS)
def test_stopped_and_resumed_is_uninterrupted(name, tiny_checkpoint, tmp_path):
    config = replace(QUICK, num_epochs=1, eval_steps=2)
    whole = load(tiny_checkpoint)
    expected = trainer_of(name, whole, config).run()
    path = tmp_path / "state.pt"
    stopped = trainer_of(name, load(tiny_checkpoint), config, state_path=path)
    for _ in range(4):
        window = [stopped._train_step()]
    stopped._check(window, 1.0)
    resumed = load(tiny_checkpoint)
    history = trainer_of(name, resumed, config, state_path=path).run(resume=True)
    assert [r["loss"] for r in history[1:]] == [r["loss"] for r in expected[2:]]
    pairs = zip(whole.model.parameters(), resumed.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("name", ["ct", "isbert", "sbert"])
def test_a_symmetric_form_of_a_loss_without_one_is_refused(name, tiny_encoder):
    with pytest.raises(TrainingError, match="--symmetric"):
        trainer_of(name, tiny_encoder, replace(QUICK, symmetric=True))


def test_batches_without_anything_to_tell_apart_are_refused(tiny_encoder):
    one = replace(QUICK, batch_size=1)
    with pytest.raises(TrainingError, match="no negatives"):
        trainer_of("dual", tiny_encoder, one)
    with pytest.raises(TrainingError, match="no other sentence"):
        trainer_of("isbert", tiny_encoder, one)
    trainer_of("sbert", tiny_encoder, one)  # a pair has its label
    trainer_of("ct", tiny_encoder, one)  # a bag has its negatives


def test_simcses_own_objectives_and_recipes_are_among_all():
    assert all(ALL_OBJECTIVES[name] is objective for name, objective in OBJECTIVES.items())
    assert all(name == objective.name for name, objective in ALL_OBJECTIVES.items())
    for preset, recipes in ALL_PRESETS.items():
        assert recipes.keys() == ALL_OBJECTIVES.keys()
        assert all(recipes[name] == recipe for name, recipe in PRESETS[preset].items())
    sbert = ALL_PRESETS["paper"]["sbert"]
    assert (sbert.batch_size, sbert.learning_rate, sbert.num_epochs) == (16, 2e-5, 1)
    assert (sbert.warmup_ratio, sbert.pooling) == (0.1, "avg")
    for name in OTHERS:
        quick, paper = ALL_PRESETS["quick"][name], ALL_PRESETS["paper"][name]
        assert quick.learning_rate == pytest.approx(10 * paper.learning_rate)
        assert quick.pooling == paper.pooling and quick.max_steps == 200
