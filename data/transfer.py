"""Reads the sets of SentEval's transfer tasks, as published and as SentEval keeps them."""

import logging

from data.examples import DataError, Sentence, SentencePair
from data.tables import PathLike, choice, plain_fields, plain_lines, stripped_lines

logger = logging.getLogger(__name__)

BINARY = ("0", "1")
# TREC's coarse types: abbreviation, description, entity, human, location, number. Their order is
# that of the labels.
TYPES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


def read_polarity(positive: PathLike, negative: PathLike) -> list[Sentence]:
    """Return the sentences of two files, a sentence a line, the positive ones (label 1) first.

    MR, CR, SUBJ and MPQA: Pang and Lee 2005 and 2004, Hu and Liu 2004, Wiebe et al. 2005. Blank
    lines, three of MPQA's 10,606, are left out, with a note.

    Raises:
        DataError: a file is unreadable or empty.
    """
    sentences = []
    for name, label, path in (("pos", 1, positive), ("neg", 0, negative)):
        lines = list(stripped_lines(path))
        own = [Sentence(f"{name}-{line}", text, label) for line, text in lines if text]
        if blank := len(lines) - len(own):
            logger.warning("%s: %d blank lines are no sentences; left out", path, blank)
        sentences += own
    return sentences


def read_sst2(path: PathLike) -> list[Sentence]:
    """Return the sentences of SST in two classes (Socher et al. 2013) in order; 1 is positive.

    Both forms that circulate are read: `sentence<TAB>label` (SentEval's sentiment-train) and
    `label sentence` (Kim's stsa.binary.train).

    Raises:
        DataError: a broken file, or a line without a label of 0 or 1 where it should be.
    """
    sentences = []
    for line, text in plain_lines(path):
        sentence, tab, label = text.rpartition("\t")
        if not tab:
            label, _, sentence = text.partition(" ")
        if label not in BINARY or not sentence.strip():
            raise DataError(
                f"{path}:{line}: {text[:40]!r}: expected 'sentence<TAB>label' or 'label sentence' "
                "with a label of 0 or 1; correct the row"
            )
        sentences.append(Sentence(str(line), sentence.strip(), int(label)))
    return sentences


def read_trec(path: PathLike) -> list[Sentence]:
    """Return questions (Li and Roth 2002), `LABEL:sublabel question`; labels are places in TYPES.

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


def read_mrpc(path: PathLike) -> list[SentencePair]:
    """Return the pairs of Microsoft's corpus (Dolan and Brockett 2005); label 1.0: paraphrases.

    A line is label, two ids and two sentences, tab-separated. Published files begin with a line of
    column names; copies without it are read alike.

    Raises:
        DataError: a broken file, a row of fewer than five fields, or a label other than 0 and 1.
    """
    pairs = []
    for line, fields in plain_fields(path, 5):
        if line == 1 and fields[0] == "Quality":
            continue
        quality, id_a, id_b, text_a, text_b, *_ = fields
        label = float(choice(f"{path}:{line}", quality, BINARY))
        pairs.append(SentencePair(f"{id_a}-{id_b}", text_a, text_b, label))
    if not pairs:
        raise DataError(f"{path}: has a header but no rows; expected at least one row")
    return pairs
