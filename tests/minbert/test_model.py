"""The encoder of every family, plain and fast, padded and packed, against transformers."""

import numpy as np
import pytest
import torch
from families import NO_DROPOUT, checkpoint, reference_config, reference_model, transformers
from safetensors.torch import load_file, save_file

from minbert.config import BertConfig
from minbert.fast.switch import accelerate
from minbert.folder import CheckpointFolder
from minbert.mlm import BertForMaskedLM
from minbert.model import BertModel
from minbert.packing import TokenSequences, pack_padded

FAMILIES = pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "bert"])
# As a model stands in minbert.model, and as SentenceEncoder makes it compute.
FORMS = pytest.mark.parametrize("form", [lambda model: model, accelerate], ids=["plain", "fast"])
LENGTHS = [1, 2, 3, 7, 7, 12, 12, 40, 66]


def both(family: str, form=lambda model: model, **more):
    """Return transformers' model and ours with its weights."""
    reference = reference_model(reference_config(family, 97, **more))
    sizes = {name: getattr(reference.config, name) for name in BertConfig.__dataclass_fields__}
    own = BertModel(BertConfig(**sizes))
    own.load_state_dict(reference.state_dict(), strict=True)
    return reference, form(own.eval())


def padded(lengths: list[int], pad: int, left: bool = False):
    """Return random ids without padding's inside, padded to the right or left, and the mask."""
    torch.manual_seed(sum(lengths))
    width = max(lengths)
    input_ids = torch.randint(5, 97, (len(lengths), width))
    columns = torch.arange(width).expand_as(input_ids)
    columns = columns.flip(1) if left else columns
    mask = (columns < torch.tensor(lengths)[:, None]).long()
    return input_ids.where(mask.bool(), torch.tensor(pad)), mask


def assert_equal_states(reference, own, input_ids, mask, types=None):
    given = {} if types is None else {"token_type_ids": types}
    with torch.no_grad():
        expected = reference(input_ids, attention_mask=mask, output_hidden_states=True, **given)
        found = own(input_ids, mask, types, output_hidden_states=True)
    real = mask.bool()
    assert len(found.hidden_states) == len(expected.hidden_states)
    for mine, theirs in zip(found.hidden_states, expected.hidden_states, strict=True):
        torch.testing.assert_close(mine[real], theirs[real], atol=1e-4, rtol=0)
    assert torch.equal(found.last_hidden_state, found.hidden_states[-1])
    assert not found.last_hidden_state[~real].any()
    return found, expected


def assert_equal_outputs(reference, own, input_ids, mask, types=None):
    found, expected = assert_equal_states(reference, own, input_ids, mask, types)
    torch.testing.assert_close(found.pooler_output, expected.pooler_output, atol=1e-4, rtol=0)


@FORMS
@FAMILIES
def test_every_hidden_state_of_a_ragged_batch_equals_transformers(family, form):
    reference, own = both(family, form)
    assert_equal_outputs(reference, own, *padded(LENGTHS, own.config.pad_token_id))


@FORMS
@pytest.mark.parametrize("lengths", [[1], LENGTHS[::-1]])
def test_pairs_equal_transformers(lengths, form):
    reference, own = both("bert", form)
    input_ids, mask = padded(lengths, 0)
    columns, half = torch.arange(max(lengths)), torch.tensor(lengths)[:, None] // 2
    assert_equal_outputs(reference, own, input_ids, mask, (columns >= half) * mask)


@FAMILIES
def test_packed_sequences_have_the_positions_of_padded_ones(family):
    reference, own = both(family)
    input_ids, mask = padded(LENGTHS, own.config.pad_token_id)
    lengths = np.array(LENGTHS)
    ids = np.concatenate([row[:n].numpy() for row, n in zip(input_ids, LENGTHS, strict=True)])
    offsets = np.concatenate([[0], lengths.cumsum()])
    rows = np.random.default_rng(0).permutation(len(LENGTHS))
    batch = TokenSequences(ids.astype(np.uint16), offsets, lengths.astype(np.int32)).pack(rows)
    with torch.no_grad():
        found = own.packed(batch).last_hidden_state
        expected = reference(input_ids[rows], attention_mask=mask[rows]).last_hidden_state
    torch.testing.assert_close(found, expected[mask[rows].bool()], atol=1e-4, rtol=0)


@FORMS
@pytest.mark.parametrize(("family", "types"), [("bert", 2), ("roberta", 1)])
def test_every_gradient_equals_transformers(family, types, form):
    reference, own = both(family, form, type_vocab_size=types)
    input_ids, mask = padded(LENGTHS, own.config.pad_token_id)
    token_types = (torch.arange(66).expand_as(mask) > 4) * mask if types == 2 else None
    given = {} if token_types is None else {"token_type_ids": token_types}
    real = mask.bool()
    weights = torch.randn(int(real.sum()), 32)
    for model in (reference, own):
        output = model(input_ids, attention_mask=mask, **given)
        loss = (output.last_hidden_state[real] * weights).sum() + output.pooler_output.pow(2).sum()
        loss.backward()
    expected = dict(reference.named_parameters())
    assert expected.keys() == dict(own.named_parameters()).keys()
    for name, parameter in own.named_parameters():
        theirs = expected[name].grad
        assert theirs.abs().max() > 0, name
        difference = (parameter.grad - theirs).abs().max() / theirs.abs().max()
        # A key bias shifts all scores of a query alike: its true gradient is 0, ours is rounding.
        assert difference < 1e-4 or theirs.abs().max() < 1e-3, (name, difference)


@FORMS
@FAMILIES
def test_padding_anywhere_is_placed_as_in_transformers(family, form):
    reference, own = both(family, form)
    pad = own.config.pad_token_id
    assert_equal_states(reference, own, *padded(LENGTHS, pad, left=True))
    # Padding among the real tokens: written out in a text, or hidden by the mask.
    input_ids, mask = padded([9, 5], pad)
    input_ids[0, [0, 3, 4]] = pad
    input_ids[1, 2] = pad
    assert_equal_states(reference, own, input_ids, mask)
    mask[0, [1, 3, 6]] = 0
    assert_equal_states(reference, own, input_ids, mask)


def test_padding_written_out_is_placed_alike_in_packed_sequences():
    reference, own = both("roberta")
    ids = np.array([0, 1, 7, 1, 8, 2, 0, 9, 1, 2], np.uint16)  # 1 is padding's id
    sequences = TokenSequences(ids, np.array([0, 6, 10]), np.array([6, 4], np.int32))
    with torch.no_grad():
        found = own.packed(sequences.pack([1, 0])).last_hidden_state.split([4, 6])
        for mine, start, end in ((found[1], 0, 6), (found[0], 6, 10)):
            row = torch.tensor(ids[None, start:end].astype(np.int64))
            expected = reference(row, attention_mask=torch.ones_like(row)).last_hidden_state[0]
            torch.testing.assert_close(mine, expected, atol=1e-4, rtol=0)


@FORMS
def test_training_mode_gives_two_views_and_evaluation_mode_one(form):
    rates = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
    _, model = both("bert", form, **rates)
    input_ids = torch.randint(1, 90, (2, 9))
    model.train()
    assert not torch.equal(model(input_ids)[0], model(input_ids)[0])
    # The two copies inside one batch differ as well: SimCSE's unsupervised views.
    twice = model(input_ids[[0, 0]]).last_hidden_state
    assert not torch.equal(twice[0], twice[1])
    model.eval()
    assert torch.equal(model(input_ids)[0], model(input_ids)[0])


@pytest.mark.parametrize(("family", "first"), [("bert", 0), ("roberta", 2)])
def test_the_positions_after_the_first_are_the_longest_text(family, first):
    config = BertConfig(
        model_type=family,
        pad_token_id=1,
        vocab_size=97,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=512 + first,
    )
    model = BertModel(config)
    assert (config.first_position, config.num_positions) == (first, 512)
    assert model(torch.full((1, 512), 7)).last_hidden_state.shape == (1, 512, 16)
    with pytest.raises(ValueError, match=r"513 tokens exceeds.*512 positions"):
        model(torch.full((1, 513), 7))


def test_new_models_have_bert_initial_weights():
    torch.manual_seed(0)
    model = BertModel(BertConfig(num_hidden_layers=1))
    assert model.embeddings.word_embeddings.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert not model.embeddings.word_embeddings.weight[0].any()  # [PAD]
    assert not model.encoder.layer[0].output.dense.bias.any()


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
@pytest.mark.parametrize("kind", ["AutoModel", "AutoModelForMaskedLM"])
def test_checkpoints_load_with_and_without_head_prefix_and_pooler(family, kind, tmp_path, caplog):
    folder = checkpoint(tmp_path, family, kind)
    reference = getattr(transformers, kind).from_pretrained(folder).eval()
    encoder = reference if kind == "AutoModel" else reference.base_model
    own = BertModel.from_pretrained(str(folder))
    assert (own.pooler is None) == (kind != "AutoModel")
    assert own.config.model_type == family
    assert not [record for record in caplog.records if "ignored" in record.message]
    assert_equal_states(encoder, own, *padded([9, 30, 4], own.config.pad_token_id))


@FAMILIES
def test_masked_logits_and_their_gradients_equal_transformers(family, tmp_path):
    folder = checkpoint(tmp_path, family, "AutoModelForMaskedLM")
    reference = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    own = BertForMaskedLM.from_pretrained(str(folder), **NO_DROPOUT)
    input_ids, mask = padded(LENGTHS, own.bert.config.pad_token_id)
    batch, real = pack_padded(input_ids, mask, None, own.bert.config.pad_token_id)
    labels = torch.where(torch.rand(len(batch.input_ids)) < 0.4, batch.input_ids, -100)
    padded_labels = torch.full_like(input_ids, -100).masked_scatter(real, labels)
    expected = reference(input_ids, attention_mask=mask, labels=padded_labels)
    found = own(batch, torch.arange(len(labels)))
    torch.testing.assert_close(found, expected.logits[real], atol=1e-4, rtol=0)
    loss = own.loss(batch, labels)
    assert loss.item() == pytest.approx(expected.loss.item(), abs=1e-5)
    loss.backward(), expected.loss.backward()
    theirs = reference.get_input_embeddings().weight.grad
    mine = own.bert.embeddings.word_embeddings.weight.grad
    torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)


def test_old_names_of_a_roberta_checkpoint_are_understood(tmp_path):
    folder = checkpoint(tmp_path, "roberta", "AutoModelForMaskedLM")
    tensors = load_file(folder / "model.safetensors")
    expected = BertForMaskedLM.from_pretrained(str(folder)).state_dict()
    tensors["lm_head.decoder.bias"] = tensors.pop("lm_head.bias")
    tensors["roberta.embeddings.position_ids"] = torch.arange(68)[None]
    save_file(tensors, folder / "model.safetensors")
    found = BertForMaskedLM.from_pretrained(str(folder)).state_dict()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())


def test_a_robertas_configuration_has_its_defaults_and_a_position(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "roberta"}')
    config, reference = CheckpointFolder(tmp_path).bert_config, transformers.RobertaConfig()
    named = [name for name in BertConfig.__dataclass_fields__ if name != "model_type"]
    assert {n: getattr(config, n) for n in named} == {n: getattr(reference, n) for n in named}
