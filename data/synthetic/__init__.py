"""The generator of the bundled data: a grammar, a lexicon, and probes of the result.

`python -m data.synthetic --out DIR` writes it in the formats of CS224N and SimCSE, optionally with
other seeds and more pairs. No sentence is copied from elsewhere. data/bundled/README.md describes
the content and its uses. Only the classroom's data (assignment.course_data) imports this package;
its tests are run by `python -m pytest tests/data/synthetic -m synthetic`.

lexicon/*.txt -> wordlists -> words, morphology, holdout, vocabulary -> frames, edits, sampling,
renderings, grammar -> pairs, changes, parts -> taxonomy, scores, graded, twins, wordings ->
duplicates, meaning, scored, triplets, sentences, evaluations, sentiment, asking, heuristics,
inference -> surface, writing, suites, search -> generate.
"""

from pathlib import Path

VERSION = "2.2"

__all__ = ["VERSION", "write"]


def write(folder: Path, seed: int = 0, pairs: int | None = None, order_pairs: int = 0) -> None:
    """Write the data set into `folder`; the same seed gives the same bytes everywhere.

    Args:
        pairs: number of paraphrase training pairs, if more than the default.
        order_pairs: number of additional pairs that differ only in word order.

    Raises:
        OSError: the folder cannot be written.
    """
    from data.synthetic.generate import (  # the lexicon is loaded only when it is used
        SIZES,
        write_files,
    )

    write_files(folder, seed, pairs or SIZES["para"][0], order_pairs)
