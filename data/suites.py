"""The evaluation suites: which sets there are, how their files are named, how they are read.

Each set is one record. Files are found by name anywhere in a folder, so SentEval's tree, a flat
folder and the bundled data set are read alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from data.examples import DataError, SentencePair
from data.locate import locate
from data.nli import iter_nli, read_hans_file
from data.sts import read_cnsd, read_sick, read_stsbenchmark, read_year
from data.tables import PathLike
from data.tasks import TASKS, Splits
from data.transfer import read_mrpc, read_polarity, read_sst2, read_trec

T = TypeVar("T")

STS_COMMAND = "python -m data.download sts --out"
TRANSFER_COMMAND = "python -m data.download transfer --out"
HANS_COMMAND = "python -m data.download hans --out"
CS224N_COMMAND = "python -m data.download cs224n --out"
BUNDLED_COMMAND = "python -m data.synthetic --out"

# For each file, the names that it is known by; the preferred one first.
Names = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class EvaluationSet(Generic[T]):
    """One set: the files that it consists of, and how they are read.

    Attributes:
        name: as in result tables.
        about: a short description.
        names: the files or folders to look for.
        read: from their paths to T: pairs by subset (STS), or splits.
        command: what writes the files when a folder is appended, "" where there is no such thing.
    """

    name: str
    about: str
    names: Names
    read: Callable[[list[Path]], T]
    command: str = TRANSFER_COMMAND

    def of(self, folder: PathLike) -> T:
        """Return the set's content from a folder, at any depth.

        Raises:
            MissingSet: its files are not in the folder.
            DataError: a broken file.
        """
        return self.read(locate(Path(folder), self.name, self.names, self.command))


Subsets = dict[str, list[SentencePair]]
StsSet = EvaluationSet[Subsets]
SplitSet = EvaluationSet[Splits]


# --- sets of several files


def read_folds(paths: list[Path]) -> Splits:
    """Return all rows of two files of opposite classes as training rows, to be cut into folds."""
    return Splits(read_polarity(*paths), [], [])


def read_sst2_splits(paths: list[Path]) -> Splits:
    """Return SST in two classes from its three files."""
    train, dev, test = map(read_sst2, paths)
    return Splits(train, dev, test)


def read_trec_splits(paths: list[Path]) -> Splits:
    """Return questions by type from two files; there is no dev part."""
    train, test = map(read_trec, paths)
    return Splits(train, [], test)


def read_mrpc_splits(paths: list[Path]) -> Splits:
    """Return paraphrases from two files, labels 1.0 and 0.0; there is no dev part."""
    train, test = map(read_mrpc, paths)
    return Splits(train, [], test)


def read_mrpc_classes(paths: list[Path]) -> Splits:
    """Return the same with the whole numbers 1 and 0 as labels, as classifiers take them."""
    train, test = (
        [replace(pair, label=int(pair.label or 0)) for pair in read_mrpc(path)] for path in paths
    )
    return Splits(train, [], test)


def read_quora_splits(paths: list[Path]) -> Splits:
    """Return CS224N's train and dev file of Quora as train and test: its test has no labels."""
    train, dev = map(TASKS["para"].read, paths)
    return Splits(train, [], dev)


# --- the sets


def _year(name: str, about: str, *subsets: str, command: str = STS_COMMAND) -> StsSet:
    def read(paths: list[Path]) -> Subsets:
        return read_year(paths[0], name, subsets, command)

    return StsSet(name, about, ((f"{name}-en-test",),), read, command)


def _one_part(
    name: str,
    about: str,
    file: tuple[str, ...],
    read: Callable[[PathLike], list[SentencePair]],
    command: str = STS_COMMAND,
) -> StsSet:
    part = "dev" if name.endswith("-dev") else "test"
    return StsSet(name, about, (file,), lambda paths: {part: read(paths[0])}, command)


SYNTHETIC_SUBSETS = ("statements", "headlines", "questions")

_STS = (
    _year(
        "STS12", "SemEval 2012", "MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN",
        "surprise.SMTnews",
    ),
    # The fourth subset of 2013, SMT, is not freely available; SentEval goes without it.
    _year("STS13", "SemEval 2013", "FNWN", "headlines", "OnWN"),
    _year(
        "STS14", "SemEval 2014", "deft-forum", "deft-news", "headlines", "OnWN", "images",
        "tweet-news",
    ),
    _year(
        "STS15", "SemEval 2015", "answers-forums", "answers-students", "belief", "headlines",
        "images",
    ),
    _year(
        "STS16", "SemEval 2016", "answer-answer", "headlines", "plagiarism", "postediting",
        "question-question",
    ),
    _one_part(
        "STSBenchmark", "STS-Benchmark, test", ("STSBenchmark/sts-test.csv", "sts-test.csv"),
        read_stsbenchmark,
    ),
    # Sets of their own, so that nobody takes their numbers for those of the test split.
    _one_part(
        "STSBenchmark-dev", "STS-Benchmark, dev", ("STSBenchmark/sts-dev.csv",), read_stsbenchmark
    ),
    _one_part("SICK-R", "SICK relatedness, test", ("SICK_test_annotated.txt",), read_sick),
    _one_part(
        "STSBenchmark-zh", "STS-Benchmark in Chinese, test", ("cnsd-sts-test.txt",), read_cnsd, ""
    ),
    _one_part(
        "STSBenchmark-zh-dev", "STS-Benchmark in Chinese, dev", ("cnsd-sts-dev.txt",), read_cnsd,
        "",
    ),
    replace(
        _year("synthetic-sts", "bundled: similarities of synthetic sentences", *SYNTHETIC_SUBSETS,
              command=BUNDLED_COMMAND),
        names=(("Synthetic-en-test",),),
    ),
)  # fmt: skip
STS_SETS: dict[str, StsSet] = {record.name: record for record in _STS}

MRPC_FILES = (("msr_paraphrase_train.txt",), ("msr_paraphrase_test.txt",))
SYNTHETIC_PARAPHRASE_FILES = (
    ("synthetic_paraphrase_train.txt",),
    ("synthetic_paraphrase_test.txt",),
)

_TRANSFER = (
    SplitSet(
        "MR", "film reviews, 2 classes", (("rt-polarity.pos",), ("rt-polarity.neg",)),
        read_folds,
    ),
    SplitSet(
        "CR", "product reviews, 2 classes", (("custrev.pos",), ("custrev.neg",)), read_folds,
    ),
    SplitSet(
        "SUBJ", "objective or subjective",
        (("subj.objective", "plot.tok.gt9.5000"), ("subj.subjective", "quote.tok.gt9.5000")),
        read_folds,
    ),
    SplitSet("MPQA", "opinions, 2 classes", (("mpqa.pos",), ("mpqa.neg",)), read_folds),
    SplitSet(
        "SST2", "SST, 2 classes",
        tuple(
            (f"binary/sentiment-{split}", f"sentiment-{split}", f"stsa.binary.{split}")
            for split in ("train", "dev", "test")
        ),
        read_sst2_splits,
    ),
    SplitSet(
        "TREC", "questions by type, 6 classes",
        (("train_5500.label",), ("TREC_10.label",)), read_trec_splits,
    ),
    SplitSet("MRPC", "paraphrases in the news", MRPC_FILES, read_mrpc_classes),
    SplitSet(
        "synthetic-polarity", "bundled: opinions, 2 classes",
        (("synthetic-polarity.pos",), ("synthetic-polarity.neg",)), read_folds, BUNDLED_COMMAND,
    ),
    SplitSet(
        "synthetic-questions", "bundled: questions by type, 6 classes",
        (("synthetic_questions_train.label",), ("synthetic_questions_test.label",)),
        read_trec_splits, BUNDLED_COMMAND,
    ),
    SplitSet(
        "synthetic-paraphrase", "bundled: paraphrases", SYNTHETIC_PARAPHRASE_FILES,
        read_mrpc_classes, BUNDLED_COMMAND,
    ),
)  # fmt: skip
TRANSFER_SETS: dict[str, SplitSet] = {record.name: record for record in _TRANSFER}

_PAIRS = (
    SplitSet("MRPC", "paraphrases in the news", MRPC_FILES, read_mrpc_splits),
    SplitSet(
        # Named by the task, as other data than Quora's may stand in files of these names.
        "para-dev", "the paraphrase task of CS224N's files, dev",
        tuple((name,) for name in TASKS["para"].files[:2]),
        read_quora_splits, CS224N_COMMAND,
    ),
    SplitSet(
        "synthetic-paraphrase", "bundled: paraphrases", SYNTHETIC_PARAPHRASE_FILES,
        read_mrpc_splits, BUNDLED_COMMAND,
    ),
)  # fmt: skip
PAIR_SETS: dict[str, SplitSet] = {record.name: record for record in _PAIRS}

# The file's name and the command that writes it.
HANS_SETS = {
    "HANS": ("heuristics_evaluation_set.txt", HANS_COMMAND),
    "synthetic-hans": ("synthetic_heuristics_evaluation_set.txt", BUNDLED_COMMAND),
}
NLI_FILES = (("nli_pairs.tsv",),)


# --- reading by name


def read_sts_set(folder: PathLike, name: str) -> dict[str, list[SentencePair]]:
    """Return the pairs with a gold score of a set of STS_SETS, by subset.

    Raises:
        MissingSet: its files are not in the folder.
        DataError: an unknown set or a broken file.
    """
    return _record(STS_SETS, name).of(folder)


def read_transfer_set(folder: PathLike, name: str) -> Splits:
    """Return a set of TRANSFER_SETS; labels are whole numbers from 0.

    All rows are in `train` where the protocol is ten-fold cross-validation (MR, CR, SUBJ, MPQA);
    `dev` is [] where none is published (TREC, MRPC).

    Raises:
        MissingSet: its files are not in the folder.
        DataError: an unknown set or a broken file.
    """
    return _record(TRANSFER_SETS, name).of(folder)


def read_pair_set(folder: PathLike, name: str) -> Splits:
    """Return a set of PAIR_SETS: `train` to choose a threshold on, `test` to be scored.

    Labels are 1.0 (the same) and 0.0.

    Raises:
        MissingSet: its files are not in the folder.
        DataError: an unknown set or a broken file.
    """
    return _record(PAIR_SETS, name).of(folder)


def read_hans(folder: PathLike, name: str = "HANS") -> list[SentencePair]:
    """Return a set of HANS_SETS: 1.0 entailment, 0.0 non-entailment.

    The phenomenon is `heuristic/subcase`.

    Raises:
        MissingSet: its file is not in the folder.
        DataError: an unknown set or a broken file.
    """
    file, command = _record(HANS_SETS, name)
    return read_hans_file(locate(Path(folder), name, ((file,),), command)[0])


def read_nli(folder: PathLike) -> list[SentencePair]:
    """Return labelled pairs: 0.0 entailment, 1.0 neutral, 2.0 contradiction.

    Raises:
        MissingSet: no nli_pairs.tsv in the folder.
        DataError: a broken file.
    """
    return list(iter_nli(locate(Path(folder), "NLI", NLI_FILES, BUNDLED_COMMAND)[0]))


def _record(records: Mapping[str, T], name: str) -> T:
    if name not in records:
        raise DataError(f"set {name!r} is unknown; choose one of {', '.join(records)}")
    return records[name]
