"""Paraphrase detection: two hidden layers on the features of two texts (the report's head)."""

import torch.nn.functional as F
from torch import Tensor

from heads.head import Head


class ParaphraseHead(Head):
    """Features of a pair -> hidden layers with ReLU -> one logit: positive means paraphrase."""

    num_hidden = 2

    def __init__(self, in_features: int, hidden_size: int, dropout: float = 0.1, largest: int = 1):
        super().__init__(in_features, hidden_size, self.num_hidden, 1, dropout)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean binary cross-entropy of logits (B,)."""
        # BEGIN SOLUTION
        return F.binary_cross_entropy_with_logits(logits, labels)
        # END SOLUTION

    def predict(self, logits: Tensor) -> Tensor:
        """Return 1 where the probability exceeds one half, else 0."""
        # BEGIN SOLUTION
        return (logits > 0).long()
        # END SOLUTION

    def soft(self, logits: Tensor) -> Tensor:
        """Return the probability of a paraphrase (B,)."""
        # BEGIN SOLUTION
        return logits.sigmoid()
        # END SOLUTION
