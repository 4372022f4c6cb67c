"""The objectives against slow double loops of the paper's formulas, in float64."""

import math
from functools import partial

import pytest
import torch
from killable import assert_same_gradients
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.util import cos_sim
from tuning import trainer

from baselines.objectives import ALL_OBJECTIVES
from runtime.errors import TrainingError
from simcse.config import SimCSEConfig
from simcse.loss import dot_matrix, in_batch_accuracy, info_nce, nt_xent

B, H, TAU = 5, 7, 0.05


def embeddings(count: int = 3) -> list[torch.Tensor]:
    torch.manual_seed(1)
    return [torch.randn(B, H, dtype=torch.float64, requires_grad=True) for _ in range(count)]


def sim(u, v):
    return (u @ v) / (u.norm() * v.norm())


def repeats(texts, own, partner, candidate) -> bool:
    """Return whether a candidate, (view, row), says what a row or its partner does."""
    if texts is None or candidate == partner:
        return False
    return texts[candidate] in (texts[own], texts[partner])


def slow_info_nce(
    anchors, positives, negatives=None, temperature=TAU, weight=1.0, compare=sim, texts=None
):
    total = 0.0
    for i in range(len(anchors)):
        below = 0.0
        for j in range(len(anchors)):
            if not repeats(texts, (0, i), (1, i), (1, j)):
                below = below + torch.exp(compare(anchors[i], positives[j]) / temperature)
            if negatives is not None and not repeats(texts, (0, i), (1, i), (2, j)):
                term = torch.exp(compare(anchors[i], negatives[j]) / temperature)
                below = below + (weight if i == j else 1.0) * term
        above = torch.exp(compare(anchors[i], positives[i]) / temperature)
        total = total - torch.log(above / below)
    return total / len(anchors)


def slow_nt_xent(anchors, positives, negatives=None, temperature=TAU, weight=1.0, texts=None):
    views, n = torch.cat([anchors, positives]), len(anchors)
    total = 0.0
    for i in range(2 * n):
        both = divmod(i, n), divmod((i + n) % (2 * n), n)
        others = [j for j in range(2 * n) if j != i and not repeats(texts, *both, divmod(j, n))]
        below = sum(torch.exp(sim(views[i], views[j]) / temperature) for j in others)
        if negatives is not None:
            for j in (j for j in range(n) if not repeats(texts, *both, (2, j))):
                own = weight if j == i % n else 1.0
                below = below + own * torch.exp(sim(views[i], negatives[j]) / temperature)
        partner = (i + n) % (2 * n)
        total = total - torch.log(torch.exp(sim(views[i], views[partner]) / temperature) / below)
    return total / (2 * n)


LOSSES = {
    "info_nce": (info_nce, slow_info_nce),
    "dot products": (
        partial(info_nce, similarity=dot_matrix),
        partial(slow_info_nce, compare=torch.dot),
    ),
    "nt_xent": (nt_xent, slow_nt_xent),
}
# Rows 0 and 3 are one example; the positive of 1 is the anchor of 2; the hard negative of 4 is its
# own positive, that of 2 the anchor of 0.
TEXTS = torch.tensor([[0, 1, 2, 0, 4], [5, 2, 7, 5, 9], [10, 11, 0, 13, 9]])


@pytest.mark.parametrize("texts", [None, TEXTS], ids=["as in the paper", "no repeats"])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(("temperature", "weight"), [(0.5, 1.0), (0.05, 3.0)])
@pytest.mark.parametrize("name", LOSSES)
def test_loss_and_gradients_equal_the_formula(name, temperature, weight, count, texts):
    inputs, texts = embeddings(count), None if texts is None else texts[:count]
    fast, slow = LOSSES[name]
    logit = math.log(weight)
    found = fast(*inputs, temperature=temperature, hard_negative_logit=logit, texts=texts)
    expected = slow(*inputs, temperature=temperature, weight=weight, texts=texts)
    assert_same_gradients(found, expected, inputs)


@pytest.mark.parametrize("loss", [info_nce, nt_xent])
def test_where_no_text_is_repeated_the_last_digit_is_that_of_the_paper(loss):
    inputs = embeddings()
    assert torch.equal(loss(*inputs, texts=torch.arange(3 * B).view(3, B)), loss(*inputs))
    own = torch.arange(B).expand(2, -1)  # each sentence as its own positive
    assert torch.equal(loss(*inputs[:2], texts=own), loss(*inputs[:2]))


def test_accuracy_leaves_equal_texts_out_and_counts_hard_negatives():
    anchors = torch.eye(B)
    positives = anchors.clone()
    positives[0] = anchors[3]  # the nearest candidate of row 3 is the equal positive of row 0
    assert in_batch_accuracy([anchors, positives]).item() == pytest.approx(1 - 1 / B)
    assert in_batch_accuracy([anchors, positives], TEXTS[:2]) == 1
    assert in_batch_accuracy([anchors, 2 * anchors, 3 * anchors], similarity=dot_matrix) == 0
    assert in_batch_accuracy([anchors, 2 * anchors, 3 * anchors]) == 1


@pytest.mark.parametrize(
    ("loss", "count", "candidates"),
    [(info_nce, 2, B), (info_nce, 3, 2 * B), (nt_xent, 2, 2 * B - 1), (nt_xent, 3, 3 * B - 1)],
)
def test_equal_similarities_give_the_logarithm_of_the_number_of_candidates(loss, count, candidates):
    same = [torch.ones(B, H)] * count
    assert loss(*same).item() == pytest.approx(math.log(candidates), abs=1e-5)


def test_temperature_is_the_inverse_of_sentence_transformers_scale():
    a, p, n = (x.detach() for x in embeddings())
    loss = MultipleNegativesRankingLoss(model=None, scale=20.0, similarity_fct=cos_sim)
    theirs = loss.compute_loss_from_embeddings([a, p, n], None)
    torch.testing.assert_close(info_nce(a, p, n, temperature=1 / 20.0), theirs)


def test_training_compares_by_what_the_settings_say(tiny_encoder):
    views = embeddings(3)
    dot = trainer(tiny_encoder, SimCSEConfig(similarity="dot", temperature=9.0)).form
    loss = info_nce(*views, temperature=1.0, similarity=dot_matrix)
    assert dot.measure(views, None) == (loss, in_batch_accuracy(views, None, dot_matrix))
    cosine = trainer(tiny_encoder, SimCSEConfig()).form
    assert cosine.measure(views, None) == (info_nce(*views), in_batch_accuracy(views))
    for form, symmetric in (("sup", True), ("ct", False)):
        config = SimCSEConfig(similarity="dot", symmetric=symmetric, pooling="avg")
        with pytest.raises(TrainingError, match="--similarity dot is for"):
            trainer(tiny_encoder, config, form=ALL_OBJECTIVES[form].form)
