"""Word embeddings from co-occurrence counts: what pre-training would otherwise have to learn first.

Positive pointwise mutual information, factorised (Levy and Goldberg 2014; window, smoothing and
eigenvalue weighting as in Levy, Goldberg and Dagan 2015, section 3). Feeds: pretrain.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

WINDOW = 5  # neighbours on each side, weighted by 1 / distance
SMOOTHING = 0.75  # exponent of context frequencies: rare contexts count for less


def cooccurrence_embeddings(
    rows: np.ndarray, vocab_size: int, hidden_size: int, scale: float, seed: int = 0
) -> Tensor:
    """Return embeddings (V, H): near each other for pieces that occur near each other.

    Args:
        rows: (n, length) token ids.
        vocab_size: V; memory is 20 V² bytes, so this suits vocabularies of about ten thousand.
        hidden_size: H.
        scale: standard deviation of the result, as in a random initialisation; if V is smaller
            than H, that of the first V dimensions, and the others are 0.
        seed: of the randomised factorisation.
    """
    # Count how often a piece stands `distance` before another; near ones count more. A pair
    # (i, j) is the number i V + j, so that one bincount counts all pairs.
    counts = np.zeros(vocab_size * vocab_size, np.float32)
    for distance in range(1, WINDOW + 1):
        pairs = rows[:, :-distance].astype(np.int64) * vocab_size + rows[:, distance:]
        counts += np.bincount(pairs.ravel(), minlength=len(counts)) / np.float32(distance)
    joint = torch.from_numpy(counts).view(vocab_size, vocab_size)  # (V, V)
    joint = joint + joint.T
    # PPMI(w, c) = max(0, log P(w, c) / (P(w) P(c)^0.75)): how much more often than by chance.
    word = joint.sum(dim=1)  # (V,)
    context = word**SMOOTHING
    expected = torch.outer(word, context / context.sum())  # (V, V)
    ppmi = (joint / expected.clamp(min=1e-12)).clamp(min=1.0).log()
    # The best rank-H approximation U S V^T; U sqrt(S) are the embeddings (Levy et al. 2015, 3.3).
    # The caller's random numbers are not affected.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        left, values, _ = torch.svd_lowrank(ppmi, q=min(hidden_size + 32, vocab_size), niter=4)
    embeddings = left[:, :hidden_size] * values[:hidden_size].sqrt()  # (V, H)
    embeddings = embeddings - embeddings.mean(dim=0)
    embeddings = embeddings * (scale / embeddings.std())
    return F.pad(embeddings, (0, hidden_size - embeddings.shape[1]))
