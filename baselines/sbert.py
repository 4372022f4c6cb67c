"""SBERT: sentence vectors by way of a classifier of NLI pairs (Reimers and Gurevych 2019).

Legend: B pairs, H hidden_size, C classes. Reads: simcse's form of an objective. Feeds: objectives.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from data.readers.nli import LABELS
from minbert.encoder import SentenceEncoder
from simcse.config import SimCSEConfig
from simcse.objectives import Siamese


class SoftmaxOverPair(Siamese):
    """One encoder for premise and hypothesis, and a classifier that is dropped after training."""

    in_batch = False

    def __init__(self, encoder: SentenceEncoder, config: SimCSEConfig):
        """Draw the classifier's weights."""
        super().__init__(encoder, config)
        # W_t of the paper; a bias as in its published code.
        self.classifier = nn.Linear(3 * encoder.model.config.hidden_size, len(LABELS))

    def measure(self, views: Sequence[Tensor], labels: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the mean cross-entropy of softmax(W [u; v; |u-v|]), and the share of right pairs.

        Paper, section 3. |u-v| is what makes near sentences near: without it the classifier learns
        as much, and the cosine of u and v little (table 6).
        """
        assert labels is not None, "SBERT learns from labelled pairs"
        u, v = views
        logits = self.classifier(torch.cat([u, v, (u - v).abs()], dim=1))  # (B, 3H) -> (B, C)
        accuracy = (logits.argmax(dim=1) == labels).float().mean()
        return F.cross_entropy(logits, labels), accuracy.detach()

    @property
    def head(self) -> nn.Module:
        """Return the classifier."""
        return self.classifier
