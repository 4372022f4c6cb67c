"""Sentiment in five classes: one hidden layer on the text's vector (the report's head)."""

import torch.nn.functional as F
from torch import Tensor

from heads.head import Head

NUM_CLASSES = 5  # 0 negative ... 4 positive


class SentimentHead(Head):
    """[u] -> one hidden layer, dropout 0.1 -> softmax over five classes."""

    def __init__(self, in_features: int, hidden_size: int, dropout: float = 0.1):
        super().__init__(in_features, hidden_size, 1, NUM_CLASSES, dropout)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of logits (B, 5)."""
        return F.cross_entropy(logits, labels.long())

    def predict(self, logits: Tensor) -> Tensor:
        """Return the likeliest class (B,)."""
        return logits.argmax(dim=-1)
