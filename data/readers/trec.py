"""Reads TREC's questions by type: `LABEL:sublabel question`, six coarse labels.

Source: Li and Roth 2002. Reads: data.readers.plain. Feeds: data.suites.
"""

from data.examples import DataError, Sentence
from data.readers.plain import choice, plain_lines
from data.readers.tables import PathLike

# Abbreviation, description, entity, human, location, number. Their order is that of the labels.
TYPES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


def read_trec(path: PathLike) -> list[Sentence]:
    """Return the questions of a file in order; labels are places in TYPES.

    Raises:
        DataError: a broken file, an unknown label, or a label without a question.
    """
    questions = []
    for line, text in plain_lines(path):
        label, _, question = text.partition(" ")
        coarse = choice(f"{path}:{line}", label.partition(":")[0], TYPES)
        if not question.strip():
            raise DataError(f"{path}:{line}: no question behind the label; correct the row")
        questions.append(Sentence(str(line), question.strip(), coarse))
    return questions
