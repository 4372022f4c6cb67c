"""The contrastive stage: what names its folder, what lies in it, and what it leaves alone."""

import json
import math
import shutil
from dataclasses import replace

import pytest
import torch
from conftest import toy_sentences
from killable import assert_same_weights, weights_of
from tuning import QUICK, triplets

from baselines.isbert import load_tuned
from baselines.objectives import ALL_OBJECTIVES
from minbert.checkpoint import write_tensors
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.mlm import BertForMaskedLM
from minbert.model import BertModel
from runtime.errors import KeptError, UserError
from runtime.files import digest
from simcse.config import SimCSEConfig
from simcse.loss import info_nce, nt_xent
from simcse.objectives import OBJECTIVES
from simcse.stage import (
    Backbone,
    TrainingTexts,
    decisive,
    num_negatives,
    read_notes,
    read_texts,
    tuned_backbone,
)
from simcse.views import supervised

SUP = OBJECTIVES["sup"]
DIGESTS = {"sup": "a", "selection": "b"}


def texts(encoder: SentenceEncoder) -> TrainingTexts:
    data = supervised(triplets(60), encoder.tokenizer, 32)
    return TrainingTexts("triplets.csv", data, DIGESTS)


def test_the_key_changes_with_anything_that_decides_the_weights(tiny_encoder, tiny_checkpoint):
    def key(config=QUICK, digests=DIGESTS, objective=SUP):
        backbone = Backbone(tiny_checkpoint, tiny_encoder)
        return digest(decisive(backbone, objective, config, digests))

    first = key()
    assert first == key()
    keys = {
        first,
        key(digests={**DIGESTS, "sup": "c"}),
        key(SimCSEConfig()),
        key(objective=OBJECTIVES["unsup"]),
    }
    with torch.no_grad():
        tiny_encoder.model.pooler.dense.bias[0] += 1e-3
    keys.add(key())
    tiny_encoder.model.config = replace(tiny_encoder.model.config, hidden_dropout_prob=0.4)
    keys.add(key())
    tiny_encoder.stated_pooling = "avg"
    keys.add(key())
    assert len(keys) == 7


def read_positives(encoder, checkpoint, folder, objective="unsup", **settings) -> TrainingTexts:
    path = folder / "sentences.txt"
    path.write_text("\n".join([*toy_sentences(12), "", *toy_sentences(8, 1)]))
    config, backbone = SimCSEConfig(**settings), Backbone(checkpoint, encoder)
    return read_texts(ALL_OBJECTIVES[objective], path, backbone, config, [], folder)


def test_sentences_are_read_with_the_positives_of_the_settings(
    tiny_encoder, tiny_checkpoint, tmp_path
):
    first, second = toy_sentences(12), toy_sentences(8, 1)
    for objective, name, anchors, same in (
        ("unsup", "same", [*first, *second], True),
        ("dual", "next", [*first[:-1], *second[:-1]], False),
        ("unsup", "crop", [*first, *second], False),
    ):
        read = read_positives(tiny_encoder, tiny_checkpoint, tmp_path, objective, positive=name)
        decode = tiny_encoder.tokenizer.backend.decode
        texts = [[decode(read.data.sequences[row]) for row in rows] for rows in read.data.rows]
        assert [anchor for anchor, _ in texts] == anchors and read.data.same_twice == same
        if name == "next":
            assert [positive for _, positive in texts] == [*first[1:], *second[1:]]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"objective": "ct", "positive": "crop"}, "for unsup and dual, not for ct"),
        ({"objective": "sup", "positive": "mlm"}, "for unsup and dual, not for sup"),
        ({"positive": "next", "positive_share": 0.2}, "has no effect with --positive next"),
        ({"positive": "crop+mlm"}, "has no masked-language-model head"),
    ],
)
def test_positives_that_cannot_be_made_are_refused(
    settings, said, tiny_encoder, tiny_checkpoint, tmp_path
):
    with pytest.raises(UserError, match=said):
        read_positives(tiny_encoder, tiny_checkpoint, tmp_path, **settings)


def test_the_head_that_the_mlm_objective_starts_from_is_part_of_the_key(tiny_checkpoint, tmp_path):
    keys = {"objective": set(), "positives": set(), "neither": set()}
    for seed in (0, 1):
        torch.manual_seed(seed)
        source = tmp_path / f"bert-{seed}"
        shutil.copytree(tiny_checkpoint, source)
        model = BertForMaskedLM(BertModel.from_pretrained(str(source)))
        head = {f"cls.predictions.{key}": tensor for key, tensor in model.head.state_dict().items()}
        write_tensors(model.bert.state_dict() | head, source / "model.safetensors")
        backbone = Backbone(source, SentenceEncoder.from_pretrained(str(source), device="cpu"))
        for name, settings in (
            ("objective", {"mlm_weight": 0.1}),
            ("positives", {"positive": "mlm"}),
            ("neither", {}),
        ):
            made_of = decisive(backbone, SUP, SimCSEConfig(**settings), DIGESTS)
            keys[name].add(digest(made_of))
    assert [len(found) for found in keys.values()] == [2, 2, 1]


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


def test_the_tuned_folder_says_what_made_it(tiny_encoder, tiny_checkpoint, tmp_path):
    backbone = Backbone(tiny_checkpoint, tiny_encoder)
    folder = tuned_backbone(SUP, backbone, texts(tiny_encoder), QUICK, tmp_path)
    notes = json.loads((folder / "training.json").read_text())
    assert (notes["pretrain"], notes["data"], notes["examples"]) == ("sup", "triplets.csv", 60)
    assert notes["negatives_per_anchor"] == 2 * 16 - 1
    assert notes["pooling"] == "cls" and notes["best_score"] is None
    assert notes["config"]["learning_rate"] == 1e-3
    assert [record["step"] for record in notes["history"]] == [5, 10, 12]
    assert read_notes(folder)["history"] == notes["history"]
    for content in ("{", "null", '{"history": [], "seconds": 1}'):
        (folder / "training.json").write_text(content)
        with pytest.raises(CheckpointError, match=r"training\.json"):
            read_notes(folder)


def test_tuning_leaves_the_backbone_as_it_was_frozen_or_not(
    tiny_encoder, tiny_checkpoint, tmp_path
):
    """One backbone, loaded once, stands behind every stage of a run, and under frozen heads."""
    backbone = Backbone(tiny_checkpoint, tiny_encoder.freeze())
    before = weights_of(tiny_encoder.model)
    config, tuned = replace(QUICK, max_steps=2), []
    for name in ("first", "second"):
        folder = tuned_backbone(SUP, backbone, texts(tiny_encoder), config, tmp_path / name)
        tuned.append(SentenceEncoder.from_pretrained(str(folder)).model)
    assert_same_weights(tiny_encoder.model, before)
    assert not tiny_encoder.model.training and tiny_encoder.pooling == "cls_before_pooler"
    assert_same_weights(*tuned)
    name = "encoder.layer.0.output.dense.weight"
    assert not torch.equal(tuned[0].state_dict()[name], before[name])


def test_a_stage_that_an_earlier_run_finished_is_not_run_again(
    tiny_encoder, tiny_checkpoint, tmp_path, monkeypatch
):
    backbone = Backbone(tiny_checkpoint, tiny_encoder)
    arguments = (SUP, backbone, texts(tiny_encoder), replace(QUICK, max_steps=1), tmp_path)
    folder = tuned_backbone(*arguments)
    assert list(tmp_path.iterdir()) == [folder]
    # As a run leaves it that was killed right after it had finished.
    folder.with_name(folder.name + ".state.pt").touch()
    monkeypatch.setattr("simcse.stage.SimCSETrainer", None)  # calling it would fail
    assert tuned_backbone(*arguments) == folder
    assert list(tmp_path.iterdir()) == [folder]
    # A folder that was changed is refused.
    (folder / "modules.json").unlink()
    with pytest.raises(CheckpointError, match=r"modules\.json is missing"):
        load_tuned(folder, device="cpu")
    with pytest.raises(KeptError, match=r"modules\.json is missing; delete the folder"):
        tuned_backbone(*arguments)
