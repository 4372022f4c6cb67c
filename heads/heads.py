"""The heads: layers from features to logits, and for each task its loss and its prediction.

Legend: B examples, F features, C classes or logits of an example.
The depths are the report's: one hidden layer for sentiment, two for paraphrases, three for
similarity; one for either on a jointly encoded pair `[CLS] a [SEP] b [SEP]`. Classifier heads are
BERT's own pooler and classifier, which other libraries read; see heads.published.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn


class Head(nn.Module, ABC):
    """Hidden layers with dropout, then a linear layer; subclasses add loss and prediction.

    Args:
        in_features: feature size F.
        hidden_size: width of the hidden layers.
        num_hidden: how many of them.
        num_outputs: logits C per example.
        dropout: after each hidden layer's activation.
    """

    hidden_activation: type[nn.Module] = nn.ReLU

    def __init__(
        self, in_features: int, hidden_size: int, num_hidden: int, num_outputs: int, dropout: float
    ):
        super().__init__()
        # (B, F) -> (B, hidden) -> ... -> (B, C): every hidden layer is as wide as the encoder.
        layers: list[nn.Module] = []
        for _ in range(num_hidden):
            layers += [nn.Linear(in_features, hidden_size), self.hidden_activation()]
            layers.append(nn.Dropout(dropout))
            in_features = hidden_size
        self.layers = nn.Sequential(*layers, nn.Linear(in_features, num_outputs))

    def forward(self, features: Tensor) -> Tensor:
        """Return logits: (B, C) from (B, F), or (B,) where C is 1."""
        # One logit per example is a row of numbers, as its labels are.
        return self.layers(features).squeeze(-1)

    @abstractmethod
    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of logits against float labels (B,)."""

    @abstractmethod
    def predict(self, logits: Tensor) -> Tensor:
        """Return predictions (B,): classes or scores."""

    @abstractmethod
    def soft(self, logits: Tensor) -> Tensor:
        """Return what `predict` decides by: (B, C) or (B,) probabilities, or scores (B,)."""


class SentimentHead(Head):
    """[u] -> one hidden layer, dropout 0.1 -> softmax over the classes 0 to `largest`."""

    def __init__(self, in_features: int, hidden_size: int, dropout: float = 0.1, largest: int = 4):
        super().__init__(in_features, hidden_size, 1, largest + 1, dropout)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy of logits (B, C)."""
        # -log softmax(logits)[label], the mean over B.
        return F.cross_entropy(logits, labels.long())

    def predict(self, logits: Tensor) -> Tensor:
        """Return the likeliest class (B,)."""
        # Softmax keeps the order, so it need not be computed.
        return logits.argmax(dim=-1)

    def soft(self, logits: Tensor) -> Tensor:
        """Return the probabilities of the classes (B, C)."""
        return logits.softmax(dim=-1)


class ParaphraseHead(Head):
    """Features of a pair -> hidden layers with ReLU -> one logit: positive means paraphrase."""

    num_hidden = 2

    def __init__(self, in_features: int, hidden_size: int, dropout: float = 0.1, largest: int = 1):
        super().__init__(in_features, hidden_size, self.num_hidden, 1, dropout)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean binary cross-entropy of logits (B,)."""
        # -y log p - (1 - y) log(1 - p) with p = sigmoid(logit), the mean over B.
        return F.binary_cross_entropy_with_logits(logits, labels)

    def predict(self, logits: Tensor) -> Tensor:
        """Return 1 where the probability exceeds one half, else 0."""
        # sigmoid(0) is one half.
        return (logits > 0).long()

    def soft(self, logits: Tensor) -> Tensor:
        """Return the probability of a paraphrase (B,)."""
        return logits.sigmoid()


class STSHead(Head):
    """Features of a pair -> hidden layers with ReLU -> one logit -> `largest` * sigmoid."""

    num_hidden = 3

    def __init__(self, in_features: int, hidden_size: int, dropout: float = 0.1, largest: int = 5):
        super().__init__(in_features, hidden_size, self.num_hidden, 1, dropout)
        self.largest = largest

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the cross-entropy between score / largest, as a probability, and sigmoid(logit).

        Why not the squared error: both are smallest at the mean score given the features, which is
        also the prediction of highest Pearson correlation; but the squared error of a sigmoid has
        no gradient left at 0 and 5, where many STS labels lie. The range is that of the labels, so
        a prediction can never leave the scale.
        """
        # The same cross-entropy, with a label between 0 and 1 instead of one of both.
        return F.binary_cross_entropy_with_logits(logits, labels / self.largest)

    def predict(self, logits: Tensor) -> Tensor:
        """Return scores (B,) between 0 and `largest`."""
        return self.largest * logits.sigmoid()

    def soft(self, logits: Tensor) -> Tensor:
        """Return scores (B,), as `predict` does."""
        return self.predict(logits)


class CrossParaphraseHead(ParaphraseHead):
    """Paraphrase detection on the features of a joined pair."""

    num_hidden = 1


class CrossSTSHead(STSHead):
    """Similarity on the features of a joined pair."""

    num_hidden = 1


class SentimentClassifierHead(SentimentHead):
    """[CLS] -> BERT's pooler (dense, tanh) and classifier (linear) -> softmax over the classes."""

    hidden_activation = nn.Tanh


class ParaphraseClassifierHead(CrossParaphraseHead):
    """[CLS] -> BERT's pooler and classifier -> one logit."""

    hidden_activation = nn.Tanh


class STSClassifierHead(CrossSTSHead):
    """[CLS] -> BERT's pooler and classifier -> the score itself, or what an activation makes of it.

    A published cross-encoder has an activation of its own, and often another scale: correlations
    do not mind the scale.
    """

    hidden_activation = nn.Tanh

    def __init__(self, in_features: int, hidden_size: int, dropout: float = 0.1, largest: int = 5):
        super().__init__(in_features, hidden_size, dropout, largest)
        # A fresh head begins in the middle of the scale, as `largest` * sigmoid(0) is.
        out = self.layers[-1]
        assert isinstance(out, nn.Linear)
        nn.init.constant_(out.bias, largest / 2)
        self.activation = "Identity"

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean squared error of scores; of a sigmoid's, the other heads' loss."""
        if self.activation == "Sigmoid":
            return super().loss(logits, labels)
        return F.mse_loss(self.predict(logits), labels)

    def predict(self, logits: Tensor) -> Tensor:
        """Return scores (B,), which nothing keeps between 0 and `largest`."""
        scores: Tensor = getattr(nn, self.activation)()(logits)
        return scores


# By the kind of a task's labels and the encoder's name, or `cls`, whichever encoder reads [CLS]. A
# class is read off one text or a pair by the same layers; pairs that the encoder has joined need
# fewer.
HEADS: dict[tuple[str, str], type[Any]] = {
    ("classes", "bi"): SentimentHead,
    ("classes", "late"): SentimentHead,
    ("classes", "cross"): SentimentHead,
    ("binary", "bi"): ParaphraseHead,
    ("binary", "late"): ParaphraseHead,
    ("binary", "cross"): CrossParaphraseHead,
    ("score", "bi"): STSHead,
    ("score", "late"): STSHead,
    ("score", "cross"): CrossSTSHead,
    ("classes", "cls"): SentimentClassifierHead,
    ("binary", "cls"): ParaphraseClassifierHead,
    ("score", "cls"): STSClassifierHead,
}
