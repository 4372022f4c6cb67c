"""SimCSE's training loop in its smallest form (Gao et al. 2021, sections 3 and 4).

A model here is any module that turns a batch into embeddings (B, H), with dropout when it trains.
Reads: simcse.loss.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from simcse.loss import info_nce


def unsupervised_views(model: nn.Module, batch: Any) -> list[Tensor]:
    """Return two views of the same sentences that differ by dropout alone, (B, H) each.

    The model is in training mode afterwards.
    """
    # Every pass draws masks of its own.
    model.train()
    return [model(batch), model(batch)]


def supervised_views(model: nn.Module, batches: Sequence[Any]) -> list[Tensor]:
    """Return the embeddings of anchors, positives and hard negatives, (B, H) each.

    Args:
        model: in training mode afterwards.
        batches: of the anchors, the positives and (if there are any) the hard negatives.
    """
    model.train()
    return [model(batch) for batch in batches]


def training_step(
    optimizer: torch.optim.Optimizer, views: Sequence[Tensor], temperature: float
) -> float:
    """Change the weights by one step on the contrastive loss of a batch; return that loss.

    Args:
        optimizer: of the model that made the views.
        views: anchors, positives and perhaps hard negatives, (B, H) each, with their graph.
        temperature: of the loss.
    """
    hard_negatives = views[2] if len(views) > 2 else None
    return descend(optimizer, info_nce(views[0], views[1], hard_negatives, temperature))


def descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> float:
    """Change the weights by one step on a loss, a scalar with its graph; return it.

    The optimizer may still hold an older gradient, which does not count.
    """
    # Gradients add up until they are cleared.
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def embed_all(model: nn.Module, batches: Iterable[Any]) -> Tensor:
    """Return the embeddings of all batches, (N, H), without dropout and without a graph."""
    model.eval()
    with torch.no_grad():
        return torch.cat([model(batch) for batch in batches])
