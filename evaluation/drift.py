"""How far tuning has moved an encoder: its weights by layer, and what its layers represent.

Legend: N texts, H and K sizes of two representations. Reads: arrays. Feeds: the study of
forgetting.
"""

import re
from collections.abc import Mapping

import numpy as np


def linear_cka(first: np.ndarray, second: np.ndarray) -> float:
    """Return how alike two representations of the same texts are, from 0 to 1.

    Centred kernel alignment with linear kernels: |Y'X|^2 / (|X'X| |Y'Y|) of centred columns, in
    Frobenius norms (Kornblith et al. 2019, arXiv:1905.00414, section 3). Rotating or scaling one of
    them changes nothing. NaN where all texts are represented alike.

    Args:
        first: (N, H).
        second: (N, K).
    """
    x, y = (side - side.mean(axis=0) for side in (first.astype(float), second.astype(float)))
    between, *within = (float(np.linalg.norm(a.T @ b)) for a, b in ((x, y), (x, x), (y, y)))
    return between**2 / (within[0] * within[1]) if all(within) else float("nan")


def weight_drift(
    before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]
) -> dict[str, float]:
    """Return |after - before| / |before| in Euclidean norms: embeddings, then layer 1, 2, ...

    Args:
        before, after: the encoder's tensors by their names in checkpoints.
    """
    change: dict[str, float] = {}
    size: dict[str, float] = {}
    for name, tensor in before.items():
        layer = re.match(r"encoder\.layer\.(\d+)\.", name)
        place = f"layer {int(layer[1]) + 1}" if layer else name.partition(".")[0]
        moved = after[name].astype(float) - tensor.astype(float)
        change[place] = change.get(place, 0.0) + float((moved**2).sum())
        size[place] = size.get(place, 0.0) + float((tensor.astype(float) ** 2).sum())
    return {place: float(np.sqrt(change[place] / size[place])) for place in change}
