"""Products of training in bfloat16: the exact numbers up to rounding, on rows that recur."""

import pytest
import torch
from conftest import toy_sentences

from minbert.fast.linear import Linear
from minbert.fast.products import ROWS, product, trains_in_bfloat16

needs_bfloat16 = pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()),
    reason="no bfloat16 in oneDNN here",
)


@needs_bfloat16
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_value_and_gradients_are_the_exact_ones_rounded(dtype, bias):
    torch.manual_seed(0)
    # Numbers that bfloat16 holds, so that only sums and results are rounded.
    x, weight, b = (torch.randn(*shape).bfloat16() for shape in ((30, 64), (48, 64), (48,)))
    d_y = torch.randn(30, 48).bfloat16()
    own = [x.to(dtype), weight.float(), b.float()][: 3 if bias else 2]
    exact = [tensor.double() for tensor in own]
    for tensor in [*own, *exact]:
        tensor.requires_grad_()
    found = product(*own, *([] if bias else [None]))
    assert found.dtype == torch.bfloat16
    expected = torch.nn.functional.linear(*exact)
    torch.testing.assert_close(found.double(), expected, rtol=2**-8, atol=1e-3)
    found.backward(d_y)
    expected.backward(d_y.double())
    for mine, theirs in zip(own, exact, strict=True):
        assert mine.grad.dtype == mine.dtype and mine.grad.stride() == mine.stride()
        torch.testing.assert_close(mine.grad.double(), theirs.grad, rtol=2**-7, atol=1e-2)


@needs_bfloat16
def test_frozen_factors_get_no_gradient():
    x, weight = torch.randn(8, 16), torch.randn(4, 16, requires_grad=True)
    product(x, weight, None).sum().backward()
    assert weight.grad is not None and x.grad is None


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
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
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
def test_passes_with_and_without_gradient_draw_the_same_dropout(tiny_encoder):
    """Gradient caching embeds a chunk twice, and takes the second pass for the first."""
    model = tiny_encoder.model.train()
    batch = tiny_encoder.tokenize(toy_sentences(9)).pack(range(9))
    found = []
    for with_gradient in (False, True):
        torch.manual_seed(1)
        with torch.set_grad_enabled(with_gradient), torch.autocast("cpu", torch.bfloat16):
            found.append(model.packed(batch).last_hidden_state.detach())
    assert torch.equal(*found)


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
@pytest.mark.parametrize("shape", [(0, 16), (2, 3, 16), (16,)])
def test_other_shapes_than_a_batch_of_rows_train_as_in_the_plain_layer(shape):
    layer = Linear(16, 4).train()
    x = torch.randn(shape, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(x)
    y.sum().backward()
    assert y.shape == (*shape[:-1], 4) and x.grad.shape == shape
