"""A grid on toy data: every cell, all that a run leaves behind, and its heads, loaded again."""

import csv
import json
import re
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy.special import expit, softmax
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score
from sklearn.metrics.pairwise import paired_cosine_distances
from toy_runs import GRID, cells_of, numbers, results

from data.tasks import read_task
from evaluation.cosine import sts_metrics
from heads.saved import SavedHead, load_head
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from report.run_folder import RunFolder
from runtime.files import file_digest

NAME = "none-para-cross-frozen-interaction-42"
KINDS = [("sst", "bi"), ("para", "bi"), ("para", "cross"), ("sts", "bi"), ("sts", "cross")]


def opened(folder, name) -> SavedHead:
    return load_head(RunFolder(folder).head_path(name), "cpu")


def predicted(folder, cell, split) -> tuple[str, list[list[str]]]:
    """Return the header and the (id, value) fields of a prediction file, as text."""
    path = folder / "predictions" / cell.name / f"{cell.task}-{split}-output.csv"
    header, *lines = path.read_text().splitlines()
    return header, [line.split(" , ") for line in lines]


def test_every_cell_of_the_grid_is_there_once_in_csv_and_json(toy_grid):
    found = sorted((c.pretrain, c.task, c.reader, c.tune, c.split) for c in cells_of(toy_grid))
    tunes = ("frozen", "full")
    expected = [(p, t, k, h, "dev") for p in ("none", "sup") for t, k in KINDS for h in tunes]
    assert found == sorted(expected)
    with (toy_grid / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row, cell in zip(rows, results(toy_grid), strict=True):
        assert row["task"] == cell["task"] and int(row["n"]) == cell["n"]
        for name in ("accuracy", "f1", "pearson", "spearman"):
            value = cell["metrics"][name]
            assert row[name] == ("" if value is None else str(value))


def test_prediction_files_are_as_the_course_has_them(toy_grid, toy_data):
    headers = {"sst": "Sentiment", "para": "Is_Paraphrase", "sts": "Similiary"}
    patterns = {"sst": r"[0-4] ?", "para": r"[01]\.0 ?", "sts": r"[0-5]\.\d+(e-\d+)? ?"}
    for cell in cells_of(toy_grid):
        splits = read_task(toy_data, cell.task)
        for split in ("dev", "test"):
            header, fields = predicted(toy_grid, cell, split)
            assert header == f"id \t Predicted_{headers[cell.task]} "
            assert [field[0] for field in fields] == [row.id for row in getattr(splits, split)]
            assert all(re.fullmatch(patterns[cell.task], value) for _, value in fields)


def test_metrics_are_those_of_scikit_learn_and_scipy_on_the_prediction_files(toy_grid, toy_data):
    for cell in cells_of(toy_grid):
        found = np.array([float(value) for _, value in predicted(toy_grid, cell, "dev")[1]])
        gold = np.array([row.label for row in read_task(toy_data, cell.task).dev], float)
        if cell.task == "sts":
            expected = {"pearson": pearsonr(found, gold)[0], "spearman": spearmanr(found, gold)[0]}
        else:
            average = "binary" if cell.task == "para" else "macro"
            f1 = f1_score(gold, found, average=average, zero_division=0)
            expected = {"accuracy": accuracy_score(gold, found), "f1": f1}
        for name in ("accuracy", "f1", "pearson", "spearman"):
            assert cell.metrics[name] == pytest.approx(expected.get(name), abs=1e-12), name


def test_the_bare_cosine_is_that_of_the_backbone(toy_grid, toy_data):
    dev = read_task(toy_data, "sts").dev
    cells = [c for c in cells_of(toy_grid) if c.name.endswith("sts-bi-frozen-interaction-42")]
    for name, cell in zip(("none", "sup-42"), cells, strict=True):
        folder = str(toy_grid / "backbones" / name)
        encoder = SentenceEncoder.from_pretrained(folder, "avg", "cpu", "float32")
        expected = sts_metrics(encoder.encode, dev)["spearman"]
        assert cell.metrics["cosine_spearman"] == pytest.approx(expected)
        at_cls = SentenceEncoder.from_pretrained(folder, "cls_before_pooler", "cpu", "float32")
        expected = sts_metrics(at_cls.encode, dev)["spearman"]
        assert cell.cls_cosine == pytest.approx(expected)
        assert cell.cls_cosine != pytest.approx(cell.metrics["cosine_spearman"])


def test_what_is_needed_to_repeat_the_run_and_to_draw_it_is_there(toy_grid, toy_data):
    config = json.loads((toy_grid / "config.json").read_text())
    assert config["options"]["pretrain"] == ["none", "sup"]
    assert config["options"]["simcse"] == {"max_steps": 4, "eval_steps": 2, "geometry_steps": 2}
    assert config["simcse"]["sup"]["max_steps"] == 4
    assert config["heads"]["sts frozen"]["num_epochs"] == 2
    assert config["sha256"]["sup"] == file_digest(toy_data / "nli_for_simcse.csv")
    assert config["packages"]["torch"] and config["python"] and config["precision"]
    lines = [json.loads(line) for line in (toy_grid / "metrics.jsonl").read_text().splitlines()]
    assert {"sup-42", "sup-sts-cross-frozen-interaction-42"} <= {line["curve"] for line in lines}


def test_full_tuning_saves_the_changed_encoder(toy_grid, tiny_checkpoint):
    model = toy_grid / "models" / "none-sts-cross-full-interaction-42"
    tuned, start = (load_file(p / "model.safetensors") for p in (model, tiny_checkpoint))
    name = "encoder.layer.0.attention.self.query.weight"
    assert not np.array_equal(tuned[name], start[name])
    assert SentenceEncoder.from_pretrained(str(model)).encode(["the cat"]).shape == (1, 32)
    assert not list(toy_grid.rglob("*.pt"))


def test_saved_heads_predict_what_the_run_wrote(toy_grid, toy_data):
    for cell in cells_of(toy_grid):
        head = opened(toy_grid, cell.name)
        assert (head.task.name, head.reader, head.encoder.pooling) == (
            cell.task,
            cell.reader,
            "avg",
        )
        texts = [example.texts for example in read_task(toy_data, cell.task).dev]
        logits, soft = head.logits(texts), head.soft(texts)
        hard = head.head.predict(torch.from_numpy(logits)).numpy()
        written = [float(value) for _, value in predicted(toy_grid, cell, "dev")[1]]
        np.testing.assert_allclose(hard, written, atol=1e-4)
        if cell.task == "sst":
            np.testing.assert_allclose(soft, softmax(logits, axis=1), atol=1e-6)
            assert (soft.argmax(axis=1) == hard).all()
        elif cell.task == "para":
            np.testing.assert_allclose(soft, expit(logits), atol=1e-6)
            assert ((soft > 0.5) == hard).all()
        else:
            np.testing.assert_allclose(soft, hard, atol=1e-5)


def test_texts_embedded_first_and_judged_later_have_the_same_logits(toy_grid, toy_data):
    head = opened(toy_grid, "none-sts-bi-frozen-interaction-42")
    pairs = [pair.texts for pair in read_task(toy_data, "sts").dev]
    first, second = (head.embed([(text,) for text in side]) for side in zip(*pairs, strict=True))
    np.testing.assert_allclose(head.judge([first, second]), head.logits(pairs), atol=1e-5)
    # Embeddings are the encoder's own.
    encoded = head.encoder.encode_quietly([a for a, _ in pairs])
    assert paired_cosine_distances(first, encoded).max() < 1e-6


def test_a_damaged_config_beside_a_head_is_named_in_one_line(toy_grid, tmp_path):
    (tmp_path / "heads").mkdir()
    shutil.copy(toy_grid / "heads" / f"{NAME}.safetensors", tmp_path / "heads")
    shutil.copytree(toy_grid / "backbones" / "none", tmp_path / "backbones" / "none")
    shutil.copy(toy_grid / "config.json", tmp_path)
    assert opened(tmp_path, NAME).reader == "cross"
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(CheckpointError, match="not a run's config") as caught:
        opened(tmp_path, NAME)
    assert "\n" not in str(caught.value)


def test_the_same_command_again_reuses_everything(start, toy_grid, monkeypatch, capsys):
    before = results(toy_grid)
    monkeypatch.setattr(SentenceEncoder, "embed", None)  # calling it would fail
    assert start(toy_grid, *GRID) == 0
    assert results(toy_grid) == before
    assert capsys.readouterr().out.count("done earlier") == len(before)


def test_a_lost_cell_and_a_deleted_head_are_made_again_the_same(start, toy_grid):
    before = cells_of(toy_grid)
    head = toy_grid / "heads" / "sup-sts-bi-frozen-interaction-42.safetensors"
    tensors = load_file(head)
    head.unlink()
    (toy_grid / "results.json").write_text(json.dumps(results(toy_grid)[1:]))
    assert start(toy_grid, *GRID) == 0
    again = load_file(head)
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())
    assert [numbers(cell) for cell in cells_of(toy_grid)] == [numbers(cell) for cell in before]
