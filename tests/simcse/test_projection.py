"""The MLP over [CLS]: where it is trained, where it stays, and where there is none."""

import numpy as np
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


def test_without_an_mlp_cls_goes_into_the_loss_as_it_is(tiny_encoder):
    projection = attach_projection(tiny_encoder, SimCSEConfig(pooling="cls", mlp="never"))
    assert isinstance(projection, torch.nn.Identity)
    assert tiny_encoder.pooling == "cls_before_pooler"


def test_a_backbone_that_states_no_average_is_tuned_by_the_mlp_over_cls(tiny_encoder):
    for stated in (None, "cls_before_pooler"):
        tiny_encoder.stated_pooling = stated
        assert not isinstance(attach_projection(tiny_encoder, UNSUP), torch.nn.Identity)
        assert tiny_encoder.pooling == "cls_before_pooler"
        before = tiny_encoder.model.pooler.dense.weight.clone()
        assert isinstance(attach_projection(tiny_encoder, SimCSEConfig()), torch.nn.Identity)
        assert tiny_encoder.pooling == "cls"  # a fresh pooler, which stays
        assert not torch.equal(tiny_encoder.model.pooler.dense.weight, before)


def test_a_stated_average_is_kept_and_a_flag_overrides_it(tiny_encoder):
    tiny_encoder.stated_pooling = "avg"
    for config in (UNSUP, SimCSEConfig()):
        assert isinstance(attach_projection(tiny_encoder, config), torch.nn.Identity)
        assert tiny_encoder.pooling == "avg"
    attach_projection(tiny_encoder, SimCSEConfig(pooling="cls"))
    assert tiny_encoder.pooling == "cls"
