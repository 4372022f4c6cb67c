"""Ranking: an auxiliary loss that knows which pairs belong together.

Legend: B pairs, M of them true, H hidden_size. Feeds: training.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

TRUE = 0.8  # of the largest label: duplicates, and similarities from 4 of 5 on
TEMPERATURE = 0.05


def ranking_loss(features: Tensor, labels: Tensor, largest: int, hidden_size: int) -> Tensor:
    """Return the multiple-negatives loss of the true pairs of a batch, 0 if there are below two.

    -log(exp(cos(u_i, v_i) / tau) / sum_j exp(cos(u_i, v_j) / tau)), mean over the true pairs i,
    all others' v_j being the negatives (Henderson et al. 2017, arXiv:1705.00652, section 4.4).

    Args:
        features: (B, F) of a bi-encoder, which begin with u and v, (B, H) each.
        labels: (B,).
        largest: label of the task.
        hidden_size: H.
    """
    true = features[labels >= TRUE * largest]  # (M, F)
    if len(true) < 2:
        return features.new_zeros(())
    first, second = (F.normalize(part, dim=-1) for part in true.split(hidden_size, dim=-1)[:2])
    # Row i: u_i against all v_j; its own is on the diagonal.
    logits = first @ second.T / TEMPERATURE  # (M, M)
    return F.cross_entropy(logits, torch.arange(len(true), device=logits.device))
