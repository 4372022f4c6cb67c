"""The contrastive stage: views, projection, what is kept, and that tuning does what it should."""

import json
import math
import shutil
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from minbert.runtime import TrainingError, adamw, linear_schedule

from data.examples import DataError, Triplet
from minbert.checkpoint import write_tensors
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.mlm import BertForMaskedLM
from minbert.model import BertModel
from simcse.config import SUP_PAPER, UNSUP, SimCSEConfig, simcse_config
from simcse.loss import info_nce, nt_xent
from simcse.projection import attach_projection
from simcse.stage import (
    num_negatives,
    read_notes,
    resolve_pooling,
    stage_key,
    tune,
    tuned_backbone,
)
from simcse.train import SimCSETrainer
from simcse.views import supervised, unsupervised

QUICK = SimCSEConfig(batch_size=16, learning_rate=1e-3, num_epochs=3, eval_steps=5)


def triplets(count: int = 40) -> list[Triplet]:
    a, c = toy_sentences(count, 1), toy_sentences(count, 2)
    return [Triplet(x, x.replace("the", "a"), z) for x, z in zip(a, c, strict=True)]


def trainer(encoder, config=QUICK, data=None, **more) -> SimCSETrainer:
    data = data or supervised(triplets(), encoder.tokenizer, 32)
    return SimCSETrainer(encoder, data, config, **more)


@pytest.mark.parametrize(
    ("settings", "device", "said"),
    [
        ({"compile": True}, "cpu", "a CPU loses time"),
        ({"compile": True, "chunk_tokens": 64}, "cuda", "exclude each other"),
        ({"max_length": 65}, "cuda", "64 positions"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, device, said, tiny_encoder, monkeypatch):
    monkeypatch.setattr(tiny_encoder, "device", torch.device(device))
    with pytest.raises(TrainingError, match=said):
        trainer(tiny_encoder, replace(QUICK, **settings))


def test_unsupervised_views_are_the_same_row_twice(tiny_encoder):
    data = unsupervised(iter(toy_sentences(5)), tiny_encoder.tokenizer, 32)
    assert data.rows.tolist() == [[i, i] for i in range(5)]
    assert len(data.sequences) == 5


def test_supervised_views_are_anchor_positive_hard_negative(tiny_encoder):
    data = supervised(iter(triplets(4)), tiny_encoder.tokenizer, 32)
    decode = tiny_encoder.tokenizer.backend.decode
    for triplet, rows in zip(triplets(4), data.rows, strict=True):
        texts = [decode(data.sequences[row]) for row in rows]
        assert texts == [triplet.anchor, triplet.positive, triplet.hard_negative]


def test_pairs_without_hard_negatives_have_two_views(tiny_encoder):
    pairs = [Triplet("the cat", "a cat"), Triplet("the dog", "a dog")]
    assert supervised(pairs, tiny_encoder.tokenizer, 32).rows.shape == (2, 2)


@pytest.mark.parametrize("mixed", [[None, "a lamp"], ["a lamp", None]])
def test_a_mixture_of_pairs_and_triplets_is_refused(mixed, tiny_encoder):
    data = [Triplet("the cat", "a cat", negative) for negative in mixed]
    with pytest.raises(DataError, match="triplet 2"):
        supervised(data, tiny_encoder.tokenizer, 32)


def test_no_triplets_are_refused(tiny_encoder):
    with pytest.raises(DataError, match="no triplets"):
        supervised([], tiny_encoder.tokenizer, 32)


def test_a_stream_of_sentences_is_held_as_two_bytes_a_token(tiny_encoder):
    sentences = toy_sentences(20_000)
    tracemalloc.start()
    data = unsupervised(iter(sentences), tiny_encoder.tokenizer, 32)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    tokens = len(data.sequences.ids)
    assert data.sequences.ids.dtype == np.uint16
    # ids, offsets, first lengths and two row columns; at the peak also the parts to be joined.
    assert kept < 2 * tokens + 32 * len(sentences) + 100_000
    assert peak < 3 * kept + 8_000_000


def test_supervised_cls_gets_a_fresh_pooler_that_stays(tiny_encoder):
    before = tiny_encoder.model.pooler.dense.weight.clone()
    projection = attach_projection(tiny_encoder, SimCSEConfig(pooling="cls"))
    assert isinstance(projection, torch.nn.Identity)
    assert tiny_encoder.pooling == "cls"
    assert not torch.equal(tiny_encoder.model.pooler.dense.weight, before)


def test_mlp_only_train_leaves_the_encoder_without_the_mlp(tiny_encoder, tmp_path):
    pooler = tiny_encoder.model.pooler.dense.weight.clone()
    run = trainer(tiny_encoder, SimCSEConfig(pooling="cls", mlp_only_train=True, num_epochs=1))
    projection = run.trained["projection"].dense.weight
    start = projection.clone()
    run.run()
    assert not torch.equal(projection, start)  # trained
    assert torch.equal(tiny_encoder.model.pooler.dense.weight, pooler)  # and not kept
    tiny_encoder.save(tmp_path / "tuned")
    reloaded = SentenceEncoder.from_pretrained(str(tmp_path / "tuned"), precision="float32")
    assert reloaded.pooling == "cls_before_pooler"
    texts = toy_sentences(5)
    assert np.array_equal(reloaded.encode(texts), tiny_encoder.encode(texts))


def test_a_stated_average_is_kept_and_a_flag_overrides_it(tiny_encoder):
    assert resolve_pooling(tiny_encoder, UNSUP).pooling == "cls"
    tiny_encoder.stated_pooling = "avg"
    assert resolve_pooling(tiny_encoder, UNSUP).pooling == "avg"
    assert resolve_pooling(tiny_encoder, SimCSEConfig(pooling="cls")).pooling == "cls"


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("kind", ["unsup", "sup"])
def test_training_raises_in_batch_accuracy(kind, symmetric, tiny_encoder):
    if kind == "unsup":
        data = unsupervised(toy_sentences(200), tiny_encoder.tokenizer, 32)
    else:
        data = supervised(triplets(200), tiny_encoder.tokenizer, 32)
    config = SimCSEConfig(
        pooling="cls", symmetric=symmetric, batch_size=16, learning_rate=1e-3,
        num_epochs=6, eval_steps=13,
    )  # fmt: skip
    history = SimCSETrainer(tiny_encoder, data, config).run()
    assert history[-1]["loss"] < history[0]["loss"]
    assert history[-1]["accuracy"] > history[0]["accuracy"]
    assert history[-1]["step"] == 6 * 13


def test_dev_score_before_training_is_logged_but_not_a_candidate(tiny_encoder):
    scores = iter([0.9, 0.2, 0.5, 0.3])
    run = trainer(
        tiny_encoder, SimCSEConfig(batch_size=16, eval_steps=1), dev_score=lambda: next(scores)
    )
    history = run.run()
    assert [record["dev_score"] for record in history] == [0.9, 0.2, 0.5, 0.3]
    assert run.best_score == 0.5


def test_a_batch_without_negatives_is_refused(tiny_encoder):
    with pytest.raises(TrainingError, match="no negatives"):
        data = unsupervised(toy_sentences(5), tiny_encoder.tokenizer, 32)
        trainer(tiny_encoder, SimCSEConfig(batch_size=1), data)


def test_mlm_adds_its_weighted_loss(tiny_encoder):
    torch.manual_seed(0)
    with_mlm = trainer(tiny_encoder, SimCSEConfig(mlm_weight=1.0, batch_size=16))
    rows = np.arange(16)
    tiny_encoder.model.eval()  # no dropout: the two differ by the MLM term alone
    total, _ = with_mlm.add_gradients(rows)
    contrastive, _ = trainer(tiny_encoder, SimCSEConfig(batch_size=16)).add_gradients(rows)
    assert total.item() > contrastive.item() + 1.0
    assert with_mlm.trained["encoder"].head.bias.grad is not None


def test_every_epoch_sees_every_example_once_in_its_own_order(tiny_encoder):
    run = trainer(tiny_encoder, SimCSEConfig(batch_size=16, num_epochs=2))
    epochs = [np.concatenate([run._batch_of(e * 3 + i) for i in range(3)]) for e in range(2)]
    for order in epochs:
        assert sorted(order) == list(range(40))
    assert not np.array_equal(*epochs)


def test_max_steps_ends_the_schedule_too(tiny_encoder):
    run = trainer(tiny_encoder, SimCSEConfig(batch_size=16, num_epochs=9, max_steps=4))
    run.run()
    assert run.step == 4
    assert run.schedule.get_last_lr()[0] == 0.0


def test_schedule_rises_then_falls_to_zero():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = linear_schedule(optimizer, 10, 0.2)
    rates = []
    for _ in range(10):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    assert rates == pytest.approx([1 / 3, 2 / 3, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])
    assert schedule.get_last_lr()[0] == 0.0


def test_adamw_decays_matrices_and_words_only(tiny_encoder):
    optimizer = adamw([(tiny_encoder.model, 1e-3)], weight_decay=0.1)
    named = {id(p): name for name, p in tiny_encoder.model.named_parameters()}
    decays = {
        named[id(p)]: group["weight_decay"]
        for group in optimizer.param_groups
        for p in group["params"]
    }
    assert decays.keys() == set(named.values())
    for name, decay in decays.items():
        spared = ("bias", "LayerNorm", "position", "token_type")
        assert decay == (0.0 if any(part in name for part in spared) else 0.1), name


def test_presets_are_the_published_recipes():
    assert simcse_config("paper", "unsup") == UNSUP
    paper = simcse_config("paper", "sup")
    assert paper == SUP_PAPER
    assert (paper.batch_size, paper.learning_rate, paper.num_epochs) == (512, 5e-5, 3)
    assert (UNSUP.batch_size, UNSUP.learning_rate, UNSUP.num_epochs) == (64, 3e-5, 1)
    assert simcse_config("report", "sup").batch_size == 128
    assert {paper.temperature, UNSUP.temperature} == {0.05}


def test_stage_key_changes_with_anything_that_decides_the_weights(tiny_encoder):
    key = stage_key(tiny_encoder, QUICK, {"sup": "a", "selection": "b"})
    assert key == stage_key(tiny_encoder, QUICK, {"sup": "a", "selection": "b"})
    other_data = stage_key(tiny_encoder, QUICK, {"sup": "c", "selection": "b"})
    other_config = stage_key(tiny_encoder, SimCSEConfig(), {"sup": "a", "selection": "b"})
    with torch.no_grad():
        tiny_encoder.model.pooler.dense.bias[0] += 1e-3
    other_weights = stage_key(tiny_encoder, QUICK, {"sup": "a", "selection": "b"})
    tiny_encoder.model.config = replace(tiny_encoder.model.config, hidden_dropout_prob=0.4)
    other_dropout = stage_key(tiny_encoder, QUICK, {"sup": "a", "selection": "b"})
    assert len({key, other_data, other_config, other_weights, other_dropout}) == 5


def test_the_head_that_the_mlm_objective_starts_from_is_part_of_the_key(
    tiny_checkpoint, toy_data, tmp_path
):
    config = replace(QUICK, max_steps=1, mlm_weight=0.1)
    data, folders = toy_data / "nli_for_simcse.csv", set()
    for seed in (0, 1):
        torch.manual_seed(seed)
        source = tmp_path / f"bert-{seed}"
        shutil.copytree(tiny_checkpoint, source)
        model = BertForMaskedLM(BertModel.from_pretrained(str(source)))
        head = {f"cls.predictions.{key}": tensor for key, tensor in model.head.state_dict().items()}
        write_tensors(model.bert.state_dict() | head, source / "model.safetensors")
        for weight in (0.1, 0.0):
            settings = replace(config, mlm_weight=weight)
            folders.add(tuned_backbone("sup", source, data, settings, tmp_path, None, {}, "cpu"))
    assert len(folders) == 3  # without the objective, the head does not matter


@pytest.mark.parametrize(
    ("num_views", "symmetric", "negatives"), [(2, False, 3), (3, False, 7), (2, True, 6)]
)
def test_negatives_are_counted(num_views, symmetric, negatives):
    config = replace(QUICK, batch_size=4, symmetric=symmetric)
    assert num_negatives(num_views, 10, config) == negatives
    loss = nt_xent if symmetric else info_nce
    views = [torch.eye(8)[:4]] * 2 + [torch.eye(8)[4:]] * (num_views - 2)
    equal = loss(*views, temperature=1e9)  # all candidates alike: the logarithm of their number
    assert round(math.exp(equal)) == negatives + 1


def test_the_tuned_folder_says_what_made_it(tiny_encoder, tiny_checkpoint, toy_data, tmp_path):
    config = resolve_pooling(tiny_encoder, QUICK)
    folder = tmp_path / "tuned"
    data = toy_data / "nli_for_simcse.csv"
    tune("sup", tiny_encoder, data, config, folder, None, tiny_checkpoint)
    notes = json.loads((folder / "training.json").read_text())
    assert notes["examples"] == 60
    assert notes["negatives_per_anchor"] == 2 * 16 - 1
    assert read_notes(folder)["history"] == notes["history"]
    (folder / "training.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"training\.json"):
        read_notes(folder)
    assert notes["config"]["learning_rate"] == 1e-3
    assert [record["step"] for record in notes["history"]] == [5, 10, 12]
    assert not list(tmp_path.glob("*.state.pt"))
