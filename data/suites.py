"""The sets of the evaluation suites, the names of their files, and their readers.

Each set is one record. Files are found by name anywhere in a folder, so SentEval's tree, a flat
folder and the bundled data set all work.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from data.examples import DataError, SentencePair
from data.locate import locate
from data.published import (
    iter_nli,
    read_cnsd,
    read_hans_file,
    read_mrpc,
    read_polarity,
    read_sick,
    read_sst2,
    read_stsbenchmark,
    read_trec,
    read_year,
)
from data.table import PathLike
from data.tasks import SPLITS, Splits, read_quora

T = TypeVar("T")
Subsets = dict[str, list[SentencePair]]

# Command that writes the files when a folder is appended.
CS224N = "python -m data.download cs224n --out"
STS = "python -m data.download sts --out"
TRANSFER = "python -m data.download transfer --out"
HANS = "python -m data.download hans --out"
BUNDLED = "python -m data.synthetic --out"


@dataclass(frozen=True)
class EvaluationSet(Generic[T]):
    """One set: its files and their reader.

    Attributes:
        files: the files, or the folder, to look for; "a or b" has two names.
        read: from their paths to T: pairs by subset (STS), splits, or pairs.
        command: the command that writes the files, "" for none.
    """

    files: tuple[str, ...]
    read: Callable[..., T]
    command: str


# --- similarity

# SemEval's subsets of 2012 to 2016. The fourth of 2013, SMT, is not freely available; SentEval goes
# without it.
SEMEVAL = {
    "STS12": "MSRpar MSRvid SMTeuroparl surprise.OnWN surprise.SMTnews",
    "STS13": "FNWN headlines OnWN",
    "STS14": "deft-forum deft-news headlines OnWN images tweet-news",
    "STS15": "answers-forums answers-students belief headlines images",
    "STS16": "answer-answer headlines plagiarism postediting question-question",
}
SYNTHETIC_SUBSETS = "statements headlines questions"


def _year(folder: str, name: str, subsets: str, command: str) -> EvaluationSet[Subsets]:
    read = partial(read_year, name=name, subsets=subsets.split(), command=command)
    return EvaluationSet((folder,), read, command)


def _one_part(part: str, read: Callable[[Path], list[SentencePair]]) -> Callable[..., Subsets]:
    """Return a reader of one subset, from a file or from several."""
    return lambda *paths: {part: [pair for path in paths for pair in read(path)]}


# The dev parts are separate sets, so their scores are not confused with those of test.
STS_SETS: dict[str, EvaluationSet[Subsets]] = {
    **{name: _year(f"{name}-en-test", name, subsets, STS) for name, subsets in SEMEVAL.items()},
    "STSBenchmark": EvaluationSet(
        ("STSBenchmark/sts-test.csv or sts-test.csv",), _one_part("test", read_stsbenchmark), STS
    ),
    "STSBenchmark-dev": EvaluationSet(
        ("STSBenchmark/sts-dev.csv",), _one_part("dev", read_stsbenchmark), STS
    ),
    # SimCSE's papers score the 4,927 test pairs, MTEB all 9,927.
    "SICK-R": EvaluationSet(("SICK_test_annotated.txt",), _one_part("test", read_sick), STS),
    "SICK-R-all": EvaluationSet(
        ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"),
        _one_part("all", read_sick),
        STS,
    ),
    "STSBenchmark-zh": EvaluationSet(("cnsd-sts-test.txt",), _one_part("test", read_cnsd), ""),
    "STSBenchmark-zh-dev": EvaluationSet(("cnsd-sts-dev.txt",), _one_part("dev", read_cnsd), ""),
    "synthetic-sts": _year("Synthetic-en-test", "synthetic-sts", SYNTHETIC_SUBSETS, BUNDLED),
}


# --- classes and pairs


def _folds(positive: Path, negative: Path) -> Splits:
    """Return all rows of two files of opposite classes as training rows, to be cut into folds."""
    return Splits(read_polarity(positive, negative), [], [])


def _parts(read: Callable[[Path], list[Any]]) -> Callable[..., Splits]:
    """Return a reader of train, dev (if any) and test from a file each."""

    def splits(*paths: Path) -> Splits:
        train, *dev, test = map(read, paths)
        return Splits(train, dev[0] if dev else [], test)

    return splits


def _mrpc_classes(path: Path) -> list[SentencePair]:
    """Return paraphrases with integer labels 1 and 0, for classifiers."""
    return [replace(pair, label=int(pair.label or 0)) for pair in read_mrpc(path)]


SST2 = "binary/sentiment-{0} or sentiment-{0} or stsa.binary.{0}"
MRPC = ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt")
SYNTHETIC_PARAPHRASES = ("synthetic_paraphrase_train.txt", "synthetic_paraphrase_test.txt")

TRANSFER_SETS: dict[str, EvaluationSet[Splits]] = {
    "MR": EvaluationSet(("rt-polarity.pos", "rt-polarity.neg"), _folds, TRANSFER),
    "CR": EvaluationSet(("custrev.pos", "custrev.neg"), _folds, TRANSFER),
    "SUBJ": EvaluationSet(
        ("subj.objective or plot.tok.gt9.5000", "subj.subjective or quote.tok.gt9.5000"),
        _folds,
        TRANSFER,
    ),
    "MPQA": EvaluationSet(("mpqa.pos", "mpqa.neg"), _folds, TRANSFER),
    "SST2": EvaluationSet(tuple(map(SST2.format, SPLITS)), _parts(read_sst2), TRANSFER),
    "TREC": EvaluationSet(("train_5500.label", "TREC_10.label"), _parts(read_trec), TRANSFER),
    "MRPC": EvaluationSet(MRPC, _parts(_mrpc_classes), TRANSFER),
    "synthetic-polarity": EvaluationSet(
        ("synthetic-polarity.pos", "synthetic-polarity.neg"), _folds, BUNDLED
    ),
    "synthetic-questions": EvaluationSet(
        ("synthetic_questions_train.label", "synthetic_questions_test.label"),
        _parts(read_trec),
        BUNDLED,
    ),
    "synthetic-paraphrase": EvaluationSet(SYNTHETIC_PARAPHRASES, _parts(_mrpc_classes), BUNDLED),
}

PAIR_SETS: dict[str, EvaluationSet[Splits]] = {
    "MRPC": EvaluationSet(MRPC, _parts(read_mrpc), TRANSFER),
    # Named by the task, since files of these names may have other data than Quora's. CS224N's
    # test file has no labels, so dev is scored.
    "para-dev": EvaluationSet(("quora-train.csv", "quora-dev.csv"), _parts(read_quora), CS224N),
    "synthetic-paraphrase": EvaluationSet(SYNTHETIC_PARAPHRASES, _parts(read_mrpc), BUNDLED),
}

HANS_SETS: dict[str, EvaluationSet[list[SentencePair]]] = {
    "HANS": EvaluationSet(("heuristics_evaluation_set.txt",), read_hans_file, HANS),
    "synthetic-hans": EvaluationSet(
        ("synthetic_heuristics_evaluation_set.txt",), read_hans_file, BUNDLED
    ),
}
NLI_FILE = "nli_pairs.tsv"


# --- reading by name


def read_sts_set(folder: PathLike, name: str) -> Subsets:
    """Return the pairs with a gold score of a set of STS_SETS, by subset.

    Raises:
        MissingSet: its files are not in the folder.
        DataError: an unknown set or a broken file.
    """
    return _read(STS_SETS, folder, name)


def read_transfer_set(folder: PathLike, name: str) -> Splits:
    """Return a set of TRANSFER_SETS; labels are whole numbers from 0; errors as `read_sts_set`.

    All rows are in `train` if the protocol is ten-fold cross-validation (MR, CR, SUBJ, MPQA); `dev`
    is [] if none is published (TREC, MRPC).
    """
    return _read(TRANSFER_SETS, folder, name)


def read_pair_set(folder: PathLike, name: str) -> Splits:
    """Return a set of PAIR_SETS: `train` to choose a threshold on, `test` to be scored.

    Labels are 1.0 (the same) and 0.0; errors as `read_sts_set`.
    """
    return _read(PAIR_SETS, folder, name)


def read_hans(folder: PathLike, name: str = "HANS") -> list[SentencePair]:
    """Return a set of HANS_SETS: 1.0 entailment, 0.0 non-entailment; errors as `read_sts_set`.

    The phenomenon is `heuristic/subcase`.
    """
    return _read(HANS_SETS, folder, name)


def read_nli(folder: PathLike) -> list[SentencePair]:
    """Return labelled pairs: 0.0 entailment, 1.0 neutral, 2.0 contradiction.

    Raises:
        MissingSet: no nli_pairs.tsv in the folder.
        DataError: a broken file.
    """
    return list(iter_nli(locate(Path(folder), "NLI", [[NLI_FILE]], BUNDLED)[0]))


def _read(sets: Mapping[str, EvaluationSet[T]], folder: PathLike, name: str) -> T:
    """Return a set's content from a folder, at any depth."""
    if name not in sets:
        raise DataError(f"set {name!r} is unknown; choose one of {', '.join(sets)}")
    files = [file.split(" or ") for file in sets[name].files]
    return sets[name].read(*locate(Path(folder), name, files, sets[name].command))
