"""Reads HANS, whose premises share all words with their hypotheses: word order decides.

Source: McCoy et al. 2019. Reads: data.readers.plain. Feeds: data.suites.
"""

from data.examples import SentencePair
from data.readers.plain import choice, plain_table
from data.readers.tables import PathLike

LABELS = ("non-entailment", "entailment")  # in the order of their numbers
COLUMNS = ("gold_label", "sentence1", "sentence2", "pairID", "heuristic", "subcase")


def read_hans_file(path: PathLike) -> list[SentencePair]:
    """Return premise and hypothesis of each row; label 1.0 is entailment, 0.0 is not.

    The phenomenon is `heuristic/subcase`.

    Raises:
        DataError: a broken table or another label.
    """
    pairs = []
    for line, (label, premise, hypothesis, row, heuristic, subcase) in plain_table(path, COLUMNS):
        gold = float(choice(f"{path}:{line}", label, LABELS))
        tag = f"{heuristic}/{subcase}"
        pairs.append(SentencePair(row, premise, hypothesis, gold, phenomenon=tag))
    return pairs
