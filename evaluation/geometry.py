"""The geometry of embeddings on the unit sphere.

Legend: N embeddings or texts, H their size.
"""

from collections.abc import Callable, Sequence

import numpy as np

from data.examples import SentencePair

# Pairs with a higher gold score mean the same (SimCSE, section 3, on STS-B).
POSITIVE_SCORE = 4.0
MEASURES = ("alignment", "uniformity", "mean_cosine", "top_singular_share", "effective_rank")
BLOCK = 1024  # rows of the (N, N) similarities at a time: a few megabytes


def unit(embeddings: np.ndarray) -> np.ndarray:
    """Return rows (N, H) scaled to length 1, in float64; a row of zeros stays as it is."""
    embeddings = np.asarray(embeddings, np.float64)
    return embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True).clip(1e-12)


def alignment(first: np.ndarray, second: np.ndarray) -> float:
    """Return E ||f(x) - f(x+)||^2 over positive pairs; lower is better, from 0 to 4.

    Wang & Isola 2020, equation 4 with alpha 2, as SimCSE's equation 2.
    """
    return float(((unit(first) - unit(second)) ** 2).sum(axis=1).mean())


def uniformity(embeddings: np.ndarray) -> float:
    """Return log E exp(-2 ||f(x) - f(y)||^2) over all pairs of different rows; lower is better.

    Wang & Isola 2020, equation 5 with t 2, as SimCSE's equation 3; 0 where all rows coincide. There
    are two embeddings (N, H) or more, of distinct texts, none of zeros.
    """
    rows = unit(embeddings)
    total = 0.0
    for start in range(0, len(rows), BLOCK):
        # ||x - y||^2 = 2 - 2 x.y on the unit sphere.
        total += np.exp(-4 * (1 - rows[start : start + BLOCK] @ rows.T)).sum()
    # A row with itself counts exp(0) = 1 in that sum.
    return float(np.log((total - len(rows)) / (len(rows) * (len(rows) - 1))))


def mean_cosine(embeddings: np.ndarray) -> float:
    """Return the mean cosine of all pairs of different rows: the anisotropy of Ethayarajh 2019.

    0 for directions spread evenly; near 1 where all texts look alike (SimCSE, section 5).
    """
    # The sum over all pairs is the squared length of the sum of all rows.
    rows = unit(embeddings)
    total = (rows.sum(axis=0) ** 2).sum() - (rows**2).sum()
    return float(total / (len(rows) * (len(rows) - 1)))


def singular_values(embeddings: np.ndarray) -> np.ndarray:
    """Return the singular values (min(N, H),) of the unit rows, largest first.

    Contrastive learning flattens them (SimCSE, section 5): a few large ones mean that all
    embeddings lie in a narrow cone.
    """
    return np.linalg.svd(unit(embeddings), compute_uv=False)


def effective_rank(values: np.ndarray) -> float:
    """Return the exponential of the entropy of singular values (Roy & Vetterli 2007), 1 to H."""
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def geometry(
    embeddings: np.ndarray, first: np.ndarray, second: np.ndarray
) -> dict[str, float | None]:
    """Return all measures by name; None where there are fewer than two vectors, or no pairs.

    Zero vectors, such as those of texts without a known word, are not on the sphere and are left
    out. `embeddings` (N, H) are of distinct texts, `first` and `second` (M, H) of pairs
    that mean the same.
    """
    known = embeddings[np.any(embeddings, axis=1)]
    whole = np.any(first, axis=1) & np.any(second, axis=1)
    measures: dict[str, float | None] = dict.fromkeys(MEASURES)
    if whole.any():
        measures["alignment"] = alignment(first[whole], second[whole])
    if len(known) > 1:
        values = singular_values(known)
        measures["uniformity"] = uniformity(known)
        measures["mean_cosine"] = mean_cosine(known)
        measures["top_singular_share"] = float(values[0] ** 2 / (values**2).sum())
        measures["effective_rank"] = effective_rank(values)
    return measures


def pair_geometry(
    encode: Callable[[Sequence[str]], np.ndarray], pairs: Sequence[SentencePair]
) -> dict[str, float | None]:
    """Return all measures on the distinct texts of scored pairs; positives score more than 4."""
    rows = {text: row for row, text in enumerate(dict.fromkeys(t for p in pairs for t in p.texts))}
    embeddings = encode(list(rows))
    same = [p for p in pairs if p.label is not None and p.label > POSITIVE_SCORE]
    first, second = (embeddings[[rows[pair.texts[side]] for pair in same]] for side in (0, 1))
    return geometry(embeddings, first, second)
