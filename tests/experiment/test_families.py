"""RoBERTa, XLM-R and Chinese BERT through every stage: tuned, saved, evaluated, pretrained."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from families import MULTILINGUAL, checkpoint, transformers
from safetensors.torch import load_file
from toy_runs import results, run

from minbert import pretrain
from minbert.encoder import SentenceEncoder
from minbert.mlm import BertForMaskedLM
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
    argv = "--pretrain none sup --task sts --encoder cross --pooling avg --simcse-dropout 0.2"
    assert run(folder, toy_data, tmp_path / "run", *argv.split()) == 0
    entries = results(tmp_path / "run")
    assert len(entries) == 2 and all(np.isfinite(e["metrics"]["pearson"]) for e in entries)
    told = [r for r in caplog.records if "states the pooling" in r.getMessage()]
    assert len(told) == 1 and "cls; avg is used" in told[0].getMessage()


def test_roberta_is_pretrained_further_and_keeps_its_names(tmp_path, capsys):
    folder = checkpoint(tmp_path / "base", "roberta", "AutoModelForMaskedLM")
    for name, seed in (("a.txt", 0), ("valid.txt", 1)):
        lines = toy_sentences(300, seed)
        text = "\n\n".join(" ".join(lines[i : i + 6]) for i in range(0, 300, 6))
        (tmp_path / name).write_text(text + "\n")
    out = tmp_path / "out"
    argv = ["--corpus", str(tmp_path / "a.txt"), "--valid", str(tmp_path / "valid.txt")]
    argv += ["--init", str(folder), "--out", str(out), "--length", "24", "--batch-size", "32"]
    argv += ["--tokens", "1536", "--eval-steps", "1", "--warmup-steps", "1", "--lr", "1e-3"]
    assert pretrain.main([*argv, "--precision", "float32", "--device", "cpu"]) == 0
    config = json.loads((out / "config.json").read_text())
    assert config["architectures"] == ["RobertaForMaskedLM"]
    saved, original = (load_file(f / "model.safetensors") for f in (out, folder))
    assert saved.keys() == original.keys()
    reference, info = transformers.RobertaForMaskedLM.from_pretrained(
        out, output_loading_info=True, dtype=torch.float32
    )
    assert not info["missing_keys"] and not info["unexpected_keys"]
    own = BertForMaskedLM.from_pretrained(str(out))
    tokenizer = load(out).tokenizer
    batch = tokenizer(["the old cat sees a boat ."]).pack([0])
    with torch.no_grad():
        found = own(batch, torch.arange(len(batch.input_ids)))
        expected = reference.eval()(batch.input_ids[None]).logits[0]
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=0)
