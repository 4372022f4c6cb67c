"""RoBERTa, XLM-R and Chinese BERT through every stage: tuned, saved, evaluated."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from families import MULTILINGUAL, checkpoint
from toy_runs import results, run

from minbert.encoder import SentenceEncoder
from simcse.config import SimCSEConfig
from simcse.objectives import OBJECTIVES
from simcse.stage import Backbone, TrainingTexts, tuned_backbone
from simcse.train import SimCSETrainer
from simcse.views import unsupervised

FAMILIES = pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "bert"])
ONE_STEP = SimCSEConfig(
    batch_size=16, max_steps=1, learning_rate=1e-3, dropout=0.3, mlm_weight=0.1, mlp="training"
)
CHINESE = ["这只猫在河边睡觉。", "老师今天早上画了一条小船。"]


def load(folder, pooling=None) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(str(folder), pooling, "cpu", "float32")


def rates(model) -> set[float]:
    return {m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)}


@FAMILIES
def test_one_step_of_simcse_leaves_a_checkpoint_that_all_load(family, tmp_path):
    """With the masked-language-model objective beside it, and dropout of 0.3."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    folder = checkpoint(tmp_path / "base", family, "AutoModelForMaskedLM")
    encoder = load(folder)
    texts = TrainingTexts("x.txt", unsupervised(MULTILINGUAL, encoder.tokenizer, 32), {})
    backbone = Backbone(folder, encoder)
    out = tuned_backbone(OBJECTIVES["unsup"], backbone, texts, ONE_STEP, tmp_path / "tuned")
    tuned, sentences = load(out), [*CHINESE, *toy_sentences(4), ""]
    assert tuned.stated_pooling == "cls_before_pooler" and tuned.model.config.model_type == family
    moved = abs(tuned.encode(sentences) - encoder.encode(sentences)).max()
    assert 1e-4 < moved < 1
    theirs = sentence_transformers.SentenceTransformer(str(out), device="cpu")
    assert abs(theirs.encode(sentences) - tuned.encode(sentences)).max() < 1e-5
    # Row 1 of RoBERTa's positions is padding's, and never trained.
    if family != "bert":
        positions = [e.model.embeddings.position_embeddings.weight for e in (encoder, tuned)]
        assert torch.equal(positions[0][:2], positions[1][:2])
        assert (positions[0][2:20] != positions[1][2:20]).any(dim=1).all()


def test_dropout_is_the_contrastive_stages_alone(tiny_checkpoint, tmp_path):
    encoder = load(tiny_checkpoint)
    before = rates(encoder.model)
    data = unsupervised(toy_sentences(40), encoder.tokenizer, 32)
    settings = replace(ONE_STEP, mlm_weight=0.0)
    trainer = SimCSETrainer(encoder.clone(), data, settings)
    assert rates(trainer.encoder.model) == {0.3} and rates(encoder.model) == before == {0.1}
    trainer = SimCSETrainer(encoder.clone(), data, replace(settings, dropout=None))
    assert rates(trainer.encoder.model) == {0.1}
    # The next to tune the checkpoint begins with the backbone's own rates.
    texts = TrainingTexts("x.txt", data, {})
    backbone = Backbone(tiny_checkpoint, encoder)
    folder = tuned_backbone(OBJECTIVES["unsup"], backbone, texts, settings, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    assert config["hidden_dropout_prob"] == config["attention_probs_dropout_prob"] == 0.1
    assert json.loads((folder / "training.json").read_text())["config"]["dropout"] == 0.3


def test_without_dropout_two_views_are_one(tiny_encoder):
    data = unsupervised(toy_sentences(40), tiny_encoder.tokenizer, 32)
    for dropout, same in ((0.0, True), (0.3, False)):
        trainer = SimCSETrainer(
            tiny_encoder.clone(), data, replace(ONE_STEP, mlm_weight=0.0, dropout=dropout)
        )
        trainer.trained.train()
        chunk = data.sequences.pack([0, 0])
        first, second = trainer.encoder.embed(chunk)
        assert torch.equal(first, second) == same


def test_the_whole_command_runs_on_roberta(toy_data, tmp_path, capsys, caplog):
    folder = checkpoint(tmp_path / "sup-simcse-tiny", "roberta")
    argv = "--pretrain none sup --task sts --reader cross --pooling avg --simcse-dropout 0.2"
    assert run(folder, toy_data, tmp_path / "run", *argv.split()) == 0
    entries = results(tmp_path / "run")
    assert len(entries) == 2 and all(np.isfinite(e["metrics"]["pearson"]) for e in entries)
    told = [r for r in caplog.records if "states the pooling" in r.getMessage()]
    assert len(told) == 1 and "cls; avg is used" in told[0].getMessage()
