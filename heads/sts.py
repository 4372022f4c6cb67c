"""Semantic textual similarity, 0 to 5: three hidden layers on the features (the report's head)."""

import torch.nn.functional as F
from torch import Tensor

from heads.head import Head


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
        # BEGIN SOLUTION
        return F.binary_cross_entropy_with_logits(logits, labels / self.largest)
        # END SOLUTION

    def predict(self, logits: Tensor) -> Tensor:
        """Return scores (B,) between 0 and `largest`."""
        # BEGIN SOLUTION
        return self.largest * logits.sigmoid()
        # END SOLUTION

    def soft(self, logits: Tensor) -> Tensor:
        """Return scores (B,), as `predict` does."""
        return self.predict(logits)
