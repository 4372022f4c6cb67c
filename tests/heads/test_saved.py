"""A saved head, opened again, gives the logits that it gave when it was trained."""

import json
from pathlib import Path

import pytest
import torch
from pairings import examples, zero
from safetensors.torch import save_file

from data.tasks import Splits
from heads.config import HeadConfig
from heads.saved import (
    find_cell,
    finished_cells,
    load_head,
    read_head,
    run_options,
    save_head,
)
from heads.train import HeadTask, fit_heads
from minbert.config import CheckpointError
from runtime.errors import UserError


@pytest.mark.parametrize(
    ("task", "reader", "tune", "features"),
    [
        ("sst", "bi", "frozen", "concat"),
        ("sts", "bi", "full", "interaction"),
        ("para", "bi", "frozen", "interaction"),
        ("para", "cross", "full", "concat"),
        ("sts", "cross", "frozen", "interaction"),
        ("sts", "cross", "frozen", "cls"),
        ("para", "late", "frozen", "interaction"),
        ("sts", "late", "full", "interaction"),
    ],
)
def test_an_opened_head_predicts_as_the_fitted_one(
    task, reader, tune, features, tiny_encoder, tmp_path, monkeypatch
):
    config = HeadConfig(tune=tune, features=features, num_epochs=2, backbone_learning_rate=1e-3)
    splits = Splits(train=examples(task, 12), dev=examples(task, 9), test=[])
    head_task = HeadTask(task, reader, config, splits, zero)
    (fitted,) = fit_heads(tiny_encoder, [head_task], tmp_path)
    name = "named-by-the-user"
    folder = "backbones/sup-42" if tune == "frozen" else f"models/{name}"
    tiny_encoder.save(tmp_path / folder)
    path = tmp_path / "heads" / f"{name}.safetensors"
    save_head(fitted.head, path, head_task, key="key", stage="sup")
    found, *more = read_head(path)
    assert (found.name, *more) == (task, reader, config)
    monkeypatch.chdir(path.parent)
    opened = load_head(Path(path.name), "cpu", "float32")
    assert not opened.head.training
    texts = [example.texts for example in splits.dev]
    assert opened.logits(texts) == pytest.approx(fitted.logits["dev"], abs=1e-5)
    # One text, and what pandas has for a missing one.
    missing = [tuple(float("nan") for _ in texts[0])]
    for wrong, told in (
        ("a cat", "give a list"),
        ([None], "example 0"),
        (missing, "nan, which is"),
    ):
        with pytest.raises(UserError, match=told):
            opened.predict(wrong)


def test_what_no_run_saved_is_refused(tmp_path, tiny_checkpoint):
    foreign = tmp_path / "h.safetensors"
    save_file({"x": torch.zeros(1)}, foreign)
    for path in (foreign, tmp_path / "absent.safetensors", tiny_checkpoint / "model.safetensors"):
        with pytest.raises(CheckpointError, match="not a head that a run saved"):
            read_head(path)
    about = {"task": "sst", "reader": "bi", "pretrain": "sup", "config": "{}"}
    for name, value in ("task", "sudoku"), ("reader", "tri"), ("config", "[]"):
        save_file({"x": torch.zeros(1)}, foreign, about | {name: value})
        with pytest.raises(CheckpointError, match="not a head that a run saved"):
            read_head(foreign)
    about["encoder"] = about.pop("reader")  # as up to 1.1
    save_file({"x": torch.zeros(1)}, foreign, about)
    assert read_head(foreign)[1] == "bi"
    (tmp_path / "config.json").write_text('{"options": {"encoder": ["bi"]}}')
    assert run_options(tmp_path)["reader"] == ["bi"]
    del about["pretrain"]  # as in 0.14.0
    save_file({"x": torch.zeros(1)}, foreign, about)
    with pytest.raises(CheckpointError, match=r"not a head that a run saved .*pretrain"):
        read_head(foreign)


def test_a_head_of_another_size_or_far_from_its_run_is_refused(tmp_path, tiny_encoder):
    tiny_encoder.save(tmp_path / "backbones" / "sup-1")
    path = tmp_path / "heads" / "sup-sts-cross-1.safetensors"
    path.parent.mkdir()
    about = {"task": "sts", "reader": "cross", "pretrain": "sup"}
    about["config"] = '{"seed": 1, "of a later version": 0}'
    save_file({"x": torch.zeros(1)}, path, about)
    with pytest.raises(CheckpointError, match=r"sup-sts-cross-1\.safetensors: tensor layers"):
        load_head(path, "cpu", "float32")
    with pytest.raises(
        CheckpointError, match=r"missing; it is the encoder of the head h\.safetensors; run"
    ):
        save_file({"x": torch.zeros(1)}, path.parent / "h.safetensors", about | {"pretrain": "ct"})
        load_head(path.parent / "h.safetensors", "cpu", "float32")
    (tmp_path / "config.json").write_text('{"options": {}}')  # as of 1.0: no run goes on in it
    with pytest.raises(CheckpointError, match="train anew with another --run-dir"):
        load_head(path.parent / "h.safetensors", "cpu", "float32")


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        # Most labels, then the score on the part of train: dev scores say the opposite.
        ([(1000, 0.7), (1000, 0.8), (250, 0.9)], ["b", "a", "c"]),
        # A cell that chose nothing has no such score: dev decides.
        ([(1000, 0.7), (1000, None), (250, 0.9)], ["a", "b", "c"]),
    ],
)
def test_the_best_cell_is_not_chosen_by_the_rows_that_are_scored(tmp_path, choices, expected):
    entries = []
    for name, dev, (labels, score) in zip("abc", (0.6, 0.5, 0.4), choices, strict=True):
        choice = {} if score is None else {"choice": {"score": score}}
        entries.append(
            {"task": "sts", "split": "dev", "n": 9, "key": name, "metrics": {"pearson": dev}}
            | {"labels": labels, **choice}
        )
        path = tmp_path / "heads" / f"{name}.safetensors"
        path.parent.mkdir(exist_ok=True)
        save_file({"weight": torch.zeros(1)}, path, {"key": name})
    (tmp_path / "results.json").write_text(json.dumps(entries))
    assert [cell.name for cell in finished_cells(tmp_path)] == expected
    assert find_cell(tmp_path, "sts").name == expected[0]
