"""What we wrote by hand beside the libraries that the project uses."""

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, rankdata, spearmanr
from sklearn.metrics import accuracy_score, f1_score

from assignment.starter import contrastive, metrics
from assignment.starter.adamw import AdamW
from assignment.starter.encoder import SentenceEncoder as PlainEncoder
from minbert.encoder import SentenceEncoder
from simcse.loss import info_nce


@pytest.mark.parametrize(("decay", "eps"), [(0.0, 1e-8), (0.3, 1e-2)])
def test_adamw_takes_the_steps_of_torch(decay, eps):
    torch.manual_seed(1)
    start = torch.randn(4, 3)
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    settings = {"lr": 0.05, "betas": (0.8, 0.95), "eps": eps, "weight_decay": decay}
    pair = [
        (ours, AdamW([ours], **settings)),
        (theirs, torch.optim.AdamW([theirs], **settings)),
    ]
    for _ in range(20):
        gradient = torch.randn(4, 3)
        for parameter, optimizer in pair:
            parameter.grad = gradient.clone()
            optimizer.step()
        torch.testing.assert_close(ours, theirs)
    # What has no gradient stays.
    parameter = torch.nn.Parameter(torch.ones(2))
    AdamW([parameter], weight_decay=0.5).step()
    assert parameter.tolist() == [1, 1]


def test_the_metrics_are_those_of_the_libraries():
    random = np.random.default_rng(0)
    labels, predictions = random.integers(0, 5, 60), random.integers(0, 4, 60)
    predictions[:20] = labels[:20]
    assert metrics.accuracy(predictions, labels) == accuracy_score(labels, predictions)
    expected = f1_score(labels, predictions, average="macro", zero_division=0)
    assert metrics.macro_f1(predictions, labels) == pytest.approx(expected)
    scores = np.round(labels + random.normal(size=60), 1)
    assert metrics.pearson(scores, labels) == pytest.approx(pearsonr(scores, labels)[0])
    assert metrics.ranks(labels).tolist() == rankdata(labels).tolist()
    assert metrics.spearman(scores, labels) == pytest.approx(spearmanr(scores, labels)[0])
    assert metrics.pearson(np.ones(4), np.arange(4)) is None
    assert metrics.spearman(np.arange(4), np.ones(4)) is None


def test_the_loop_takes_sgd_steps_on_the_loss_of_two_views():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Dropout(0.5)).eval()
    batch, before = torch.randn(4, 6), model[0].weight.detach().clone()
    views = contrastive.unsupervised_views(model, batch)
    assert model.training and not torch.equal(*views)
    expected = info_nce(*views, temperature=0.1)
    (gradient,) = torch.autograd.grad(expected, model[0].weight, retain_graph=True)
    loss = contrastive.training_step(torch.optim.SGD(model.parameters(), lr=0.2), views, 0.1)
    assert loss == pytest.approx(expected.item())
    torch.testing.assert_close(model[0].weight.detach(), before - 0.2 * gradient)
    embedded = contrastive.embed_all(model, [batch[:1], batch[1:]])
    torch.testing.assert_close(embedded, model.eval()(batch), check_dtype=True)
    assert not embedded.requires_grad


@pytest.mark.parametrize("pooling", ["avg", "cls_before_pooler"])
def test_the_plain_encoder_embeds_as_ours(tiny_checkpoint, pooling):
    texts = ["the cat sees a dog .", "a wet boat", "the quiet baker likes the train and a river ."]
    plain = PlainEncoder.from_pretrained(str(tiny_checkpoint), pooling)
    ours = SentenceEncoder.from_pretrained(
        str(tiny_checkpoint), pooling, device="cpu", precision="float32"
    )
    with torch.no_grad():
        found = plain(plain.tokenize(texts).pack(range(3)))
        expected = ours.embed(ours.tokenize(texts).pack(range(3)))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
