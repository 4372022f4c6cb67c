"""Masked-language modelling: masks as BERT's, the loss, and where the head is from."""

import pytest
import torch
from tiny_sizes import TINY

from minbert.config import BertConfig, CheckpointError
from minbert.mlm import BertForMaskedLM, mask_tokens, masked_loss
from minbert.model import BertModel
from minbert.packing import pack_padded


def test_masking_follows_80_10_10_and_spares_special_tokens():
    torch.manual_seed(0)
    ids = torch.randint(10, 1000, (200, 60))
    ids[:, 0], ids[:, -1] = 2, 3
    batch, _ = pack_padded(ids)
    masked, labels = mask_tokens(batch, (0, 2, 3), mask_id=4, vocab_size=1000, probability=0.15)
    chosen = labels != -100
    assert chosen.float().mean().item() == pytest.approx(0.15 * 58 / 60, abs=0.01)
    assert torch.equal(labels[chosen], batch.input_ids[chosen])
    assert torch.equal(masked.input_ids[~chosen], batch.input_ids[~chosen])
    assert not torch.isin(labels[chosen], torch.tensor([0, 2, 3])).any()
    is_mask = masked.input_ids[chosen] == 4
    same = masked.input_ids[chosen] == batch.input_ids[chosen]
    assert is_mask.float().mean().item() == pytest.approx(0.8, abs=0.03)
    assert same.float().mean().item() == pytest.approx(0.1, abs=0.03)


def test_the_loss_without_a_masked_token_is_zero_and_differentiable():
    model = BertForMaskedLM(BertModel(BertConfig(**TINY)))
    batch, _ = pack_padded(torch.randint(1, 60, (2, 5)))
    loss = model.loss(batch, torch.full((10,), -100))
    loss.backward()
    assert loss.item() == 0.0
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_the_loss_is_the_mean_cross_entropy_in_float32():
    logits, labels = torch.randn(7, 11).bfloat16(), torch.randint(11, (7,))
    expected = -logits.double().log_softmax(dim=-1)[torch.arange(7), labels].mean()
    assert masked_loss(logits, labels).item() == pytest.approx(expected.item(), rel=1e-6)


def test_a_head_is_taken_from_the_checkpoint_or_starts_fresh(tmp_path, tiny_checkpoint, caplog):
    transformers = pytest.importorskip("transformers", reason="transformers is the reference")
    reference = transformers.BertForMaskedLM(transformers.BertConfig(**TINY))
    torch.nn.init.normal_(reference.cls.predictions.bias)
    reference.save_pretrained(tmp_path)
    bert = BertModel.from_pretrained(str(tmp_path))
    taken = BertForMaskedLM.around(bert, tmp_path, required=True)
    assert taken.bert is bert
    assert torch.equal(taken.head.bias, reference.cls.predictions.bias)
    assert not BertForMaskedLM.around(bert, None).head.bias.any()
    assert "starts untrained" in caplog.text
    with pytest.raises(CheckpointError, match="has no masked-language-model head"):
        BertForMaskedLM.around(bert, tiny_checkpoint, required=True)
    with pytest.raises(CheckpointError, match="is missing"):
        BertForMaskedLM.from_pretrained(str(tiny_checkpoint))
