"""What all heads share: layers from features to logits. Feeds: sentiment, paraphrase, sts."""

from abc import ABC, abstractmethod

from torch import Tensor, nn


class Head(nn.Module, ABC):
    """Hidden layers with ReLU and dropout, then a linear layer; subclasses add loss and prediction.

    Args:
        in_features: feature size F.
        hidden_size: width of the hidden layers.
        num_hidden: how many of them.
        num_outputs: logits C per example.
        dropout: after each hidden layer's ReLU.
    """

    def __init__(
        self, in_features: int, hidden_size: int, num_hidden: int, num_outputs: int, dropout: float
    ):
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(num_hidden):
            layers += [nn.Linear(in_features, hidden_size), nn.ReLU(), nn.Dropout(dropout)]
            in_features = hidden_size
        self.layers = nn.Sequential(*layers, nn.Linear(in_features, num_outputs))

    def forward(self, features: Tensor) -> Tensor:
        """Return logits: (B, C) from (B, F), or (B,) where C is 1."""
        # BEGIN SOLUTION
        return self.layers(features).squeeze(-1)
        # END SOLUTION

    @abstractmethod
    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of logits against float labels (B,)."""

    @abstractmethod
    def predict(self, logits: Tensor) -> Tensor:
        """Return predictions (B,): classes or scores."""

    @abstractmethod
    def soft(self, logits: Tensor) -> Tensor:
        """Return what `predict` decides by: (B, C) or (B,) probabilities, or scores (B,)."""
