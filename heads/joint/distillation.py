"""Distillation: the labels of the tasks' own models, less and less (born-again multi-tasking).

Legend: B examples, C classes. Feeds: training.
"""

import torch.nn.functional as F
from torch import Tensor

from heads.heads import Head


def taught_loss(head: Head, logits: Tensor, labels: Tensor, taught: Tensor, place: float) -> Tensor:
    """Return the loss against place * label + (1 - place) * teacher's (teacher annealing).

    Clark et al. 2019 (arXiv:1907.04829, section 3.2). The cross-entropy is linear in the labels, so
    the two losses can be mixed instead.

    Args:
        head: whose loss it is.
        logits: (B,) or (B, C).
        labels: (B,).
        taught: what the teacher's head decides by: (B,) probabilities or scores, or (B, C).
        place: from 0 at the beginning to 1 at the end.
    """
    of_teacher = F.cross_entropy(logits, taught) if logits.ndim > 1 else head.loss(logits, taught)
    return place * head.loss(logits, labels) + (1 - place) * of_teacher
