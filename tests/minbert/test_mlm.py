"""Masked-language modelling: masks as BERT's, logits and loss as transformers'."""

import pytest
import torch

from minbert.config import BertConfig, CheckpointError
from minbert.mlm import BertForMaskedLM, mask_tokens, masked_loss
from minbert.model import BertModel
from minbert.packing import pack_padded

TINY = {
    "vocab_size": 97,
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "intermediate_size": 80,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
LENGTHS = [1, 2, 3, 7, 7, 12, 12, 12, 40]


@pytest.fixture
def reference():
    """transformers' model with its head."""
    transformers = pytest.importorskip("transformers", reason="transformers is the reference")
    torch.manual_seed(0)
    model = transformers.BertForMaskedLM(transformers.BertConfig(**TINY)).eval()
    torch.nn.init.normal_(model.cls.predictions.bias)
    return model


def test_logits_and_loss_equal_transformers(reference, tmp_path):
    reference.save_pretrained(tmp_path)
    own = BertForMaskedLM.from_pretrained(str(tmp_path))
    input_ids = torch.randint(1, TINY["vocab_size"], (len(LENGTHS), max(LENGTHS)))
    mask = (torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]).long()
    batch, real = pack_padded(input_ids, mask)
    with torch.no_grad():
        expected = reference(input_ids, attention_mask=mask).logits[real]
        found = own(batch, torch.arange(len(batch.input_ids)))
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
        labels = torch.where(torch.rand(len(batch.input_ids)) < 0.3, batch.input_ids, -100)
        padded_labels = torch.full_like(input_ids, -100).masked_scatter(real, labels)
        loss = reference(input_ids, attention_mask=mask, labels=padded_labels).loss
        assert own.loss(batch, labels).item() == pytest.approx(loss.item(), abs=1e-5)


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
    batch, _ = pack_padded(torch.randint(1, 90, (2, 5)))
    loss = model.loss(batch, torch.full((10,), -100))
    loss.backward()
    assert loss.item() == 0.0
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_the_loss_is_the_mean_cross_entropy_in_float32():
    logits, labels = torch.randn(7, 11).bfloat16(), torch.randint(11, (7,))
    expected = -logits.double().log_softmax(dim=-1)[torch.arange(7), labels].mean()
    assert masked_loss(logits, labels).item() == pytest.approx(expected.item(), rel=1e-6)


def test_a_head_is_taken_from_the_checkpoint_or_starts_fresh(reference, tmp_path, caplog):
    reference.save_pretrained(tmp_path)
    bert = BertModel.from_pretrained(str(tmp_path))
    taken = BertForMaskedLM.around(bert, tmp_path)
    assert taken.bert is bert
    assert torch.equal(taken.head.bias, reference.cls.predictions.bias)
    assert not BertForMaskedLM.around(bert, None).head.bias.any()
    assert "starts untrained" in caplog.text


def test_a_checkpoint_without_a_head_is_refused_where_one_is_needed(tiny_checkpoint):
    with pytest.raises(CheckpointError, match="is missing"):
        BertForMaskedLM.from_pretrained(str(tiny_checkpoint))


def test_a_sequence_longer_than_the_positions_is_refused():
    model = BertForMaskedLM(BertModel(BertConfig(**TINY, max_position_embeddings=8)))
    batch, _ = pack_padded(torch.ones(1, 9, dtype=torch.long))
    with pytest.raises(ValueError, match=r"9 tokens exceeds.*8 positions"):
        model(batch, torch.tensor([0]))
