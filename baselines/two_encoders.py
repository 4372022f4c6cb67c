"""Two encoders that start alike and part: a dual encoder, and contrastive tension.

Legend: B examples, V views, H hidden_size, n sequences.
Reads: simcse's form of an objective. Feeds: objectives.
"""

import copy
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from minbert.encoder import SentenceEncoder
from minbert.packing import PackedBatch
from simcse.config import SimCSEConfig
from simcse.objectives import Siamese


class TwoEncoders(Siamese):
    """SimCSE with an encoder of its own for the first view (Gao et al. 2021, section 3).

    The paper finds one shared encoder better. The encoder of the other views is kept.
    """

    two_encoders = True

    def __init__(self, encoder: SentenceEncoder, config: SimCSEConfig):
        """Copy the encoder, pooled as it is to be trained."""
        super().__init__(encoder, config)
        # After the pooling is set, so that both begin with the same weights everywhere.
        self.first_encoder = encoder.clone()
        self.first_model = self.first_encoder.model  # a submodule: trained with the other
        self.first_projection = copy.deepcopy(self.projection)

    def embed(self, batch: PackedBatch, first: bool) -> Tensor:
        """Return the embeddings (n, H) by the first view's encoder, or by the other."""
        if not first:
            return super().embed(batch, first)
        embeddings: Tensor = self.first_projection(self.first_encoder.embed(batch))
        return embeddings


class ContrastiveTension(TwoEncoders):
    """CT: the two encoders must agree on a sentence and disagree on others (Carlsson et al. 2021).

    f1 reads the sentence, f2 the sentence again and K others. f2 is kept, as in
    sentence-transformers; the authors keep whichever scores better on dev.
    """

    in_batch = False

    def measure(self, views: Sequence[Tensor], labels: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the summed binary cross-entropy of the bags' dot products, and their accuracy.

        -log s(f1(x) . f2(x)) - sum_k log(1 - s(f1(x) . f2(x_k))), with s the logistic function,
        summed over B bags. No cosine: the length of a vector counts.
        """
        others = torch.stack(tuple(views[1:]), dim=1)  # (B, V - 1, H)
        scores = torch.einsum("bh,bvh->bv", views[0], others)  # (B, V - 1)
        # In each bag the first is the sentence itself, the only right answer.
        targets = torch.zeros_like(scores)
        targets[:, 0] = 1.0
        accuracy = ((scores > 0) == targets.bool()).float().mean()
        return F.binary_cross_entropy_with_logits(scores, targets, reduction="sum"), accuracy
