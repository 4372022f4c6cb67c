"""Sentiment in five classes: one hidden layer on the text's embedding (the report's head)."""

import torch.nn.functional as F
from torch import Tensor

from heads.head import Head


class SentimentHead(Head):
    """[u] -> one hidden layer, dropout 0.1 -> softmax over the classes 0 to `largest`."""

    def __init__(self, in_features: int, hidden_size: int, dropout: float = 0.1, largest: int = 4):
        super().__init__(in_features, hidden_size, 1, largest + 1, dropout)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy of logits (B, C)."""
        return F.cross_entropy(logits, labels.long())

    def predict(self, logits: Tensor) -> Tensor:
        """Return the likeliest class (B,)."""
        return logits.argmax(dim=-1)

    def soft(self, logits: Tensor) -> Tensor:
        """Return the probabilities of the classes (B, C)."""
        return logits.softmax(dim=-1)
