"""The heads: an MLP from features to logits, and for each kind of label its loss and prediction.

Legend: B examples, F features, C classes or logits of an example.
The depths are those of the report (docs/answer.md): one hidden layer for classes, two for yes or
no, three for scores, and one for any of them on a jointly encoded pair `[CLS] a [SEP] b [SEP]`.
With `--features cls` a head has the form of BERT's pooler and classifier, which other libraries
read; see heads.published.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from data.tasks import Task
from heads.features import FEATURES


class Head(nn.Module, ABC):
    """Hidden layers with dropout, then a linear layer; subclasses add loss and prediction.

    `hidden_size` is the width of the `depth` hidden layers; labels go from `lowest` to `largest`;
    dropout comes after each hidden layer's activation.
    """

    def __init__(
        self,
        in_features: int,
        hidden_size: int,
        depth: int = 1,
        *,
        largest: float = 1,
        lowest: float = 0,
        dropout: float = 0.1,
        activation: type[nn.Module] = nn.ReLU,
    ):
        super().__init__()
        self.lowest, self.largest = lowest, largest
        # (B, F) -> (B, hidden) -> ... -> (B, C)
        layers: list[nn.Module] = []
        for _ in range(depth):
            layers += [nn.Linear(in_features, hidden_size), activation(), nn.Dropout(dropout)]
            in_features = hidden_size
        self.layers = nn.Sequential(*layers, nn.Linear(in_features, self.num_outputs))

    @property
    def num_outputs(self) -> int:
        return 1  # C

    def forward(self, features: Tensor) -> Tensor:
        """Return logits: (B, C) from (B, F), or (B,) where C is 1."""
        # With one logit per example the result has the shape of the labels.
        return self.layers(features).squeeze(-1)

    @abstractmethod
    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of logits against float labels (B,)."""

    @abstractmethod
    def predict(self, logits: Tensor) -> Tensor:
        """Return predictions (B,): classes or scores."""

    @abstractmethod
    def soft(self, logits: Tensor) -> Tensor:
        """Return the scores behind `predict`: (B, C) or (B,) probabilities, or scores (B,)."""


class SentimentHead(Head):
    """Features -> hidden layers -> softmax over the classes 0 to `largest`."""

    @property
    def num_outputs(self) -> int:
        return int(self.largest) + 1

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
    """Features -> hidden layers -> one logit: positive means yes, such as paraphrase."""

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
    """Features -> hidden layers -> one logit -> `largest` * sigmoid."""

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the cross-entropy between score / largest, as a probability, and sigmoid(logit).

        Both this and the squared error are smallest at the mean score given the features, which is
        also the prediction of highest Pearson correlation. But the squared error of a sigmoid has
        almost no gradient near 0 and 5, where many STS labels lie. Predictions cannot leave the
        scale, since the range is that of the labels.
        """
        # The same cross-entropy, with labels from 0 to 1 instead of only 0 and 1.
        return F.binary_cross_entropy_with_logits(logits, labels / self.largest)

    def predict(self, logits: Tensor) -> Tensor:
        """Return scores (B,) between 0 and `largest`."""
        return self.largest * logits.sigmoid()

    def soft(self, logits: Tensor) -> Tensor:
        """Return scores (B,), as `predict` does."""
        return self.predict(logits)


class ScaledSTSHead(STSHead):
    """The same on a scale from `lowest` to `largest`, such as 1 to 7."""

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return STSHead's loss of the scores' shares of the scale."""
        shares = (labels - self.lowest) / (self.largest - self.lowest)
        return F.binary_cross_entropy_with_logits(logits, shares)

    def predict(self, logits: Tensor) -> Tensor:
        """Return scores (B,) between `lowest` and `largest`."""
        return self.lowest + (self.largest - self.lowest) * logits.sigmoid()


class STSClassifierHead(ScaledSTSHead):
    """The similarity head in the form of BERT's classifier: one logit -> activation -> score.

    A published cross-encoder has an activation, and often another scale, which does not affect
    correlations. A head trained here has no activation: its logit is the score.
    """

    score_activation = "Identity"

    def __init__(self, in_features: int, hidden_size: int, depth: int = 1, **settings: Any):
        super().__init__(in_features, hidden_size, depth, **settings)
        # A fresh head begins in the middle of the scale, as its sigmoid does.
        out = self.layers[-1]
        assert isinstance(out, nn.Linear)
        nn.init.constant_(out.bias, (self.lowest + self.largest) / 2)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean squared error of scores; with a sigmoid, STSHead's loss."""
        if self.score_activation == "Sigmoid":
            return super().loss(logits, labels)
        return F.mse_loss(self.predict(logits), labels)

    def predict(self, logits: Tensor) -> Tensor:
        """Return scores (B,), which may lie outside the scale of the labels."""
        scores: Tensor = getattr(nn, self.score_activation)()(logits)
        return scores


class CosineHead(Head):
    """The cosine of two embeddings, which finds texts in a search; it has no weights."""

    def __init__(self, in_features: int, hidden_size: int, depth: int = 0, **settings: Any):
        nn.Module.__init__(self)

    def forward(self, features: Tensor) -> Tensor:
        """Return the cosines of u and v, (B,), from [u; v], (B, 2H)."""
        first, second = features.chunk(2, dim=-1)
        return F.cosine_similarity(first, second)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean squared error, though nothing is learned."""
        return F.mse_loss(logits, labels)

    def predict(self, logits: Tensor) -> Tensor:
        """Return the cosines."""
        return logits

    def soft(self, logits: Tensor) -> Tensor:
        """Return the cosines."""
        return logits


# By label kind: the head, and its number of hidden layers on separately encoded texts.
HEADS: dict[str, tuple[type[Head], int]] = {
    "classes": (SentimentHead, 1),
    "binary": (ParaphraseHead, 2),
    "score": (STSHead, 3),
    "ranking": (CosineHead, 0),
}


def build_head(
    task: Task, reader: str, hidden_size: int, form: str = "interaction", dropout: float = 0.1
) -> Head:
    """Return the untrained head of a task, whose hidden layers are as wide as the encoder.

    `reader` is a key of `FEATURES`, `form` that of the features.
    """
    # F depends on how many vectors an example has and how they are combined.
    in_features = FEATURES[reader](form).width(hidden_size, task.num_texts)
    head_class, depth = HEADS[task.label_kind]
    how: dict[str, Any] = {"lowest": task.lowest, "largest": task.largest, "dropout": dropout}
    if head_class is STSHead and task.lowest:
        head_class = ScaledSTSHead
    if reads_cls(task, reader, form):
        head_class = STSClassifierHead if issubclass(head_class, STSHead) else head_class
        return head_class(in_features, hidden_size, activation=nn.Tanh, **how)
    # A pair that the encoder has read jointly needs fewer layers.
    return head_class(in_features, hidden_size, 1 if reader == "cross" else depth, **how)


def reads_cls(task: Task, reader: str, form: str) -> bool:
    """Return whether a head on these features has the form of BERT's classifier."""
    # A single text is an item; a pair is one item only if it is joined.
    return form == "cls" and (reader == "cross" or not task.is_pair)
