"""Joint training under two processes: what one process does, without dropout."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from pupils import FULL, pupils
from ranks import on_two_ranks

from heads.joint.config import JointConfig
from heads.joint.fitting import fit_joint
from minbert.encoder import SentenceEncoder

# Slowly: Adam makes large steps of gradients that differ in their last digits only.
SETTINGS = replace(
    FULL, tune="joint", dropout=0.0, backbone_dropout=0.0, backbone_learning_rate=1e-5
)


def jointly(checkpoint, data, config):
    """Return by task the dev predictions, and the weights of its head."""
    encoder = SentenceEncoder.from_pretrained(str(checkpoint), device="cpu", precision="float32")
    learners = {
        task: replace(pupil, config=SETTINGS)
        for task, pupil in pupils(data, "sst", "sts", "para").items()
    }
    fitted = fit_joint(encoder, learners, config)
    heads = {task: torch.cat([p.detach().ravel() for p in found.head.parameters()])
             for task, found in fitted.items()}  # fmt: skip
    return {task: (found.predictions["dev"], heads[task]) for task, found in fitted.items()}


@pytest.mark.parametrize(
    "config",
    [JointConfig("round-robin", ("pcgrad",)), JointConfig("sequential", ("recall", "replay"))],
    ids=["pcgrad", "recall"],
)
def test_two_ranks_train_jointly_as_one_does(config, tiny_checkpoint, toy_data, tmp_path):
    wanted = jointly(tiny_checkpoint, toy_data, config)
    for found in on_two_ranks(jointly, tmp_path, tiny_checkpoint, toy_data, config):
        for task, (predictions, head) in found.items():
            np.testing.assert_allclose(predictions, wanted[task][0], atol=1e-4)
            # 4e-6 by the order of sums; 1e-3 if a head's gradient is summed twice.
            assert torch.dist(head, wanted[task][1]) < 1e-4 * wanted[task][1].norm()
