"""The last layer at [CLS] alone: the embeddings and gradients of the whole last layer."""

import pytest
import torch
from conftest import toy_sentences

from minbert.fast.dropout import set_dropout
from minbert.fast.products import ROWS
from minbert.pooling import pool

needs_bfloat16 = pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()),
    reason="no bfloat16 in oneDNN here",
)


@pytest.fixture
def encoder(tiny_encoder):
    tiny_encoder.dtype = torch.bfloat16
    tiny_encoder.model.train()
    return tiny_encoder


@pytest.fixture
def batch(encoder):
    return encoder.tokenize(toy_sentences(9)).pack(range(9))


def rows_of(layers, encoder, batch) -> list[int]:
    """Return how many rows the wide products of these layers see in one pass."""
    seen: list[int] = []
    hooks = [
        layer.intermediate.register_forward_hook(lambda _, given, out: seen.append(len(given[0])))
        for layer in layers
    ]
    encoder.embed(batch)
    for hook in hooks:
        hook.remove()
    return seen


def whole_pass(encoder, batch):
    with torch.autocast("cpu", encoder.dtype, enabled=encoder.dtype != torch.float32):
        return pool(encoder.model.packed(batch), batch, encoder.pooling)


@needs_bfloat16
@pytest.mark.parametrize("pooling", ["cls", "cls_before_pooler"])
@pytest.mark.parametrize(("dtype", "rounding"), [(torch.bfloat16, 0.02), (torch.float32, 0.06)])
def test_embeddings_and_gradients_are_those_of_all_tokens(dtype, rounding, pooling, encoder, batch):
    set_dropout(encoder.model, 0.0)
    encoder.pool_by(pooling)
    wanted = torch.randn(len(batch), encoder.model.config.hidden_size)
    found = []
    for embed in (type(encoder).embed, whole_pass):
        encoder.model.zero_grad()
        embeddings = embed(encoder, batch)
        (embeddings * wanted).sum().backward()
        gradients = {name: p.grad for name, p in encoder.model.named_parameters()}
        found.append({"embeddings": embeddings.detach(), **gradients})
        # The second pass is the whole one, in bfloat16 too and in float32.
        encoder.dtype = dtype
    for name, other in found[1].items():
        if other is None:
            assert pooling == "cls_before_pooler" and found[0][name] is None, name
            continue
        assert found[0][name].dtype == torch.float32
        # A key bias shifts all scores of a query alike: its true gradient is 0.
        if "key.bias" not in name:
            assert (found[0][name] - other).norm() < rounding * other.norm(), name


@needs_bfloat16
def test_the_last_layer_sees_one_row_per_sequence(encoder, batch):
    layers = encoder.model.encoder.layer
    encoder.pool_by("cls")
    total = -(-len(batch.input_ids) // ROWS) * ROWS
    assert rows_of(layers, encoder, batch) == [*[total] * (len(layers) - 1), len(batch)]


@needs_bfloat16
@pytest.mark.parametrize("case", ["average", "evaluation", "float32"])
def test_whatever_else_reads_all_tokens(case, encoder, batch):
    encoder.pool_by("avg" if case == "average" else "cls")
    encoder.model.train(case != "evaluation")
    encoder.dtype = torch.float32 if case == "float32" else torch.bfloat16
    assert rows_of(encoder.model.encoder.layer, encoder, batch)[-1] >= len(batch.input_ids)


@needs_bfloat16
def test_passes_with_and_without_gradient_draw_the_same_dropout(encoder, batch):
    """Gradient caching takes the second pass for the first."""
    encoder.pool_by("cls")
    set_dropout(encoder.model, 0.3)
    found = []
    for with_gradient in (False, True):
        torch.manual_seed(1)
        with torch.set_grad_enabled(with_gradient):
            found.append(encoder.embed(batch).detach())
    assert torch.equal(*found)


@needs_bfloat16
def test_a_sequence_that_is_too_long_is_refused(encoder):
    encoder.pool_by("cls")
    positions = encoder.model.config.num_positions
    sequences = encoder.tokenizer(["a " * 2 * positions], max_length=positions + 1)
    with pytest.raises(ValueError, match="positions"):
        encoder.embed(sequences.pack([0]))


@needs_bfloat16
def test_a_checkpoint_without_pooler_is_refused_as_before(encoder, batch):
    encoder.pool_by("cls")
    encoder.model.pooler = None
    with pytest.raises(ValueError, match="pooler"):
        encoder.embed(batch)
