"""Training in bfloat16, and where [CLS] alone is read: the exact numbers up to rounding."""

import pytest
import torch
from conftest import needs_bfloat16, toy_sentences

from minbert.fast.dropout import set_dropout
from minbert.fast.linear import Linear
from minbert.fast.products import ROWS, trains_in_bfloat16
from minbert.pooling import pool


@needs_bfloat16
def test_layers_see_numbers_of_rows_that_recur_and_nobody_else_does(tiny_encoder):
    seen = []
    layer = tiny_encoder.model.encoder.layer[1]
    layer.register_forward_hook(lambda _, inputs, output: seen.append(len(inputs[0])))
    model = tiny_encoder.model.train()
    sequences = tiny_encoder.tokenize(toy_sentences(20))
    for rows in (range(9), range(3, 20), [4]):
        batch = sequences.pack(rows)
        tokens = len(batch.input_ids)
        with torch.autocast("cpu", torch.bfloat16):
            states = model.packed(batch).hidden_states
            model.eval().packed(batch)
        model.train().packed(batch)
        assert {len(state) for state in states} == {tokens}
        assert seen[-3:] == [-(-tokens // ROWS) * ROWS, tokens, tokens]


@needs_bfloat16
def test_the_rows_added_leave_no_trace(tiny_encoder):
    """The same sequences in batches of other sizes have the same states and gradients."""
    model = tiny_encoder.model.train()
    set_dropout(model, 0.0)
    sequences = tiny_encoder.tokenize(toy_sentences(30))
    found = []
    for rows in ([0, 1, 2], [0, 1, 2, *range(5, 30)]):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            states = model.packed(sequences.pack(rows)).last_hidden_state
        own = states[: sequences.lengths[:3].sum()]
        own.square().mean().backward()
        found.append([own.detach(), *(p.grad for p in model.encoder.parameters())])
    for one, other in zip(*found, strict=True):
        bound = 0.02 * other.abs().max().item() + 1e-5
        torch.testing.assert_close(one, other, rtol=0, atol=bound)


@needs_bfloat16
def test_only_training_under_autocast_counts():
    module, x = torch.nn.Identity().train(), torch.zeros(2)
    assert not trains_in_bfloat16(module, x)
    with torch.autocast("cpu", torch.bfloat16):
        assert trains_in_bfloat16(module, x)
        assert not trains_in_bfloat16(module.eval(), x)
    with torch.autocast("cpu", torch.float16):
        assert not trains_in_bfloat16(module.train(), x)


@needs_bfloat16
@pytest.mark.parametrize("shape", [(0, 16), (2, 3, 16)])
def test_other_shapes_than_a_batch_of_rows_train_as_in_the_plain_layer(shape):
    layer = Linear(16, 4).train()
    x = torch.randn(shape, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(x)
    y.sum().backward()
    assert y.shape == (*shape[:-1], 4) and x.grad.shape == shape


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


@pytest.mark.parametrize("pooling", ["cls", "cls_before_pooler"])
def test_encoding_in_float32_ends_at_cls_with_the_same_embeddings(pooling, tiny_encoder):
    tiny_encoder.pool_by(pooling)
    layers = tiny_encoder.model.encoder.layer
    texts = toy_sentences(40)
    batch = tiny_encoder.tokenize(texts).pack(range(40))
    with torch.inference_mode():
        rows = rows_of(layers, tiny_encoder, batch)
        expected = whole_pass(tiny_encoder, batch)
        torch.testing.assert_close(tiny_encoder.embed(batch), expected, rtol=1e-5, atol=1e-6)
    assert rows == [*[len(batch.input_ids)] * (len(layers) - 1), 40]
    with torch.inference_mode(), pytest.raises(ValueError, match="positions"):
        length = tiny_encoder.model.config.num_positions + 1
        tiny_encoder.embed(tiny_encoder.tokenizer(["a " * length], max_length=length).pack([0]))
    tiny_encoder.model.train()
    assert rows_of(layers, tiny_encoder, batch)[-1] == len(batch.input_ids)


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
