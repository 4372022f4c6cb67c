"""Each loss against a slow form of its formula, and where there is one against a library's."""

import math

import pytest
import torch
from sentence_transformers.sentence_transformer.losses import (
    ContrastiveTensionLoss,
    SoftmaxLoss,
)
from toy_objectives import QUICK

from baselines.isbert import MutualInformation, jensen_shannon_loss
from baselines.sbert import SoftmaxOverPair
from baselines.two_encoders import ContrastiveTension, TwoEncoders
from simcse.objectives import contrastive_loss


class Given(torch.nn.Module):
    """A model, to sentence-transformers, whose embeddings are given."""

    device = torch.device("cpu")

    def forward(self, features):
        return {"sentence_embedding": features["vectors"]}


def given(vectors):
    return {"vectors": vectors}


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def test_sberts_loss_is_the_cross_entropy_of_every_pair_by_itself(tiny_encoder):
    form = SoftmaxOverPair(tiny_encoder, QUICK)
    u, v = torch.randn(2, 7, 32)
    labels = torch.tensor([0, 1, 2, 0, 1, 2, 2])
    weight, bias = form.classifier.weight, form.classifier.bias
    losses, right = [], 0
    for i, label in enumerate(labels.tolist()):
        features = [*u[i].tolist(), *v[i].tolist(), *(u[i] - v[i]).abs().tolist()]
        logits = [
            sum(w * f for w, f in zip(weight[c].tolist(), features, strict=True)) + bias[c].item()
            for c in range(3)
        ]
        losses.append(math.log(sum(map(math.exp, logits))) - logits[label])
        right += logits.index(max(logits)) == label
    loss, accuracy = form.measure([u, v], labels)
    assert loss.item() == pytest.approx(sum(losses) / 7, rel=1e-4)
    assert accuracy.item() == pytest.approx(right / 7)


def test_sberts_loss_is_that_of_sentence_transformers(tiny_encoder):
    form = SoftmaxOverPair(tiny_encoder, QUICK)
    library = SoftmaxLoss(Given(), 32, num_labels=3)
    library.classifier.load_state_dict(form.classifier.state_dict())
    u, v = torch.randn(2, 6, 32)
    labels = torch.tensor([2, 1, 0, 0, 1, 2])
    expected = library([given(u), given(v)], labels)
    torch.testing.assert_close(form.measure([u, v], labels)[0], expected)


def test_cts_loss_is_the_sum_over_every_pair_of_every_bag(tiny_encoder):
    form = ContrastiveTension(tiny_encoder, QUICK)
    views = list(torch.randn(9, 4, 5))
    total, right = 0.0, 0
    for bag in range(4):
        for slot in range(8):
            score = float(views[0][bag] @ views[1 + slot][bag])
            total += softplus(-score) if slot == 0 else softplus(score)
            right += (score > 0) == (slot == 0)
    loss, accuracy = form.measure(views, None)
    assert loss.item() == pytest.approx(total, rel=1e-5)
    assert accuracy.item() == pytest.approx(right / 32)


def test_cts_loss_is_that_of_sentence_transformers(tiny_encoder):
    form = ContrastiveTension(tiny_encoder, QUICK)
    views = list(torch.randn(9, 4, 5))
    # There a batch is a list of pairs: each anchor beside every slot of its bag.
    anchors = views[0].repeat_interleave(8, dim=0)
    others = torch.stack(views[1:], dim=1).flatten(0, 1)
    labels = torch.tensor([1, *[0] * 7] * 4)
    expected = ContrastiveTensionLoss(Given())([given(anchors), given(others)], labels)
    torch.testing.assert_close(form.measure(views, None)[0], expected)


def test_a_dual_encoders_loss_is_simcses(tiny_encoder):
    views = list(torch.randn(3, 6, 32))
    loss, _ = TwoEncoders(tiny_encoder, QUICK).measure(views, None)
    assert torch.equal(loss, contrastive_loss(views, QUICK))


def slow_information(features, lengths):
    """Return the loss of IS-BERT by loops over tokens and sentences, from ragged features."""
    sentences = [f[:n].mean(dim=0) for f, n in zip(features, lengths, strict=True)]
    positives, negatives, right = [], [], 0
    for own, (tokens, length) in enumerate(zip(features, lengths, strict=True)):
        for token in tokens[:length]:
            scores = [float(token @ sentence) for sentence in sentences]
            positives.append(softplus(-scores[own]))
            negatives += [softplus(s) for other, s in enumerate(scores) if other != own]
            right += scores.index(max(scores)) == own
    loss = sum(positives) / len(positives) + sum(negatives) / max(1, len(negatives))
    return loss, right / len(positives)


@pytest.mark.parametrize("lengths", [[5, 2, 3, 1], [4, 4], [3]])
def test_isberts_loss_is_the_estimator_token_by_token(lengths):
    features = torch.randn(len(lengths), max(lengths), 6)
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    expected, right = slow_information(features, lengths)
    loss, accuracy = jensen_shannon_loss(features * real[..., None], real)
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert accuracy.item() == pytest.approx(right)


def test_isberts_embeddings_carry_every_token_to_its_loss(tiny_encoder):
    """From texts: convolutions over each sentence by itself, padded to one shape."""
    form = MutualInformation(tiny_encoder, QUICK).eval()
    tiny_encoder.model.eval()
    sequences = tiny_encoder.tokenize(["the cat sees a dog .", "a boat", "the old lamp"])
    batch = sequences.pack([0, 1, 2])
    embeddings = form.embed(batch, False)
    assert embeddings.shape == (3, QUICK.max_length, 33)
    states = tiny_encoder.model.packed(batch).last_hidden_state
    features = []
    for alone in states.split(batch.lengths):
        columns = [F(alone.T[None])[0].T.relu() for F in form.features.convolutions]
        features.append(torch.cat(columns, dim=1))
    expected, _ = slow_information([f.detach() for f in features], batch.lengths)
    assert form.measure([embeddings], None)[0].item() == pytest.approx(expected, rel=1e-5)
    means = torch.stack([f.mean(dim=0) for f in features])
    torch.testing.assert_close(form.reader.embed(batch), means)
