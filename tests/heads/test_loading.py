"""A saved head, opened again, gives the logits that it gave when it was trained."""

import pytest
import torch
from pairings import KINDS, examples
from safetensors.torch import save_file

from data.tasks import Splits
from heads.config import HeadConfig
from heads.fitting import fit_head, save_head
from heads.loading import SavedHead
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder


@pytest.mark.parametrize("features", ["interaction", "concat"])
@pytest.mark.parametrize("tune", ["frozen", "full"])
@pytest.mark.parametrize(("task", "kind"), KINDS)
def test_an_opened_head_predicts_as_the_fitted_one(
    task, kind, tune, features, tiny_encoder, tmp_path
):
    config = HeadConfig(tune=tune, features=features, num_epochs=2, backbone_learning_rate=1e-3)
    splits = Splits(train=examples(task, 12), dev=examples(task, 9), test=[])
    fitted = fit_head(tiny_encoder, splits, task, kind, config, lambda p: 0.0, tmp_path)
    tiny_encoder.save(tmp_path / "encoder")
    save_head(fitted.head, tmp_path / "h.safetensors", task, kind, config, "key")
    saved = SavedHead.find(tmp_path / "h.safetensors")
    assert (saved.task.name, saved.kind, saved.config) == (task, kind, config)
    encoder = SentenceEncoder.from_pretrained(
        str(tmp_path / "encoder"), device="cpu", precision="float32"
    )
    opened = saved.on(encoder)
    assert not opened.head.training
    assert opened.logits(splits.dev) == pytest.approx(fitted.logits("dev"), abs=1e-5)


def test_what_no_run_saved_is_refused(tmp_path, tiny_checkpoint):
    foreign = tmp_path / "h.safetensors"
    save_file({"x": torch.zeros(1)}, foreign)
    for path in (foreign, tmp_path / "absent.safetensors", tiny_checkpoint / "model.safetensors"):
        with pytest.raises(CheckpointError, match="not a head that a run saved"):
            SavedHead.find(path)
    about = {"task": "sudoku", "encoder": "bi", "config": "{}"}
    save_file({"x": torch.zeros(1)}, foreign, about)
    with pytest.raises(CheckpointError, match="sudoku"):
        SavedHead.find(foreign)


def test_a_head_of_another_size_is_refused(tmp_path, tiny_encoder):
    save_file({"x": torch.zeros(1)}, tmp_path / "h.safetensors",
              {"task": "sts", "encoder": "cross", "config": "{}"})  # fmt: skip
    with pytest.raises(CheckpointError, match=r"h\.safetensors: tensor layers"):
        SavedHead.find(tmp_path / "h.safetensors").on(tiny_encoder)
