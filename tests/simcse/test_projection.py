"""The MLP over [CLS]: where it is trained, where it stays, and where there is none."""

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from tuning import trainer

from minbert.encoder import SentenceEncoder
from simcse.config import UNSUP, SimCSEConfig
from simcse.objectives import attach_projection


def test_an_mlp_in_training_only_leaves_the_encoder_without_the_mlp(tiny_encoder, tmp_path):
    pooler = tiny_encoder.model.pooler.dense.weight.clone()
    run = trainer(tiny_encoder, SimCSEConfig(pooling="cls", mlp="training", num_epochs=1))
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


@pytest.mark.parametrize(
    ("stated", "config", "pooling", "outside", "fresh"),
    [
        # A backbone that states no average is tuned by the MLP over [CLS].
        (None, UNSUP, "cls_before_pooler", True, False),
        ("cls_before_pooler", UNSUP, "cls_before_pooler", True, False),
        (None, SimCSEConfig(), "cls", False, True),  # which stays
        ("cls_before_pooler", SimCSEConfig(), "cls", False, True),
        (None, SimCSEConfig(pooling="cls", mlp="never"), "cls_before_pooler", False, False),
        # A stated average is kept, and a flag overrides it.
        ("avg", UNSUP, "avg", False, False),
        ("avg", SimCSEConfig(), "avg", False, False),
        ("avg", SimCSEConfig(pooling="cls"), "cls", False, True),
    ],
)
def test_where_there_is_an_mlp(stated, config, pooling, outside, fresh, tiny_encoder):
    tiny_encoder.stated_pooling = stated
    before = tiny_encoder.model.pooler.dense.weight.clone()
    projection = attach_projection(tiny_encoder, config)
    assert tiny_encoder.pooling == pooling
    assert isinstance(projection, torch.nn.Identity) != outside
    assert torch.equal(tiny_encoder.model.pooler.dense.weight, before) != fresh
