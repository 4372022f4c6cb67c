"""Reads the STS suites as published: pairs of sentences and a similarity from 0 to 5."""

from collections.abc import Sequence
from pathlib import Path

from data.examples import DataError, SentencePair
from data.locate import missing_set
from data.tables import PathLike, numbered_lines, plain_fields, plain_lines, score, stored

# What names of files begin with: SentEval's copies and most originals, and the originals of 2016.
YEARS = ("STS", "STS2016")


def read_year(
    folder: Path, name: str, subsets: Sequence[str], command: str
) -> dict[str, list[SentencePair]]:
    """Return the subsets of one year of SemEval's STS (Agirre et al. 2012-2016), from its folder.

    Raises:
        MissingSet: one of the subsets is not there; without it the score would be another.
        DataError: a broken file.
    """
    files = [path.name for subset in subsets for path in _subset_files(folder, subset)]
    missing = [file for file in files if not stored(folder / file).is_file()]
    if missing:
        raise missing_set(folder, name, missing, command)
    return {subset: read_subset(folder, subset) for subset in subsets}


def read_subset(folder: Path, subset: str) -> list[SentencePair]:
    """Return the pairs of a subset that have a gold score, in order.

    Pairs are in one file, scores in another, line by line. SentEval's copies, tokenised and in
    lower case, and the untokenised originals are read alike. In 2015 and 2016 only a part of the
    pairs was scored: the lines of the others are empty in the file of scores.

    Raises:
        DataError: a broken file, files of different length, or no scored pair.
    """
    inputs, golds = _subset_files(folder, subset)
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


def _subset_files(folder: Path, subset: str) -> tuple[Path, Path]:
    """Return the files of a subset's pairs and scores; those of 2016 have a name of their own."""
    names = [(f"{year}.input.{subset}.txt", f"{year}.gs.{subset}.txt") for year in YEARS]
    found = (both for both in names if stored(folder / both[0]).is_file())
    inputs, golds = next(found, names[0])
    return folder / inputs, folder / golds


def read_stsbenchmark(path: PathLike) -> list[SentencePair]:
    """Return the pairs of a file of STS-Benchmark (Cer et al. 2017), in order.

    A line is genre, file, year, id, score and two sentences; there is no header.

    Raises:
        DataError: a broken file, a row of fewer than seven fields, or a label out of range.
    """
    return [
        SentencePair(f"{file}-{line}", first, second, score(f"{path}:{line}", value))
        for line, (_, file, _, _, value, first, second, *_) in plain_fields(path, 7)
    ]


def read_sick(path: PathLike) -> list[SentencePair]:
    """Return the pairs of a SICK file (Marelli et al. 2014), in order; labels are the relatedness.

    A line is id, two sentences, relatedness from 1 to 5, and the judgment of entailment. Published
    files begin with a line of column names; copies without it are read alike.

    Raises:
        DataError: a broken file, a row of fewer than five fields, or a label out of range.
    """
    pairs = [
        SentencePair(fields[0], fields[1], fields[2], score(f"{path}:{line}", fields[3]))
        for line, fields in plain_fields(path, 5)
        if line > 1 or fields[0] != "pair_ID"
    ]
    if not pairs:
        raise DataError(f"{path}: has a header but no rows; expected at least one row")
    return pairs


def read_cnsd(path: PathLike) -> list[SentencePair]:
    """Return the pairs of the Chinese translation of STS-Benchmark, in order.

    A line of the files cnsd-sts-{train,dev,test}.txt is `id||sentence||sentence||score`.

    Raises:
        DataError: a broken file, a row that is not four fields, or a label out of range.
    """
    pairs = []
    for line, text in plain_lines(path):
        fields = [field.strip() for field in text.split("||")]
        if len(fields) != 4:
            raise DataError(
                f"{path}:{line}: {len(fields)} field(s) separated by ||, expected 4: id, two "
                "sentences, score; correct the row"
            )
        row, first, second, value = fields
        pairs.append(SentencePair(row, first, second, score(f"{path}:{line}", value)))
    return pairs
