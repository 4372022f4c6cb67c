"""The yardstick: sets as GLUE cuts them, tuning as transformers does, rates chosen on dev."""

import csv

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from transformers import AutoTokenizer, BertForSequenceClassification

from benchmarks import classifier, yardstick
from benchmarks.classifier import Classifier, Recipe
from evaluation.metrics import labels_of

RECIPE = Recipe(1e-3, 1, 8, 42)


@pytest.fixture(scope="module")
def toy_sets(tmp_path_factory):
    """All three sets in their published forms: "red" is good, the same words are the same."""
    folder = tmp_path_factory.mktemp("glue")
    (folder / "STSBenchmark").mkdir()
    for seed, (part, count) in enumerate((("train", 120), ("dev", 30), ("test", 40))):
        texts, others = toy_sentences(count, seed), toy_sentences(count, seed + 10)
        seconds = [
            a if row % 2 else b for row, (a, b) in enumerate(zip(texts, others, strict=True))
        ]
        good = [int("red" in text or "cat" in text) for text in texts]
        lines = [f"{label} {text}\n" for label, text in zip(good, texts, strict=True)]
        (folder / f"stsa.binary.{part}").write_text("".join(lines))
        rows = list(enumerate(zip(texts, seconds, strict=True)))
        lines = [f"{row % 2}\t{row}\t{row}x\t{a}\t{b}\n" for row, (a, b) in rows]
        (folder / f"msr_paraphrase_{part}.txt").write_text("Quality\tA\tB\tC\tD\n" + "".join(lines))
        lines = [f"g\tf\t2012\t{row}\t{5 * (row % 2)}\t{a}\t{b}\n" for row, (a, b) in rows]
        (folder / "STSBenchmark" / f"sts-{part}.csv").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("name", ["SST-2", "STS-B"])
def test_loss_and_predictions_are_those_of_transformers(name, tiny_checkpoint, toy_sets):
    record = yardstick.SETS[name]
    rows = record.read(toy_sets).dev
    own = Classifier(tiny_checkpoint, record.task, RECIPE)
    own.model.eval()
    torch.manual_seed(42)
    score = name == "STS-B"
    theirs = BertForSequenceClassification.from_pretrained(
        tiny_checkpoint, num_labels=1 if score else 2
    ).eval()
    theirs.load_state_dict(own.model.state_dict())
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint)
    labels = torch.tensor([row.label for row in rows], dtype=torch.float32 if score else torch.long)
    columns = [list(column) for column in zip(*(row.texts for row in rows), strict=True)]
    with torch.no_grad():
        padded = theirs(**tokenizer(*columns, padding=True, return_tensors="pt"), labels=labels)
        ours = own.logits(own.tokens(rows))
        loss = own.loss(ours, labels.float())
        # Each by itself, without any padding.
        alone = [theirs(**tokenizer(*row.texts, return_tensors="pt")).logits for row in rows]
    torch.testing.assert_close(ours, padded.logits)
    torch.testing.assert_close(loss, padded.loss)
    alone = torch.cat(alone)
    expected = alone[:, 0] if score else alone.argmax(-1)
    np.testing.assert_allclose(own.predict(rows), expected.numpy(), atol=1e-5)


@pytest.fixture(autouse=True)
def in_float32(monkeypatch):
    monkeypatch.setattr(classifier, "choose_precision", lambda *_: torch.float32)


def table(out):
    with out.open() as file:
        return {row["set"]: row for row in csv.DictReader(file)}


def test_the_command_learns_what_can_be_learnt(tiny_checkpoint, toy_sets, tmp_path, capsys):
    out = tmp_path / "table.csv"
    argv = [f"tiny={tiny_checkpoint}", "--data", str(toy_sets), "--csv", str(out), "--lr", "3e-3"]
    argv += ["--epochs", "8", "--batch-size", "8", "--set", "SST-2"]
    assert yardstick.main(argv) == 0
    rows = table(out)
    assert float(rows["SST-2"]["test_accuracy"]) > 0.85  # the larger class: 0.75
    assert rows["SST-2"]["test_f1"] == "" and rows["SST-2"]["learning_rate"] == "0.003"
    shown = capsys.readouterr().out
    assert f"accuracy {float(rows['SST-2']['test_accuracy']):.3f}" in shown
    assert "BERT-Mini 4 x 256" in shown and "accuracy 0.859" in shown and "published" in shown


def test_the_rate_is_the_best_on_dev_and_the_seeds_follow_it(monkeypatch, toy_sets, tmp_path):
    """Of a pretended tuning that is best on dev at 2e-4, and best on test at 1e-4."""
    tried = []

    def pretended(folder, record, splits, recipe):
        tried.append((recipe.learning_rate, recipe.seed))
        right = {"dev": {1e-4: 10, 2e-4: 25, 3e-4: 20}, "test": {1e-4: 40, 2e-4: 20, 3e-4: 30}}
        found = {}
        for part in ("dev", "test"):
            labels = labels_of(getattr(splits, part))
            wrong = len(labels) - right[part][recipe.learning_rate] - (recipe.seed - 42)
            labels[: max(0, wrong)] = 1 - labels[: max(0, wrong)]
            found[part] = labels
        return found

    monkeypatch.setattr(classifier, "tune", pretended)
    out = tmp_path / "table.csv"
    argv = ["mini", "--data", str(toy_sets), "--set", "SST-2", "--csv", str(out)]
    assert yardstick.main([*argv, "--lr", "1e-4", "2e-4", "3e-4", "--seeds", "3"]) == 0
    assert tried == [(1e-4, 42), (2e-4, 42), (3e-4, 42), (2e-4, 43), (2e-4, 44)]
    (row,) = table(out).values()
    assert row["learning_rate"] == "0.0002" and row["seeds"] == "3"
    assert float(row["test_accuracy"]) == pytest.approx((20 + 21 + 22) / 3 / 40, abs=1e-4)


def test_mrpcs_dev_is_every_tenth_pair_of_train(toy_sets):
    splits = yardstick.SETS["MRPC"].read(toy_sets)
    assert [len(rows) for rows in (splits.train, splits.dev, splits.test)] == [108, 12, 40]
    assert [pair.id for pair in splits.dev[:2]] == ["0-0x", "10-10x"]


def test_scores_are_by_the_positive_class_and_never_undefined():
    labels, guesses = np.array([1.0, 0, 1, 1]), np.array([1.0, 1, 0, 1])
    assert yardstick.SETS["MRPC"].scores(guesses, labels) == {
        "f1": pytest.approx(2 / 3), "accuracy": 0.5,
    }  # fmt: skip
    assert yardstick.SETS["STS-B"].scores(np.ones(4), labels) == {"pearson": 0.0, "spearman": 0.0}


def test_what_is_missing_is_one_line(tiny_checkpoint, toy_sets, tmp_path, capsys):
    for argv in (
        ["./nowhere", "--data", str(toy_sets)],
        [str(tiny_checkpoint), "--data", str(tmp_path / "nowhere")],
    ):
        assert yardstick.main(argv) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ") and error.count("\n") == 1 and "nowhere" in error
    with pytest.raises(SystemExit) as stop:
        yardstick.main(["mini", "--lr", "0"])
    assert stop.value.code == 2 and "--lr" in capsys.readouterr().err
