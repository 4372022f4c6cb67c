"""Puts the fast forms into a model.

A fast form is a subclass of the plain one without parameters of its own. Giving a module that class
changes how it computes and nothing else: parameters, names and references stay the same.
"""

from typing import TypeVar

from torch import nn

from minbert.fast.attention import SelfAttention
from minbert.fast.dropout import Dropout
from minbert.fast.linear import Intermediate, Linear, Residual
from minbert.fast.products import Encoder
from minbert.model import BertEncoder, BertIntermediate, BertResidual, BertSelfAttention

Model = TypeVar("Model", bound=nn.Module)

FORMS: dict[type[nn.Module], type[nn.Module]] = {
    nn.Linear: Linear,
    nn.Dropout: Dropout,
    BertEncoder: Encoder,
    BertIntermediate: Intermediate,
    BertResidual: Residual,
    BertSelfAttention: SelfAttention,
}


def accelerate(model: Model) -> Model:
    """Switch a model and all its parts to their fast forms, in place; return it."""
    for module in model.modules():
        module.__class__ = FORMS.get(type(module), type(module))
    return model
