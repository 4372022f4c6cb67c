"""The encoder, plain and in its fast forms, against transformers on the same weights."""

import pytest
import torch
from conftest import real_checkpoint
from gradients import assert_equal_gradients

from minbert.config import BertConfig
from minbert.fast.switch import accelerate
from minbert.model import BertModel

transformers = pytest.importorskip("transformers", reason="transformers is the reference")

BASE = {"num_hidden_layers": 12}
TINY = {
    "vocab_size": 97,
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "intermediate_size": 80,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


def reference_and_own(settings: dict, seed: int = 0):
    """Return transformers' model with random weights far from 0 and 1, and ours with the same."""
    torch.manual_seed(seed)
    reference = transformers.BertModel(transformers.BertConfig(**settings))
    for name, parameter in reference.named_parameters():
        if "LayerNorm" in name or name.endswith("bias"):
            torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.1)
    own = BertModel(BertConfig(**settings))
    own.load_state_dict(reference.state_dict(), strict=True)
    return reference.eval(), own.eval()


def padded_batch(lengths: list[int], vocab_size: int, pairs: bool = False):
    """Return random ids of the given lengths, padded, with mask and (for pairs) token types."""
    width = max(lengths)
    torch.manual_seed(len(lengths) + width)
    input_ids = torch.randint(1, vocab_size, (len(lengths), width))
    positions = torch.arange(width).expand_as(input_ids)
    lengths_column = torch.tensor(lengths)[:, None]
    attention_mask = (positions < lengths_column).long()
    token_type_ids = ((positions >= lengths_column // 2) & pairs).long() * attention_mask
    return input_ids * attention_mask, attention_mask, token_type_ids


def assert_equal_outputs(reference, own, batch, atol: float = 1e-4):
    input_ids, attention_mask, token_type_ids = batch
    with torch.no_grad():
        expected = reference(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            output_hidden_states=True,
        )
        found = own(input_ids, attention_mask, token_type_ids, output_hidden_states=True)
    real = attention_mask.bool()
    assert len(found.hidden_states) == len(expected.hidden_states)
    for mine, theirs in zip(found.hidden_states, expected.hidden_states, strict=True):
        torch.testing.assert_close(mine[real], theirs[real], atol=atol, rtol=0)
    last = found.last_hidden_state
    torch.testing.assert_close(last[real], expected.last_hidden_state[real], atol=atol, rtol=0)
    torch.testing.assert_close(found.pooler_output, expected.pooler_output, atol=atol, rtol=0)
    assert not last[~real].any()


MIXED = [1, 2, 3, 7, 7, 12, 12, 12, 40]
# As a model stands in minbert.model, and as SentenceEncoder makes it compute.
FORMS = pytest.mark.parametrize("form", [lambda model: model, accelerate], ids=["plain", "fast"])


@FORMS
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("lengths", [[1], [2], [512], MIXED, MIXED[::-1]])
def test_tiny_model_equals_transformers(lengths, pairs, form):
    reference, own = reference_and_own(TINY)
    assert_equal_outputs(reference, form(own), padded_batch(lengths, TINY["vocab_size"], pairs))


@pytest.mark.parametrize("lengths", [[1, 30, 9], [512]])
def test_bert_base_shape_equals_transformers(lengths):
    reference, own = reference_and_own(BASE)
    assert_equal_outputs(reference, own, padded_batch(lengths, 30522, pairs=True))
    assert_equal_outputs(reference, accelerate(own), padded_batch(lengths, 30522, pairs=True))


@FORMS
@pytest.mark.parametrize("lengths", [MIXED, [512, 1]])
def test_minilm_equals_transformers(lengths, form):
    folder = str(real_checkpoint())
    reference = transformers.BertModel.from_pretrained(folder).eval()
    own = form(BertModel.from_pretrained(folder))
    assert_equal_outputs(reference, own, padded_batch(lengths, 30522, pairs=True))


@FORMS
def test_every_gradient_equals_transformers(form):
    reference, own = reference_and_own(TINY)
    own = form(own)
    batch = padded_batch(MIXED, TINY["vocab_size"], pairs=True)
    real = batch[1].bool()
    weights = torch.randn(real.sum(), TINY["hidden_size"])
    for model in (reference, own):
        output = model(batch[0], attention_mask=batch[1], token_type_ids=batch[2])
        loss = (output.last_hidden_state[real] * weights).sum() + output.pooler_output.pow(2).sum()
        loss.backward()
    assert_equal_gradients(reference, own, rounding=1e-4)


@FORMS
def test_holes_in_the_attention_mask_are_left_out_as_in_transformers(form):
    reference, own = reference_and_own(TINY)
    own = form(own)
    input_ids, _, types = padded_batch([9, 9], TINY["vocab_size"])
    mask = torch.tensor([[1, 1, 0, 1, 0, 0, 1, 1, 0], [0, 0, 1, 1, 1, 1, 1, 0, 1]])
    with torch.no_grad():
        expected = reference(input_ids, attention_mask=mask, token_type_ids=types)
        found = own(input_ids, mask, types)
    real = mask.bool()
    torch.testing.assert_close(
        found.last_hidden_state[real], expected.last_hidden_state[real], atol=1e-4, rtol=0
    )


@FORMS
def test_extra_padding_changes_nothing(form):
    own = form(reference_and_own(TINY)[1])
    input_ids, mask, _ = padded_batch([5, 9], TINY["vocab_size"])
    wide_ids = torch.nn.functional.pad(input_ids, (0, 7))
    wide_mask = torch.nn.functional.pad(mask, (0, 7))
    with torch.no_grad():
        narrow, wide = own(input_ids, mask), own(wide_ids, wide_mask)
    assert torch.equal(narrow.last_hidden_state, wide.last_hidden_state[:, :9])
    assert torch.equal(narrow.pooler_output, wide.pooler_output)


@FORMS
def test_training_mode_gives_two_views_and_evaluation_mode_one(form):
    config = BertConfig(**{**TINY, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1})
    model = form(BertModel(config))
    input_ids = torch.randint(1, 90, (2, 9))
    model.train()
    assert not torch.equal(model(input_ids)[0], model(input_ids)[0])
    # The two copies inside one batch differ as well: SimCSE's unsupervised views.
    twice = model(input_ids[[0, 0]]).last_hidden_state
    assert not torch.equal(twice[0], twice[1])
    model.eval()
    assert torch.equal(model(input_ids)[0], model(input_ids)[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.ones(3, dtype=torch.long),), "batch, length"),
        ((torch.ones(1, 3, dtype=torch.long), torch.ones(1, 4)), "attention_mask"),
        ((torch.ones(1, 3, dtype=torch.long), torch.zeros(1, 3)), "no real token"),
        ((torch.ones(1, 513, dtype=torch.long),), "512 positions"),
    ],
)
def test_impossible_inputs_are_refused_with_both_numbers(arguments, message):
    with pytest.raises(ValueError, match=message):
        BertModel(BertConfig(**TINY))(*arguments)


def test_new_models_have_bert_initial_weights():
    torch.manual_seed(0)
    model = BertModel(BertConfig(num_hidden_layers=1))
    assert model.embeddings.word_embeddings.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert not model.embeddings.word_embeddings.weight[0].any()  # [PAD]
    assert not model.encoder.layer[0].output.dense.bias.any()
