"""The command lines of `python -m search`; no work and no heavy imports."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.examples import DataError
from minbert.config import POOLINGS
from runtime.options import option

HELP = """\
usage: python -m search index|query|pairs|threshold|mine ...

Find the texts nearest to a query by the cosine of their embeddings, exactly. An index
is a folder: each text is encoded once, and vectors are read from disk as needed.

examples:
  python -m search index sentences.txt --out my-index
  python -m search query my-index "a man plays the guitar"
  python -m search query my-index --top-k 3 --json < queries.txt > found.jsonl
  python -m search index more.txt --out my-index --append
  python -m search threshold my-index labelled.tsv --precision 0.95
  python -m search pairs my-index --threshold 0.95
  python -m search mine my-index pairs.tsv --out triplets.csv
  re-rank with a cross-encoder that run_multitask.py has trained:
    python run_multitask.py --task sts --encoder cross --run-dir runs/cross
    python -m search query my-index "a man plays the guitar" --rerank runs/cross

Each command has its own --help.
Exit codes: 0 success, 2 invalid input, 130 interrupted, 1 a bug in this project."""

INDEX: Any = {"help": "folder of the index", "metavar": "INDEX"}
DEVICE: Any = {
    "help": "where to encode; auto: a GPU if there is one",
    "choices": ("auto", "cpu", "cuda"),
    "group": "machine",
}
PRECISION: Any = {
    "help": "precision of the encoder; auto: bfloat16 if the hardware has it",
    "choices": ("auto", "float32", "bfloat16"),
}
THREADS: Any = {"help": "CPU threads; 0: the default of PyTorch", "least": 0, "most": 4096}

INT8 = {"--precision int8": "leave it out"}
CELL: Any = {
    "help": "head of --rerank: name of a cell, or of a task for its best cell",
    "metavar": "NAME",
}


@dataclass(frozen=True)
class IndexOptions:
    """`python -m search index`."""

    file: Path = option(help="one text per line; - is stdin", flag="file", metavar="FILE")
    out: Path = option(**INDEX, required=True)
    backbone: str | None = option(
        None,
        "mini-sts, mini, a checkpoint folder or a hub ID (default: mini-sts; for an existing "
        "index, the encoder of the index)",
        metavar="NAME",
    )
    pooling: str | None = option(
        None, "pooling (default: from the checkpoint, otherwise [CLS])", choices=POOLINGS
    )
    append: bool = option(False, "add the texts of FILE to those that the index holds")
    ids: bool = option(False, "lines are ID<TAB>TEXT; without it, ids are line numbers")
    device: str = option("auto", **DEVICE)
    precision: str = option("auto", **PRECISION)
    threads: int = option(0, **THREADS)


INDEX_ABOUT = {
    "prog": "python -m search index",
    "gone": {"--vectors": "leave it out; the texts of FILE are encoded here", **INT8},
    "description": """\
Encode the texts of a file into an index. If INDEX already holds the first
texts of FILE, only the others are encoded. Run the same command again to continue after
an interruption, or to add new lines of FILE.""",
    "epilog": """\
examples:
  python -m search index sentences.txt --out my-index --backbone runs/backbones/sup-1a2b3c4d
  zcat sentences.txt.gz | python -m search index - --out my-index
  python -m search index products.tsv --ids --out my-index --append""",
}


@dataclass(frozen=True)
class QueryOptions:
    """`python -m search query`."""

    index: Path = option(**INDEX, flag="index")
    text: tuple[str, ...] = option(
        (), "queries, each in quotes; none: one per line of stdin", flag="text", metavar="TEXT"
    )
    top_k: int = option(10, "texts per query", least=1, most=10_000)
    rerank: Path | None = option(
        None,
        "order the nearest by the best cross-encoder or late interaction of a run folder of "
        "run_multitask.py, or by one file of its heads/",
        metavar="RUN",
    )
    cell: str | None = option(None, **CELL)
    candidates: int = option(100, "how many texts --rerank reads per query", least=1, most=10_000)
    json: bool = option(False, "print one JSON object per query")
    device: str = option("auto", **DEVICE)
    precision: str = option("auto", **PRECISION)
    threads: int = option(0, **THREADS)

    def __post_init__(self) -> None:
        _check_cell(self)


QUERY_ABOUT = {
    "prog": "python -m search query",
    "gone": INT8,
    "description": """\
Print the texts of an index that are nearest to each query. The search is
exact: it computes the cosine of every text. Ties keep the order of the index.""",
    "epilog": """\
examples:
  python -m search query my-index "a man plays the guitar" "rain in spring" --top-k 5
  python -m search query my-index --json < queries.txt > found.jsonl
  python -m search query my-index "a man plays the guitar" --rerank runs/cross --candidates 50
  python -m search query my-index "rain in spring" --rerank runs/all --cell sts

A terminal is answered line by line; other input is read 256 queries at a time.""",
}


@dataclass(frozen=True)
class PairsOptions:
    """`python -m search pairs`."""

    index: Path = option(**INDEX, flag="index")
    threshold: float = option(0.9, "smallest cosine of a pair", least=-1, most=1)
    top: int = option(
        100, "number of pairs to print, the most similar first", least=1, most=1_000_000
    )
    all: bool = option(False, "print all pairs in the order of the search, instead of the top ones")
    json: bool = option(False, "print one JSON object per pair")
    threads: int = option(0, **THREADS, group="machine")


PAIRS_ABOUT = {
    "prog": "python -m search pairs",
    "description": """\
Print the most similar pairs of texts in an index, for example near duplicates. All
pairs are compared, block by block. Time grows with the square of the number of texts;
memory grows only with --top.""",
    "epilog": """\
examples:
  python -m search pairs my-index --threshold 0.95 --top 1000 --json > pairs.jsonl
  python -m search pairs my-index --threshold 0.9 --all --json > pairs.jsonl""",
}


@dataclass(frozen=True)
class ThresholdOptions:
    """`python -m search threshold`."""

    index: Path = option(**INDEX, flag="index")
    file: Path = option(help="labelled pairs, as described above", flag="file", metavar="LABELLED")
    precision: float | None = option(
        None, "precision to reach, at the highest recall (default: the best F1)", least=0.01, most=1
    )
    at: float | None = option(
        None, "labels are scores; pairs of this score or more are positive", metavar="SCORE"
    )
    columns: tuple[str, ...] = option(
        (), "names or numbers of the columns: FIRST SECOND LABEL", metavar="NAME"
    )
    device: str = option("auto", **DEVICE)
    threads: int = option(0, **THREADS)


THRESHOLD_ABOUT = {
    "prog": "python -m search threshold",
    "description": """\
Choose the cosine threshold of `search pairs` from labelled pairs.

LABELLED is a table of pairs, tab- or comma-separated or JSON lines, with a header or
without: two texts, and a label that is 0 or 1, or yes or no. The texts are embedded by
the encoder of INDEX; they need not be in it.

The threshold is chosen on half of the pairs. Precision and recall are measured on the
other half, with 95% intervals. No text is in both halves.""",
    "epilog": """\
examples:
  python -m search threshold my-index labelled.tsv
  python -m search threshold my-index labelled.csv --precision 0.95
  python -m search threshold my-index similarities.tsv --at 4""",
}


@dataclass(frozen=True)
class MineOptions:
    """`python -m search mine`."""

    index: Path = option(**INDEX, flag="index")
    pairs: Path = option(
        help="ANCHOR<TAB>POSITIVE lines, or a table with sentence1 and sentence2",
        flag="pairs",
        metavar="PAIRS",
    )
    out: Path = option(help="sent0,sent1,hard_neg CSV to write", required=True, metavar="CSV")
    from_rank: int = option(
        1, "rank of the first candidate that remains after the margins", least=1
    )
    to_rank: int = option(100, "rank of the last candidate", least=1, most=10_000)
    relative_margin: float = option(
        0.05,
        "minimum gap of a negative to the positive, as a share of the positive's score",
        least=0,
        most=1e6,
        source="NV-Retriever",
    )
    margin: float = option(0.0, "minimum gap as a difference of scores", least=0, most=1e6)
    per_pair: int = option(1, "negatives per pair", least=1, most=10_000)
    random: float = option(
        0.0,
        "share of the negatives drawn at random from the ranks; the others are the nearest",
        least=0,
        most=1,
    )
    seed: int = option(0, "seed of --random", least=0, most=2**31)
    rerank: Path | None = option(
        None,
        "score by the best cross-encoder or late interaction of a run folder of "
        "run_multitask.py, or by one file of its heads/; positives too",
        metavar="RUN",
    )
    cell: str | None = option(None, **CELL)
    device: str = option("auto", **DEVICE)
    precision: str = option("auto", **PRECISION)
    threads: int = option(0, **THREADS)

    def __post_init__(self) -> None:
        _check_cell(self)
        if self.per_pair > self.to_rank - self.from_rank + 1:
            raise DataError(
                f"--per-pair {self.per_pair}: more than the texts from --from-rank "
                f"{self.from_rank} to --to-rank {self.to_rank}; raise --to-rank"
            )


def _check_cell(options: QueryOptions | MineOptions) -> None:
    if options.cell and not options.rerank:
        raise DataError(f"--cell {options.cell}: names a head of --rerank; add --rerank RUN")


MINE_ABOUT = {
    "prog": "python -m search mine",
    "gone": INT8,
    "description": """\
Write hard negatives for pairs, as triplets that run_multitask.py --sup-data reads:
texts of an index that are near the anchor, and not as near as the positive. Texts
equal to an anchor or its positives are never negatives. A pair without such
texts is left out.""",
    "epilog": """\
examples:
  python -m search mine my-index pairs.tsv --out triplets.csv
  python -m search mine my-index pairs.tsv --from-rank 10 --random 1 --per-pair 3 --out triplets.csv
  python -m search mine my-index pairs.tsv --rerank runs/cross --margin 0.5 --out triplets.csv
then: python run_multitask.py --pretrain sup --sup-data triplets.csv""",
}
