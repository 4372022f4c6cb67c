"""How the bundled data was made: a grammar, a lexicon, and probes of what came out.

`python -m data.synthetic --out DIR` writes it in the formats of CS224N and SimCSE, with other seeds
and more pairs where they are wanted. No sentence is anybody else's. What it holds and what it is
good for: data/bundled/README.md. Nothing but the classroom's own data (assignment.course_data)
imports this package; its tests are run by `python -m pytest tests/data/synthetic -m synthetic`.

lexicon/*.txt -> wordlists -> words, morphology, holdout, vocabulary -> frames, edits, sampling,
renderings, grammar -> pairs, changes, parts -> taxonomy, scores, graded, twins, wordings ->
duplicates, meaning, scored, triplets, sentences, evaluations, sentiment, asking, heuristics,
inference -> surface, writing, suites -> generate.
"""

from pathlib import Path

VERSION = "2.2"

__all__ = ["VERSION", "write"]


def write(folder: Path, seed: int = 0, pairs: int | None = None, order_pairs: int = 0) -> None:
    """Write the data set into `folder`; the same seed gives the same bytes everywhere.

    Args:
        pairs: how many to learn paraphrases from, where more are wanted than usual.
        order_pairs: how many more that only order tells apart.

    Raises:
        OSError: the folder cannot be written.
    """
    from data.synthetic.generate import (  # the lexicon loads only where it is used
        SIZES,
        write_files,
    )

    write_files(folder, seed, pairs or SIZES["para"][0], order_pairs)
