"""Reads SemEval's STS test sets: pairs in one file, gold scores in another, line by line.

Layout and names: Agirre et al. 2012-2016, `STS.input.NAME.txt` and `STS.gs.NAME.txt`. SentEval's
copies, tokenised and in lower case, and the untokenised originals are read alike.
Reads: data.readers.plain. Feeds: data.suites.
"""

from pathlib import Path

from data.examples import DataError, SentencePair
from data.readers.plain import plain_fields, score
from data.readers.tables import numbered_lines


def read_subset(folder: Path, subset: str) -> list[SentencePair]:
    """Return the pairs of a subset that have a gold score, from 0 to 5, in order.

    In 2015 and 2016 only a part of the pairs was scored: the lines of the others are empty in the
    file of scores.

    Raises:
        DataError: a broken file, files of different length, or no scored pair.
    """
    inputs, golds = folder / f"STS.input.{subset}.txt", folder / f"STS.gs.{subset}.txt"
    rows = list(plain_fields(inputs, 2))
    scores = [(line, text.strip()) for line, text in numbered_lines(golds)]
    if len(rows) != len(scores):
        raise DataError(
            f"{golds}: {len(scores)} lines for the {len(rows)} pairs of {inputs.name}; "
            "copy both files again, they belong together line by line"
        )
    pairs = [
        SentencePair(f"{subset}-{line}", first, second, score(f"{golds}:{line}", text))
        for (_, (first, second, *_)), (line, text) in zip(rows, scores, strict=True)
        if text
    ]
    if not pairs:
        raise DataError(f"{golds}: no scores at all, expected a number from 0 to 5 per line")
    return pairs
