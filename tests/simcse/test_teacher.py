"""Learning from a teacher: the loss against its formula, the cached embeddings, the stage."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import toy_sentences, write_checkpoint
from killable import Killed, assert_same_gradients, assert_same_weights, encoder_of

from minbert.encoder import SentenceEncoder
from run_multitask import main
from runtime.errors import TrainingError
from simcse.config import PRESETS
from simcse.loss import distillation_loss
from simcse.objectives import teacher_objective
from simcse.teacher import Teacher
from simcse.train import SimCSETrainer
from simcse.views import single

CONFIG = replace(
    PRESETS["quick"]["teacher"], batch_size=16, num_epochs=4, max_steps=None, eval_steps=4
)


@pytest.fixture(scope="module")
def teacher_folder(tmp_path_factory):
    """A tiny BERT of other weights and another width than the student's."""
    folder = write_checkpoint(tmp_path_factory.mktemp("teacher"))
    encoder = encoder_of(folder)
    encoder.pool_by("avg")
    torch.manual_seed(5)
    for parameter in encoder.model.parameters():
        torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.3)
    encoder.save(folder.parent / "teacher")
    return folder.parent / "teacher"


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text("\n\n".join(toy_sentences(60)) + "\n")
    return path


def slow_loss(embeddings, mapped, targets, temperature):
    """The formula of `distillation_loss`, one sentence and one neighbour at a time."""

    def cosine(u, v):
        return (u * v).sum() / (u.norm() * v.norm())

    total, count = torch.zeros((), dtype=torch.float64), len(targets)
    for i in range(count):
        total = total + 2 * (1 - cosine(mapped[i], targets[i]))
        others = [j for j in range(count) if j != i]
        near = [torch.exp(cosine(targets[i], targets[j]) / temperature) for j in others]
        guess = [torch.exp(cosine(embeddings[i], embeddings[j]) / temperature) for j in others]
        for p, q in zip(near, guess, strict=True):
            p, q = p / sum(near), q / sum(guess)
            total = total + p * torch.log(p / q)
    return total / count


def test_value_and_gradients_are_those_of_the_formula():
    torch.manual_seed(0)
    embeddings = torch.randn(5, 6, dtype=torch.float64, requires_grad=True)
    mapped = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    targets = torch.randn(5, 4, dtype=torch.float64)
    loss, _ = distillation_loss(embeddings, mapped, targets, 0.2)
    expected = slow_loss(embeddings, mapped, targets, 0.2)
    assert_same_gradients(loss, expected, [embeddings, mapped])


def test_an_equal_geometry_costs_nothing_and_a_batch_of_one_has_the_direction_alone():
    targets = torch.nn.functional.normalize(torch.randn(6, 8), dim=1)
    rotation = torch.linalg.qr(torch.randn(8, 8))[0]
    loss, same = distillation_loss(3 * targets @ rotation, targets / 2, targets)
    assert loss.item() == pytest.approx(0, abs=1e-4) and same == 1
    loss, same = distillation_loss(targets[:1], -targets[:1], targets[:1])
    assert loss.item() == pytest.approx(4) and same == 1


def test_embeddings_are_computed_once_and_found_again_after_a_stop(
    teacher_folder, sentences, tmp_path, monkeypatch
):
    monkeypatch.setattr("simcse.teacher.PIECE", 25)
    teacher = Teacher(teacher_folder, tmp_path / "cache", "cpu", "float32")
    plain = SentenceEncoder.from_pretrained(str(teacher_folder), None, "cpu", "float32")
    expected = plain.encode(toy_sentences(60), normalize_embeddings=True)
    read, encode = [], SentenceEncoder.encode

    def counted(self, texts, stop_at=2, **how):
        if len(read) == stop_at:
            raise Killed
        read.append(len(texts))
        return encode(self, texts, **how)

    monkeypatch.setattr(SentenceEncoder, "encode", counted)
    with pytest.raises(Killed):
        teacher.embeddings(sentences)
    monkeypatch.setattr(SentenceEncoder, "encode", lambda *a, **how: counted(*a, stop_at=3, **how))
    found = Teacher(teacher_folder, tmp_path / "cache", "cpu", "float32").embeddings(sentences)
    assert read == [25, 25, 10]
    assert found.dtype == np.float16 and np.allclose(found, expected, atol=1e-3)
    again = teacher.embeddings(sentences)
    assert len(read) == 3 and np.array_equal(again, found)


def trainer(checkpoint, teacher, sentences, state=None, kill_at=None):
    encoder = encoder_of(checkpoint)
    calls = []

    def dev_score() -> float:
        calls.append(1)
        if len(calls) - 1 == kill_at:
            raise Killed
        return float(len(calls))

    data = single(toy_sentences(60), encoder.tokenizer, 32)
    data = replace(data, labels=teacher.embeddings(sentences))
    form = teacher_objective(teacher).form
    return SimCSETrainer(encoder, data, CONFIG, dev_score, state, form=form)


def test_a_student_comes_near_its_teacher_and_resumes_to_the_same_weights(
    tiny_checkpoint, teacher_folder, sentences, tmp_path
):
    teacher = Teacher(teacher_folder, tmp_path / "cache", "cpu", "float32")
    whole = trainer(tiny_checkpoint, teacher, sentences, tmp_path / "a.pt")
    history = whole.run()
    losses = [record["loss"] for record in history if "loss" in record]
    assert losses[-1] < 0.5 * losses[0]
    # The map is trained along, and dropped: the student is an encoder of its own width.
    assert whole.form.tuned_encoder.encode(["the cat"]).shape == (1, 32)
    fresh = trainer(tiny_checkpoint, teacher, sentences)
    assert not torch.equal(whole.form.map.weight, fresh.form.map.weight)
    killed = trainer(tiny_checkpoint, teacher, sentences, tmp_path / "b.pt", kill_at=2)
    with pytest.raises(Killed):
        killed.run()
    resumed = trainer(tiny_checkpoint, teacher, sentences, tmp_path / "b.pt")
    resumed.run(resume=True)
    assert_same_weights(resumed.encoder.model, whole.encoder.model)


def test_a_batch_of_one_is_refused(tiny_encoder, teacher_folder, sentences, tmp_path):
    teacher = Teacher(teacher_folder, tmp_path / "cache", "cpu", "float32")
    data = single(["the cat"], tiny_encoder.tokenizer, 32)
    form = teacher_objective(teacher).form(tiny_encoder, CONFIG)
    with pytest.raises(TrainingError, match="give a file with more"):
        form.check(CONFIG, data)


def test_the_command_learns_from_a_teacher_and_finds_the_encoder_again(
    tiny_checkpoint, teacher_folder, toy_data, tmp_path, capsys
):
    command = ["--pretrain", "teacher", "--teacher", str(teacher_folder), "--task", "sts"]
    command += ["--backbone", str(tiny_checkpoint), "--data", str(toy_data), "--device", "cpu"]
    command += ["--simcse-steps", "4", "--simcse-batch-size", "16", "--cost-seconds", "0"]
    command += ["--reader", "bi", "--no-baseline"]
    command += ["--run-dir", str(tmp_path / "runs" / "a")]
    assert main(command) == 0
    assert "tuning    teacher, seed 42" in capsys.readouterr().out
    (folder,) = (tmp_path / "runs" / "backbones").iterdir()
    made = folder.stat().st_mtime_ns
    command[-1] = str(tmp_path / "runs" / "b")
    assert main(command) == 0
    assert [p.stat().st_mtime_ns for p in folder.parent.iterdir()] == [made]
    # Another teacher is another encoder.
    command[3] = str(tiny_checkpoint)
    command[-1] = str(tmp_path / "runs" / "c")
    assert main(command) == 0
    assert len(list(folder.parent.iterdir())) == 2


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--pretrain", "teacher"], "--teacher"),
        (["--teacher", "mini"], "--pretrain teacher"),
        (["--pretrain", "teacher", "--teacher", "./nowhere"], "no such folder"),
    ],
)
def test_a_missing_or_idle_teacher_is_refused(flags, words, tmp_path, capsys):
    try:
        code = main([*flags, "--run-dir", str(tmp_path / "run")])
    except SystemExit as end:
        code = end.code
    assert code == 2 and words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
