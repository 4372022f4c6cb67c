"""Hard negatives for pairs from an index: texts near an anchor that are not its positives.

The nearest texts of an unlabelled set are often positives without a label. So a negative must score
less than the positive by a margin, which may be a share of the positive's score (Moreira et al.
2024, "NV-Retriever", section 3: TopK-PercPos). Negatives are chosen as in sentence-transformers'
`mine_hard_negatives`.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from data.examples import DataError, Triplet
from data.triplets import iter_pairs
from runtime.files import check_outputs, whole_file
from runtime.progress import progress
from search.encoders import open_cross_encoder
from search.index import META, Index
from search.nearest import top_k
from search.options import MineOptions

# Anchors per pass over the index.
ANCHORS = 1024


def mine(options: MineOptions) -> None:
    """Write the triplets of the options, and print their number.

    Raises:
        UserError: a file in the options cannot be used; no pair gets a negative.
        OSError: the file cannot be written.
    """
    check_outputs([options.out], [options.pairs, options.index / META])
    pairs = read_pairs(options.pairs)
    count = sum(map(len, pairs.values()))
    mined = list(triplets(pairs, options))
    if not mined:
        raise DataError(
            f"{options.index}: no text is far enough below a positive; raise --to-rank, or lower "
            "--relative-margin or --margin"
        )
    with (
        whole_file(options.out) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        rows = (triplet.texts for triplet in mined)
        csv.writer(file).writerows([("sent0", "sent1", "hard_neg"), *rows])
    without = count - len({triplet.texts[:2] for triplet in mined})
    left = f"; no negative for {without:,}" if without else ""
    print(f"{len(mined):,} triplets of {count:,} pairs are in {options.out}{left}")


def read_pairs(path: Path) -> dict[str, list[str]]:
    """Return each anchor's positives, in the order of the file."""
    pairs: dict[str, list[str]] = {}
    for anchor, positive, _ in iter_pairs(path):
        positives = pairs.setdefault(anchor, [])
        if positive not in positives:
            positives.append(positive)
    return pairs


def triplets(pairs: dict[str, list[str]], options: MineOptions) -> Iterator[Triplet]:
    """Yield the triplets of each anchor; all its positives get the same negatives."""
    index = Index(options.index)
    encoder = index.encoder(options.device, options.precision)
    cross = None
    if options.rerank:
        cross = open_cross_encoder(options.rerank, options.device, options.precision, options.cell)
    anchors, draw = list(pairs), Random(options.seed)
    # The positives may be among the nearest.
    depth = options.to_rank + max(map(len, pairs.values()))
    with progress("mine", len(anchors), "anchor") as bar:
        for start in range(0, len(anchors), ANCHORS):
            chunk = anchors[start : start + ANCHORS]
            how: dict[str, Any] = {"show_progress": False, "normalize_embeddings": True}
            vectors = encoder.encode_query(chunk, **how)
            positives_of_chunk = [text for anchor in chunk for text in pairs[anchor]]
            vectors_of_positives = iter(
                encoder.encode_document(positives_of_chunk, **how).astype(np.float64)
            )
            nearest = zip(*top_k(vectors, index.blocks, depth), strict=True)
            for anchor, vector, (cosines, numbers) in zip(chunk, vectors, nearest, strict=True):
                positives = pairs[anchor]
                # The smallest score of a positive, the most cautious choice.
                positive = min(float(next(vectors_of_positives) @ vector) for _ in positives)
                # By text, since an index may hold a text more than once.
                near = {
                    row.text: cosine
                    for row, cosine in zip(index.rows(numbers), cosines, strict=True)
                    if row.text not in (anchor, *positives)
                }
                candidates, scores = list(near), np.array(list(near.values()))
                if cross:
                    judged = cross(anchor, [*positives, *candidates])
                    positive, scores = min(judged[: len(positives)]), judged[len(positives) :]
                negatives = [candidates[at] for at in choose(scores, positive, options, draw)]
                for text in positives:
                    yield from (Triplet(anchor, text, negative) for negative in negatives)
                bar.update(1)


def choose(scores: np.ndarray, positive: float, options: MineOptions, draw: Random) -> list[int]:
    """Return the candidates that become negatives by their scores (n,), the highest score first.

    Ranks are counted among the candidates below the positive's score minus the margin.
    """
    most = positive - max(options.margin, options.relative_margin * abs(positive))
    allowed = np.flatnonzero(scores <= most)
    ranked = allowed[np.argsort(-scores[allowed], kind="stable")].tolist()
    ranked = ranked[options.from_rank - 1 : options.to_rank]
    count = min(options.per_pair, len(ranked))
    drawn = round(options.random * count)
    nearest, others = ranked[: count - drawn], ranked[count - drawn :]
    return nearest + [others[place] for place in sorted(draw.sample(range(len(others)), drawn))]
