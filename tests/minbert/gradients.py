"""The comparison of two models' gradients that several test files here share."""

from torch import nn


def assert_equal_gradients(reference: nn.Module, own: nn.Module, rounding: float) -> None:
    """Compare the gradients of all parameters, by name.

    Args:
        reference, own: two models after a backward pass.
        rounding: gradients that are nowhere larger than this may differ.
    """
    expected = dict(reference.named_parameters())
    assert expected.keys() == dict(own.named_parameters()).keys()
    for name, parameter in own.named_parameters():
        theirs = expected[name].grad
        assert theirs.abs().max() > 0, name
        difference = (parameter.grad - theirs).abs().max() / theirs.abs().max()
        # A key bias shifts all scores of a query alike: its true gradient is 0, ours is rounding.
        assert difference < 1e-4 or theirs.abs().max() < rounding, (name, difference)
