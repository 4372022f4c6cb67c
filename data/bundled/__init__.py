"""Synthetic data, made by a grammar: for courses, tests and machines without a network.

`python -m data.bundled --out DIR` writes it in the formats of CS224N and SimCSE. No sentence is
anybody else's. What it holds and what it is good for: README.md in this folder.

lexicon/*.txt -> wordlists -> words, morphology, holdout, vocabulary -> frames, edits, sampling,
renderings, grammar -> pairs, changes, parts -> taxonomy, scores, graded, twins, wordings ->
duplicates, meaning, scored, triplets, sentences, evaluations, sentiment, asking, heuristics,
inference -> surface, writing, suites -> generate.
"""

from pathlib import Path

VERSION = "2.1"

__all__ = ["VERSION", "write"]


def write(folder: Path, seed: int = 0, pairs: int | None = None, order_pairs: int = 0) -> None:
    """Write the data set into `folder`; the same seed gives the same bytes everywhere.

    Args:
        pairs: how many to learn paraphrases from, where more are wanted than usual.
        order_pairs: how many more that only order tells apart.

    Raises:
        OSError: the folder cannot be written.
    """
    from data.bundled.generate import SIZES, write_files  # the lexicon loads only where it is used

    write_files(folder, seed, pairs or SIZES["para"][0], order_pairs)
