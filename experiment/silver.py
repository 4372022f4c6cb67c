"""Unlabelled pairs for `--distill`: those of a file, or training texts paired anew.

Two texts at random hardly ever mean the same, so Augmented SBERT (Thakur et al. 2021,
arXiv:2010.08240) samples pairs by semantic search: a text with its nearest ones. Some random pairs
show what unrelated texts look like.

Legend: T distinct texts, H hidden_size. Reads: data, search.nearest. Feeds: inputs, distillation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from data.examples import DataError, SentencePair
from data.overlap import Seen, overlap, text_hash
from data.readers.tables import PathLike
from data.readers.unlabelled import read_unlabelled
from data.tasks import Splits
from search.nearest import top_k

NEAREST = 4  # pairs of a text with its nearest ones, for one with a random text
QUERIES = 512  # texts whose nearest are looked for at a time
BLOCK = 8192  # texts that they are looked for among at a time


@dataclass(frozen=True)
class Unlabelled:
    """What the unlabelled pairs of a task are drawn from: pairs of a file, or texts to pair."""

    pairs: list[SentencePair]
    texts: list[str]
    told: str  # where they are from


def unlabelled(
    task: str, splits: Splits, kept: Sequence[SentencePair], path: PathLike | None
) -> Unlabelled:
    """Return what may be paired for a task: nothing that it is scored on or labelled in training.

    Texts of dev or test are in no pair, and no pair is of train, dev or test in either order.

    Args:
        task: its name.
        splits: the task's.
        kept: the training pairs that heads are trained on; their texts are paired without a file.
        path: a file of unlabelled pairs, None for none.

    Raises:
        DataError: the file is broken, or nothing is left.
    """
    if path is None:
        texts = _free_texts(kept, splits)
        if len(texts) < 2:
            lacking = f"{task} has no two training texts that dev and test lack"
            raise DataError(f"--distill: {lacking}; name a file of pairs with --distill-data")
        return Unlabelled([], texts, f"of {len(texts):,} training texts paired anew")
    found = read_unlabelled(path)
    pairs = _free_pairs(found, splits)
    if not pairs:
        known = f"all {len(found):,} pairs are in {task}'s files, or a text is in its dev or test"
        raise DataError(f"{path}: {known}; give other pairs")
    return Unlabelled(pairs, [], f"of {len(pairs):,} new among {len(found):,} in {path}")


def _free_texts(kept: Sequence[SentencePair], splits: Splits) -> list[str]:
    """Return the distinct texts of training pairs that neither dev nor test holds."""
    scored = {text_hash(text) for pair in (*splits.dev, *splits.test) for text in pair.texts}
    found = {text_hash(text): text for pair in kept for text in pair.texts}
    return [text for hashed, text in found.items() if hashed not in scored]


def _free_pairs(pairs: Sequence[SentencePair], splits: Splits) -> list[SentencePair]:
    """Return the distinct pairs of two texts that the splits do not hold."""
    scored, labelled = Seen(), Seen()
    scored.add_examples([*splits.dev, *splits.test])
    labelled.add_examples(splits.train)
    known = overlap(pairs, scored).shared | overlap(pairs, labelled).pairs
    found: dict[tuple[int, ...], SentencePair] = {}
    for pair, is_known in zip(pairs, known.tolist(), strict=True):
        hashes = tuple(sorted(map(text_hash, pair.texts)))
        if not is_known and hashes[0] != hashes[1]:
            found.setdefault(hashes, pair)
    return list(found.values())


def drawn(pairs: Sequence[SentencePair], count: int, seed: int) -> list[SentencePair]:
    """Return `count` of the pairs, drawn at random, in their order; all if there are fewer."""
    rows = np.random.default_rng(seed).permutation(len(pairs))[:count]
    return [pairs[row] for row in sorted(rows.tolist())]


def paired_anew(
    texts: Sequence[str],
    embeddings: np.ndarray,
    labelled: Sequence[SentencePair],
    count: int,
    seed: int,
) -> list[SentencePair]:
    """Return new pairs of the texts: one text after the other with its nearest and a random one.

    The order of the texts and the random partners are drawn from the seed. A pair that is labelled,
    or there already, is left out: neighbours further away do not take its place.

    Args:
        texts: T, distinct as `data.overlap.text_hash` tells them apart.
        embeddings: (T, H) float32 of unit length.
        labelled: pairs that are left out, in either order.
        count: how many; fewer if all texts had their turn before.
        seed: of what is drawn.

    Returns:
        Pairs without labels, named `nearest-N` or `random-N`.
    """
    rows = {text_hash(text): row for row, text in enumerate(texts)}
    used = {frozenset(rows.get(text_hash(text), -1) for text in pair.texts) for pair in labelled}

    def new() -> Iterator[tuple[str, int, int]]:
        for how, row, other in _partners(embeddings, seed):
            pair = frozenset((row, other))
            if row != other and pair not in used:
                used.add(pair)
                yield how, row, other

    return [
        SentencePair(f"{how}-{number}", texts[row], texts[other])
        for number, (how, row, other) in enumerate(islice(new(), count))
    ]


def _partners(embeddings: np.ndarray, seed: int) -> Iterator[tuple[str, int, int]]:
    """Yield how a pair was found and its two rows, text by text in a random order."""
    draw = np.random.default_rng(seed)
    count = len(embeddings)
    order, others = draw.permutation(count), draw.integers(0, count, count)
    for start in range(0, len(order), QUERIES):
        rows = order[start : start + QUERIES]
        blocks = (embeddings[at : at + BLOCK] for at in range(0, count, BLOCK))
        _, nearest = top_k(embeddings[rows], blocks, NEAREST + 1)  # a text is nearest to itself
        for row, near in zip(rows.tolist(), nearest.tolist(), strict=True):
            for other in [found for found in near if found != row][:NEAREST]:
                yield "nearest", row, other
            yield "random", row, int(others[row])
