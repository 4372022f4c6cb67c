"""Every kind of input file: a sound one, and how this project reads it."""

import csv
import io
import json
import lzma
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conftest import toy_sentences

from baselines.words import StaticVectors
from data.columns import plain
from data.predictions import read_predictions
from data.published import HANS_LABELS as HANS
from data.published import (
    NLI_COLUMNS,
    NLI_LABELS,
    TYPES,
    iter_nli,
    read_cnsd,
    read_hans_file,
    read_mrpc,
    read_sick,
    read_sst2,
    read_stsbenchmark,
    read_subset,
    read_trec,
)
from data.sentences import iter_sentences
from data.tasks import read_quora, read_sst, read_sts
from data.triplets import iter_anli, iter_captions, iter_pairs, iter_triplets
from minbert.pretraining.corpus import read_paragraphs
from search.index import read_rows

Rows = list[tuple[Any, ...]]
TEXTS = toy_sentences(12, 3)
PAIRS = list(zip(TEXTS[:6], TEXTS[6:], strict=True))


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        name: of a file.
        content: of a sound one.
        read: our reader.
        largest: label, if it has numbers.
        columns: of a file of the course, whose own code must find the same rows in it.
    """

    name: str
    content: bytes
    read: Callable[[Path], Rows]
    largest: float | None = None
    columns: tuple[str, ...] = ()

    def as_the_course_reads(self, content: bytes) -> Rows:
        """Return rows as the course's code reads them; it checks nothing, and may raise.

        But for blank lines, and marks and case in the header, which are nothing to us.
        """
        text = content.decode("utf-8-sig")
        lines = "\n".join(line for line in text.split("\n") if line.strip(" \r"))
        table = csv.DictReader(io.StringIO(lines, newline="\n"), delimiter="\t")
        table.fieldnames = [plain(name) for name in table.fieldnames or ()]
        columns = list(map(plain, self.columns))
        rows = [tuple((row[column] or "").strip() for column in columns) for row in table]
        if self.largest is None:
            return rows
        return [(*texts, float(label)) for *texts, label in rows]


def _table(mark: str, header: str, rows: Iterable[Iterable[object]]) -> bytes:
    lines = [header.replace(" ", mark), *(mark.join(map(str, row)) for row in rows)]
    return "".join(f"{line}\n" for line in lines if line).encode()


def _ours(read: Callable[[Path], Iterable[Any]]) -> Callable[[Path], Rows]:
    """Return a reader of texts with, if there is one, the label behind."""

    def rows(path: Path) -> Rows:
        return [
            (*one.texts, *([one.label] if getattr(one, "label", None) is not None else []))
            for one in read(path)
        ]

    return rows


def _read_vectors(path: Path) -> Rows:
    return [tuple(row) for row in StaticVectors(path).embed(["cat", "dog", "boat"]).tolist()]


def _read_semeval(path: Path) -> Rows:
    """Read the broken file as the scores of sound pairs."""
    scores = path.with_name("STS.gs.toys.txt")
    path.replace(scores)
    path.with_name("STS.input.toys.txt").write_bytes(_table("\t", "", PAIRS))
    return _ours(lambda _: read_subset(path.parent, "toys"))(path)


def _read_paragraphs(path: Path) -> Rows:
    return [(text,) for text in read_paragraphs([path]) if text]


NUMBERED = list(enumerate(PAIRS))
SCORED = [(f"i{n}", a, b, n % 5 + 0.5) for n, (a, b) in NUMBERED]
SST = [(f"i{n}", text, n % 5) for n, text in enumerate(TEXTS)]
SAME = [(f"i{n}", a, b, float(n % 2)) for n, (a, b) in NUMBERED]
ENTAILED = [(a, b, NLI_LABELS[n % 3]) for n, (a, b) in NUMBERED]
OBJECTS = [dict(zip(NLI_COLUMNS, row, strict=True)) for row in ENTAILED]
JUDGED = [(HANS[n % 2], a, b, f"p{n}", "overlap", "swap") for n, (a, b) in NUMBERED]
PAIR = ("sentence1", "sentence2")
CORPUS = _table("", "", [[text] for text in TEXTS])

KINDS = [
    Kind(
        "sst.csv",
        _table("\t", "id sentence sentiment", SST),
        _ours(read_sst),
        4,
        ("sentence", "sentiment"),
    ),
    Kind(
        "sts.csv",
        _table("\t", "id sentence1 sentence2 similarity", SCORED),
        _ours(read_sts),
        5,
        (*PAIR, "similarity"),
    ),
    Kind(
        "test.csv",
        _table("\t", "id sentence1 sentence2", [row[:3] for row in SCORED]),
        _ours(lambda path: read_sts(path, labelled=False)),
        columns=PAIR,
    ),
    Kind(
        "quora.csv", _table("\t", "id sentence1 sentence2 is_duplicate", SAME), _ours(read_quora), 1
    ),
    Kind("nli.tsv", _table("\t", "premise hypothesis label", ENTAILED), _ours(iter_nli), 2),
    Kind(
        "triplets.csv",
        _table(",", "sent0 sent1 hard_neg", zip(TEXTS[:4], TEXTS[4:8], TEXTS[8:], strict=True)),
        _ours(iter_triplets),
    ),
    Kind("sentences.txt", CORPUS, lambda path: [(text,) for text in iter_sentences(path)]),
    Kind(
        "cnsd.txt",
        _table("||", "", [(i, a, b, int(s)) for i, a, b, s in SCORED]),
        _ours(read_cnsd),
        5,
    ),
    Kind(
        "hans.txt",
        _table("\t", "gold_label sentence1 sentence2 pairID heuristic subcase", JUDGED),
        _ours(read_hans_file),
        1,
    ),
    Kind(
        "mrpc.txt",
        _table("\t", "Quality id1 id2 s1 s2", [(n % 2, n, n, a, b) for n, (a, b) in NUMBERED]),
        _ours(read_mrpc),
        1,
    ),
    Kind(
        "sick.txt",
        _table("\t", "pair_ID A B score judgment", [(*row, "NEUTRAL") for row in SCORED]),
        _ours(read_sick),
        5,
    ),
    Kind(
        "stsbenchmark.csv",
        _table("\t", "", [("g", "f", "y", i, s, a, b) for i, a, b, s in SCORED]),
        _ours(read_stsbenchmark),
        5,
    ),
    Kind(
        "sst2.txt",
        _table("\t", "", [(text, n % 2) for n, text in enumerate(TEXTS)]),
        _ours(read_sst2),
        1,
    ),
    Kind(
        "trec.txt",
        _table(" ", "", [(f"{TYPES[n % 6]}:x", t) for n, t in enumerate(TEXTS)]),
        _ours(read_trec),
        5,
    ),
    Kind("semeval.txt", _table("", "", [[n % 5] for n, _ in NUMBERED]), _read_semeval, 5),
    Kind(
        "unlabelled.txt",
        _table("\t", "", PAIRS),
        lambda path: [(a, b) for a, b, _ in iter_pairs(path)],
    ),
    Kind(
        "anli.jsonl",
        _table(
            "", "", [[json.dumps(dict(zip(NLI_COLUMNS, row, strict=True)))] for row in ENTAILED]
        ),
        lambda path: [*iter_anli(path)],
    ),
    Kind(
        "captions.txt",
        _table("\t", "", [(f"{n // 3}#{n}", t) for n, t in enumerate(TEXTS)]),
        lambda path: [*iter_captions(path)],
    ),
    Kind(
        "predictions.csv",
        _table(" , ", "id Predicted_Sentiment", [(f"i{n}", n % 5) for n in range(9)]),
        lambda path: [(id, value) for id, (_, value) in read_predictions(path).values.items()],
        4,
    ),
    Kind(
        "queries.tsv",
        _table("\t", "", [(f"i{n}", t) for n, t in enumerate(TEXTS)]),
        lambda path: [tuple(row) for _, row in read_rows(path, True)],
    ),
    Kind(
        "glove.txt",
        _table(" ", "", [("cat", 1, 2), ("dog", 0.5, 3), ("boat", 4, -1)]),
        _read_vectors,
        float("inf"),
    ),
    Kind("corpus.txt", CORPUS, _read_paragraphs),
    Kind("corpus.txt.xz", lzma.compress(CORPUS), _read_paragraphs),
]
