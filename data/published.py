"""Reads published sets: similarities, SentEval's transfer tasks, natural language inference."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from data.examples import DataError, Sentence, SentencePair
from data.locate import missing_set
from data.table import (
    LABEL,
    Column,
    PathLike,
    choice,
    numbered_lines,
    open_table,
    pair_columns,
    plain_fields,
    score,
    stored,
    text_lines,
)

logger = logging.getLogger(__name__)

# Prefixes of file names: SentEval's copies and most originals, and the originals of 2016.
YEARS = ("STS", "STS2016")
BINARY = ("0", "1")
# TREC's coarse types: abbreviation, description, entity, human, location, number. Their order is
# that of the labels.
TYPES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


# --- similarity


def read_year(
    folder: Path, name: str, subsets: Sequence[str], command: str
) -> dict[str, list[SentencePair]]:
    """Return the subsets of one year of SemEval's STS (Agirre et al. 2012-2016), from its folder.

    Raises:
        MissingSet: one of the subsets is missing, which would change the score.
        DataError: a broken file.
    """
    files = [path.name for subset in subsets for path in _subset_files(folder, subset)]
    missing = [file for file in files if not stored(folder / file).is_file()]
    if missing:
        raise missing_set(folder, name, missing, command)
    return {subset: read_subset(folder, subset) for subset in subsets}


def read_subset(folder: Path, subset: str) -> list[SentencePair]:
    """Return the pairs of a subset that have a gold score, in order.

    Pairs are in one file, scores in another, line by line. SentEval's tokenised, lower-case copies
    and the untokenised originals can both be read. In 2015 and 2016 only some of the pairs were
    scored: the other lines are empty in the file of scores.
    """
    inputs, golds = _subset_files(folder, subset)
    rows = list(plain_fields(inputs, 2))
    scores = [(line, text.strip()) for line, text in numbered_lines(golds)]
    if [line for line, _ in rows] != [line for line, _ in scores]:
        raise DataError(
            f"{golds}: {len(scores)} lines for the {len(rows)} pairs of {inputs.name}; "
            "copy both files again, line N of one belongs to line N of the other"
        )
    pairs = [
        SentencePair(f"{subset}-{line}", first, second, score(f"{golds}:{line}", text))
        for (_, (first, second, *_)), (line, text) in zip(rows, scores, strict=True)
        if text
    ]
    if not pairs:
        raise DataError(f"{golds}: no scores; expected a number from 0 to 5 per line")
    return pairs


def _subset_files(folder: Path, subset: str) -> tuple[Path, Path]:
    """Return the files of a subset's pairs and scores; those of 2016 have other names."""
    names = [(f"{year}.input.{subset}.txt", f"{year}.gs.{subset}.txt") for year in YEARS]
    present = (both for both in names if stored(folder / both[0]).is_file())
    inputs, golds = next(present, names[0])
    return folder / inputs, folder / golds


def read_stsbenchmark(path: PathLike) -> list[SentencePair]:
    """Return the pairs of a file of STS-Benchmark (Cer et al. 2017), in order.

    A line is genre, file, year, id, score and two sentences; there is no header.
    """
    return [
        SentencePair(f"{file}-{line}", first, second, score(f"{path}:{line}", value))
        for line, (_, file, _, _, value, first, second, *_) in plain_fields(path, 7)
    ]


def read_sick(path: PathLike) -> list[SentencePair]:
    """Return the pairs of a SICK file (Marelli et al. 2014), in order; labels are the relatedness.

    A line is id, two sentences, relatedness from 1 to 5, and the judgment of entailment. Published
    files begin with a line of column names; copies without it are read alike.
    """
    return [
        SentencePair(row, first, second, score(f"{path}:{line}", value))
        for line, (row, first, second, value, *_) in plain_fields(path, 5, header="pair_ID")
    ]


def read_cnsd(path: PathLike) -> list[SentencePair]:
    """Return the pairs of the Chinese translation of STS-Benchmark, in order.

    A line of the files cnsd-sts-{train,dev,test}.txt is `id||sentence||sentence||score`.
    """
    return [
        SentencePair(row, first, second, score(f"{path}:{line}", value))
        for line, (row, first, second, value, *_) in plain_fields(path, 4, delimiter="||")
    ]


# --- classes and paraphrases


def read_polarity(positive: PathLike, negative: PathLike) -> list[Sentence]:
    """Return the sentences of two files, a sentence a line, the positive ones (label 1) first.

    MR, CR, SUBJ and MPQA: Pang and Lee 2005 and 2004, Hu and Liu 2004, Wiebe et al. 2005. Blank
    lines, three of MPQA's 10,606, are left out, with a note.
    """
    sentences = []
    for name, label, path in (("pos", 1, positive), ("neg", 0, negative)):
        lines = list(text_lines(path, latin=True))
        if blank := sum(not text for _, text in lines):
            logger.warning("%s: skipped %d blank lines", path, blank)
        sentences += [Sentence(f"{name}-{line}", text, label) for line, text in lines if text]
    return sentences


def read_sst2(path: PathLike) -> list[Sentence]:
    """Return the sentences of SST in two classes (Socher et al. 2013) in order; 1 is positive.

    Both forms that circulate are read: `sentence<TAB>label` (SentEval's sentiment-train) and
    `label sentence` (Kim's stsa.binary.train).
    """
    sentences = []
    for line, text in text_lines(path, latin=True):
        if not text:
            continue
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
    """Return questions (Li and Roth 2002), `LABEL:sublabel question`; label: place in TYPES."""
    questions = []
    for line, text in text_lines(path, latin=True):
        if not text:
            continue
        label, _, question = text.partition(" ")
        coarse = choice(f"{path}:{line}", label.partition(":")[0], TYPES)
        if not question.strip():
            raise DataError(f"{path}:{line}: no question after the label; correct the row")
        questions.append(Sentence(str(line), question.strip(), coarse))
    return questions


def read_mrpc(path: PathLike) -> list[SentencePair]:
    """Return the pairs of Microsoft's corpus (Dolan and Brockett 2005); label 1.0: paraphrases.

    A line is label, two ids and two sentences, tab-separated. Published files begin with a line of
    column names; copies without it are read alike.
    """
    pairs = []
    for line, fields in plain_fields(path, 5, header="Quality"):
        quality, id_a, id_b, text_a, text_b, *_ = fields
        label = float(choice(f"{path}:{line}", quality, BINARY))
        pairs.append(SentencePair(f"{id_a}-{id_b}", text_a, text_b, label))
    return pairs


# --- inference: whether a premise entails a hypothesis

# In the order of their numbers, which for NLI is that of SBERT's classes.
NLI_LABELS = ("entailment", "neutral", "contradiction")
NLI_COLUMNS = ("premise", "hypothesis", "label")
HANS_LABELS = ("non-entailment", "entailment")
HANS_COLUMNS = ("gold_label", "sentence1", "sentence2", "pairID", "heuristic", "subcase")


def iter_nli(path: PathLike) -> Iterator[SentencePair]:
    """Yield the pairs of a table; labels are 0.0, 1.0, 2.0 in the order of NLI_LABELS.

    Streams: half a million pairs cost no more memory than one. Columns have any usual names, as
    `sentence1`, `sentence2` and `gold_label` in SNLI and MultiNLI, and others are allowed. Quotes
    have no meaning between tabs, since sentences begin and end with them. Pairs without a label on
    which annotators agreed (`-` in SNLI) are left out.
    """
    empty = True
    premise, hypothesis, label = NLI_COLUMNS
    columns = (*pair_columns(premise, hypothesis), Column(label, LABEL, kind="label"))
    for line, row in open_table(path, columns, quotes=False).rows():
        premise, hypothesis, label = (row[name].strip() for name in NLI_COLUMNS)
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

    All words of a hypothesis occur in its premise, so the label depends on word order. The
    phenomenon is `heuristic/subcase`.
    """
    pairs = []
    columns = [Column(name, kind="other") for name in HANS_COLUMNS]
    for line, row in open_table(path, columns, quotes=False).rows():
        label, premise, hypothesis, id, *tags = (row[name].strip() for name in HANS_COLUMNS)
        gold = float(choice(f"{path}:{line}", label, HANS_LABELS))
        pairs.append(SentencePair(id, premise, hypothesis, gold, phenomenon="/".join(tags)))
    return pairs
