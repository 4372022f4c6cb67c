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
        # BEGIN SOLUTION
        return F.cross_entropy(logits, labels.long())
        # END SOLUTION

    def predict(self, logits: Tensor) -> Tensor:
        """Return the likeliest class (B,)."""
        # BEGIN SOLUTION
        return logits.argmax(dim=-1)
        # END SOLUTION

    def soft(self, logits: Tensor) -> Tensor:
        """Return the probabilities of the classes (B, C)."""
        # BEGIN SOLUTION
        return logits.softmax(dim=-1)
        # END SOLUTION
