"""Reads natural language inference: premise, hypothesis, and whether the one entails the other."""

from collections.abc import Iterator

from data.examples import DataError, SentencePair
from data.tables import PathLike, choice, read_table

# In the order of their numbers, which for NLI is that of SBERT's classes.
NLI_LABELS = ("entailment", "neutral", "contradiction")
NLI_COLUMNS = ("premise", "hypothesis", "label")
HANS_LABELS = ("non-entailment", "entailment")
HANS_COLUMNS = ("gold_label", "sentence1", "sentence2", "pairID", "heuristic", "subcase")


def iter_nli(path: PathLike) -> Iterator[SentencePair]:
    """Yield the pairs of a tab-separated file; labels are 0.0, 1.0, 2.0 in the order of NLI_LABELS.

    Streams: half a million pairs cost no more memory than one. Other columns are allowed. Quotes
    have no meaning, since sentences begin and end with them. Pairs without a label on which
    annotators agreed (`-` in SNLI) are left out.

    Raises:
        DataError: an unreadable or empty file, a missing column, too few fields, an empty text,
            an unknown label.
    """
    empty = True
    for line, row in read_table(path, NLI_COLUMNS, "\t", quotes=False):
        premise, hypothesis, label = (row[name] for name in NLI_COLUMNS)
        if label == "-":
            continue
        gold = float(choice(f"{path}:{line}", label, NLI_LABELS))
        if not premise or not hypothesis:
            raise DataError(f"{path}:{line}: a sentence is empty; fill it or delete the row")
        empty = False
        yield SentencePair(str(line), premise, hypothesis, gold)
    if empty:
        raise DataError(f"{path}: holds no labelled pair; expected a header line and rows")


def read_hans_file(path: PathLike) -> list[SentencePair]:
    """Return the pairs of HANS (McCoy et al. 2019); label 1.0 is entailment, 0.0 is not.

    All words of a hypothesis stand in its premise: word order decides. The phenomenon is
    `heuristic/subcase`.

    Raises:
        DataError: a broken table or another label.
    """
    pairs = []
    for line, row in read_table(path, HANS_COLUMNS, "\t", quotes=False):
        label, premise, hypothesis, id, *tags = (row[name] for name in HANS_COLUMNS)
        gold = float(choice(f"{path}:{line}", label, HANS_LABELS))
        pairs.append(SentencePair(id, premise, hypothesis, gold, phenomenon="/".join(tags)))
    return pairs
