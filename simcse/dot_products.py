"""SimCSE's loss on dot products: what the cosine and its temperature are compared with.

Gao et al. 2021, table D.1, column "N/A". Legend: B examples, H hidden_size. Feeds: objectives.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def dot_product_loss(
    views: Sequence[Tensor], hard_negative_logit: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return the mean loss and the in-batch accuracy, both by dot products, nothing divided.

    l_i = -log(exp(h_i . h_i+) / sum_j [exp(h_i . h_j+) + exp(h_i . h_j-)])

    Args:
        views: anchors, positives and, if there are any, hard negatives, (B, H) each. Their length
            counts: an encoder can lower the loss by longer vectors alone.
        hard_negative_logit: added to each anchor's own hard negative, as in `loss.info_nce`.
    """
    # Candidates are all positives, then all hard negatives: (B, B) or (B, 2B).
    logits = views[0] @ torch.cat(tuple(views[1:])).T
    answers = torch.arange(len(views[0]), device=logits.device)
    if len(views) == 3:
        # Columns B .. 2B-1: row i's own is B + i.
        own = F.one_hot(answers + len(answers), logits.shape[1])
        logits = logits + hard_negative_logit * own
    accuracy = (logits.detach().argmax(dim=1) == answers).float().mean()
    return F.cross_entropy(logits, answers), accuracy
