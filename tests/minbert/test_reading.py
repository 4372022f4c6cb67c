"""A reading encoder multiplies by copies of its weights; they are never of other weights."""

import numpy as np
import pytest
import torch
from conftest import needs_bfloat16, toy_sentences

from minbert.config import BertConfig
from minbert.encoder import KEEP_FROM, SentenceEncoder
from minbert.fast.linear import KeptWeights, Linear, keepers
from minbert.model import BertModel
from minbert.packing import TokenSequences

FEW, MANY = toy_sentences(12), toy_sentences(200)  # too few to keep weights for, and enough


@pytest.fixture
def encoder(tiny_checkpoint) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(
        str(tiny_checkpoint), "cls", device="cpu", precision="bfloat16"
    )


def kept(encoder: SentenceEncoder) -> set[bool]:
    """Whether layers have kept weights: {True} all, {False} none, both some."""
    found = keepers(encoder.model)
    assert len(found) == 3 * 4 + 1  # of every layer of the encoder, and the pooler's
    return {keeper.kept is not None for keeper in found}


def fresh(encoder: SentenceEncoder) -> SentenceEncoder:
    """An encoder that never encoded anything, with the weights of this one."""
    model = BertModel(BertConfig(**encoder.model.config.__dict__))
    model.load_state_dict(encoder.model.state_dict())
    return SentenceEncoder(model, encoder.tokenizer, encoder.pooling, "cpu", "bfloat16")


def train_step(encoder):
    """A forward and a backward pass."""
    encoder.embed(encoder.tokenize(FEW).pack(range(12))).square().sum().backward()


@needs_bfloat16
def test_copies_last_from_the_number_of_tokens_on_that_is_worth_it(encoder):
    token = encoder.tokenize(["the cat"]).ids[:1]
    for count, lasting in ((KEEP_FROM - 1, False), (KEEP_FROM, True)):
        sequences = TokenSequences(
            token.repeat(count), np.arange(count + 1), np.ones(count, np.int32)
        )
        with encoder.reading(sequences):
            assert kept(encoder) == {True}
        assert (None not in copies(encoder)) == lasting


@needs_bfloat16
def test_every_layer_has_kept_weights_while_reading_and_none_afterwards(encoder):
    assert kept(encoder) == {False}
    sequences = encoder.tokenize(MANY)
    with pytest.raises(KeyboardInterrupt), encoder.reading(sequences):
        assert kept(encoder) == {True}
        encoder.encode(FEW)  # a block within a block leaves the outer one's copies
        assert kept(encoder) == {True}
        raise KeyboardInterrupt
    assert kept(encoder) == {False} and torch.is_grad_enabled()


@needs_bfloat16
def test_weights_at_odd_places_of_a_storage_are_encoded_with(encoder):
    before = encoder.encode(MANY)
    flat = torch.nn.utils.parameters_to_vector(encoder.model.parameters()).detach()
    shifted = torch.cat([flat[:1], flat])[1:]
    torch.nn.utils.vector_to_parameters(shifted, encoder.model.parameters())
    assert np.array_equal(encoder.encode(MANY), before)


def by_a_fused_optimizer_step(encoder):
    """The one write that leaves no trace in a tensor's version."""
    optimizer = torch.optim.AdamW(encoder.model.parameters(), lr=0.1, fused=True)
    train_step(encoder)
    optimizer.step()


def by_assignment(encoder):
    state = {key: 1.5 * tensor for key, tensor in encoder.model.state_dict().items()}
    encoder.model.load_state_dict(state, assign=True)


def through_numpy(encoder):
    """A write that PyTorch does not even see."""
    weight = encoder.model.encoder.layer[1].output.dense.weight
    weight.detach().numpy()[:] *= 1.5


@needs_bfloat16
@pytest.mark.parametrize("texts", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("write", [by_a_fused_optimizer_step, by_assignment, through_numpy])
def test_embeddings_after_a_write_are_those_of_a_fresh_encoder(write, texts, encoder):
    before = encoder.encode(texts)
    write(encoder)
    after = encoder.encode(texts)
    assert abs(after - before).max() > 0.01
    assert np.array_equal(after, fresh(encoder).encode(texts))


@needs_bfloat16
def test_short_and_long_calls_give_the_same_embeddings(encoder, monkeypatch):
    lasting = encoder.encode(MANY)
    monkeypatch.setattr("minbert.encoder.KEEP_FROM", 10**9)
    assert np.array_equal(encoder.encode(MANY), lasting)  # copies for the moment, not reordered


def test_reading_is_in_evaluation_mode_without_gradients(tiny_encoder):
    tiny_encoder.model.train()
    sequences = tiny_encoder.tokenize(FEW)
    batch = sequences.pack(range(12))
    with tiny_encoder.reading(sequences):
        assert torch.is_inference_mode_enabled() and not tiny_encoder.model.training
        first, second = tiny_encoder.embed(batch), tiny_encoder.embed(batch)
        assert torch.equal(first, second) and not first.requires_grad
    assert not torch.is_inference_mode_enabled()
    assert tiny_encoder.embed(batch).requires_grad


def copies(encoder) -> list:
    """The copies of all layers, in use or spare."""
    return [keeper.spare for keeper in keepers(encoder.model)]


@needs_bfloat16
def test_copies_are_made_once_while_the_weights_stay(encoder):
    encoder.encode(MANY)
    first = copies(encoder)
    encoder.encode(MANY)
    assert None not in first
    assert all(mine is theirs for mine, theirs in zip(first, copies(encoder), strict=True))


@needs_bfloat16
def test_training_and_clones_start_without_copies(encoder):
    encoder.encode(MANY)
    assert set(copies(encoder.clone())) == {None}
    encoder.model.train()
    assert set(copies(encoder)) == {None}
    train_step(encoder)
    assert all(p.grad is not None for p in encoder.model.parameters())


@needs_bfloat16
@pytest.mark.parametrize("columns", [15, 16])
@pytest.mark.parametrize("write", ["two rows", "two columns", "one bit", "bias"])
def test_copies_know_weights_by_every_bit_and_its_place(write, columns):
    layer = Linear(columns, 8)
    kept = KeptWeights(layer)
    assert kept.are_of(layer)
    weight = layer.weight.data
    if write == "two rows":
        weight[[1, 2]] = weight[[2, 1]]
    elif write == "two columns":
        weight[:, [3, 9]] = weight[:, [9, 3]]
    elif write == "one bit":
        weight.view(torch.int32)[5, 5] ^= 1
    else:
        layer.bias.data[0] += 1
    assert not kept.are_of(layer)
