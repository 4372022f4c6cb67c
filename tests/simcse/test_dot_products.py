"""SimCSE's loss on dot products, beside PyTorch's cross-entropy written out."""

import math

import pytest
import torch
from tuning import trainer

from baselines.objectives import ALL_OBJECTIVES
from runtime.errors import TrainingError
from simcse.config import SimCSEConfig
from simcse.loss import dot_product_loss, info_nce


def views(count: int) -> list[torch.Tensor]:
    torch.manual_seed(count)
    return [torch.randn(5, 7, requires_grad=True) for _ in range(count)]


@pytest.mark.parametrize("weight", [1.0, 4.0])
@pytest.mark.parametrize("count", [2, 3])
def test_the_loss_is_a_cross_entropy_over_dot_products(count, weight):
    given = views(count)
    loss, accuracy = dot_product_loss(given, math.log(weight))
    terms, right = [], 0
    for i, anchor in enumerate(given[0]):
        products = [torch.dot(anchor, positive) for positive in given[1]]
        total = sum(product.exp() for product in products)
        for j, negative in enumerate(given[2] if count == 3 else ()):
            products.append(torch.dot(anchor, negative))
            total = total + products[-1].exp() * (weight if i == j else 1.0)
        terms.append(-(products[i].exp() / total).log())
        weights = [1.0] * 5 + [weight if i == j else 1.0 for j in range(len(products) - 5)]
        scores = [p + math.log(w) for p, w in zip(products, weights, strict=True)]
        right += max(range(len(scores)), key=scores.__getitem__) == i
    slow = torch.stack(terms).mean()
    torch.testing.assert_close(loss, slow)
    assert accuracy.item() == pytest.approx(right / 5)
    expected = torch.autograd.grad(slow, given)
    for found, wanted in zip(torch.autograd.grad(loss, given), expected, strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("count", [2, 3])
def test_on_vectors_of_unit_length_it_is_the_loss_of_cosines(count):
    unit = [torch.nn.functional.normalize(view, dim=1) for view in views(count)]
    loss, _ = dot_product_loss(unit, math.log(2.0))
    torch.testing.assert_close(
        loss, info_nce(*unit, temperature=1.0, hard_negative_logit=math.log(2.0))
    )


def test_training_compares_by_what_the_settings_say(tiny_encoder):
    given = views(3)
    dot = trainer(tiny_encoder, SimCSEConfig(similarity="dot", temperature=9.0)).form
    loss, accuracy = dot.measure(given, None)
    assert loss == dot_product_loss(given)[0] and accuracy == dot_product_loss(given)[1]
    cosine = trainer(tiny_encoder, SimCSEConfig()).form
    assert cosine.measure(given, None)[0] == info_nce(*given)


def test_where_it_has_no_meaning_it_is_refused(tiny_encoder):
    with pytest.raises(TrainingError, match="--similarity dot is for"):
        trainer(tiny_encoder, SimCSEConfig(similarity="dot", symmetric=True))
    with pytest.raises(TrainingError, match="--similarity dot is for"):
        form = ALL_OBJECTIVES["ct"].form
        trainer(tiny_encoder, SimCSEConfig(similarity="dot", pooling="avg"), form=form)
