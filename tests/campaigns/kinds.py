"""Every kind of input file: a sound one, how this project reads it, and the plain form."""

import json
import lzma
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baselines.words import StaticVectors
from campaigns import plain_forms as plain
from campaigns.plain_forms import PAIRS, TEXTS, Rows
from data.nli import HANS_LABELS as HANS
from data.nli import NLI_LABELS as NLI
from data.nli import iter_nli, read_hans_file
from data.predictions import read_predictions
from data.published import (
    TYPES,
    read_cnsd,
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


@dataclass(frozen=True)
class Kind:
    """A kind of file: a sound one, our reader, a plain one; `largest` label, if it has numbers."""

    name: str
    content: bytes
    read: Callable[[Path], Rows]
    plain: Callable[[bytes], Rows]
    largest: float | None = None

    @property
    def is_text(self) -> bool:
        """Return whether it is not compressed."""
        return not self.name.endswith(".xz")


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
ENTAILED = [(a, b, list(NLI)[n % 3]) for n, (a, b) in NUMBERED]
JUDGED = [(HANS[n % 2], a, b, f"p{n}", "overlap", "swap") for n, (a, b) in NUMBERED]
PAIR = ("sentence1", "sentence2")

KINDS = [
    Kind(
        "sst.csv",
        _table("\t", "id sentence sentiment", SST),
        _ours(read_sst),
        plain.course("sentence", "sentiment"),
        4,
    ),
    Kind(
        "sts.csv",
        _table("\t", "id sentence1 sentence2 similarity", SCORED),
        _ours(read_sts),
        plain.course(*PAIR, "similarity"),
        5,
    ),
    Kind(
        "test.csv",
        _table("\t", "id sentence1 sentence2", [row[:3] for row in SCORED]),
        _ours(lambda path: read_sts(path, labelled=False)),
        plain.course(*PAIR),
    ),
    Kind(
        "quora.csv",
        _table("\t", "id sentence1 sentence2 is_duplicate", SAME),
        _ours(read_quora),
        plain.quora,
        1,
    ),
    Kind(
        "nli.tsv",
        _table("\t", "premise hypothesis label", ENTAILED),
        _ours(iter_nli),
        plain.by_header(("premise", "hypothesis", "label"), tuple(NLI)),
        2,
    ),
    Kind(
        "triplets.csv",
        _table(",", "sent0 sent1 hard_neg", zip(TEXTS[:4], TEXTS[4:8], TEXTS[8:], strict=True)),
        _ours(iter_triplets),
        plain.triplets,
    ),
    Kind(
        "sentences.txt",
        _table("", "", [[text] for text in TEXTS]),
        lambda path: [(text,) for text in iter_sentences(path)],
        plain.texts_alone,
    ),
    Kind(
        "cnsd.txt",
        _table("||", "", [(i, a, b, int(s)) for i, a, b, s in SCORED]),
        _ours(read_cnsd),
        plain.cnsd,
        5,
    ),
    Kind(
        "hans.txt",
        _table("\t", "gold_label sentence1 sentence2 pairID heuristic subcase", JUDGED),
        _ours(read_hans_file),
        plain.by_header((*PAIR, "gold_label"), HANS),
        1,
    ),
    Kind(
        "mrpc.txt",
        _table("\t", "Quality id1 id2 s1 s2", [(n % 2, n, n, a, b) for n, (a, b) in NUMBERED]),
        _ours(read_mrpc),
        plain.split((3, 4, 0), skip="Quality", names=("0", "1")),
        1,
    ),
    Kind(
        "sick.txt",
        _table("\t", "pair_ID A B score judgment", [(*row, "NEUTRAL") for row in SCORED]),
        _ours(read_sick),
        plain.split((1, 2, 3), skip="pair_ID"),
        5,
    ),
    Kind(
        "stsbenchmark.csv",
        _table("\t", "", [("g", "f", "y", i, s, a, b) for i, a, b, s in SCORED]),
        _ours(read_stsbenchmark),
        plain.split((5, 6, 4)),
        5,
    ),
    Kind(
        "sst2.txt",
        _table("\t", "", [(text, n % 2) for n, text in enumerate(TEXTS)]),
        _ours(read_sst2),
        plain.sst2,
        1,
    ),
    Kind(
        "trec.txt",
        _table(" ", "", [(f"{TYPES[n % 6]}:x", t) for n, t in enumerate(TEXTS)]),
        _ours(read_trec),
        plain.trec,
        5,
    ),
    Kind(
        "semeval.txt",
        _table("", "", [[n % 5] for n, _ in NUMBERED]),
        _read_semeval,
        plain.semeval,
        5,
    ),
    Kind(
        "unlabelled.txt",
        _table("\t", "", PAIRS),
        lambda path: [(a, b) for a, b, _ in iter_pairs(path)],
        plain.unlabelled,
    ),
    Kind(
        "anli.jsonl",
        _table(
            "",
            "",
            [
                [json.dumps({"premise": a, "hypothesis": b, "label": label[0]})]
                for a, b, label in ENTAILED
            ],
        ),
        lambda path: [*iter_anli(path)],
        plain.anli,
    ),
    Kind(
        "captions.txt",
        _table("\t", "", [(f"{n // 3}#{n}", t) for n, t in enumerate(TEXTS)]),
        lambda path: [*iter_captions(path)],
        plain.captions,
    ),
    Kind(
        "predictions.csv",
        _table(" , ", "id Predicted_Sentiment", [(f"i{n}", n % 5) for n in range(9)]),
        lambda path: [(id, value) for id, (_, value) in read_predictions(path).values.items()],
        plain.predictions,
        4,
    ),
    Kind(
        "queries.tsv",
        _table("\t", "", [(f"i{n}", t) for n, t in enumerate(TEXTS)]),
        lambda path: [tuple(row) for _, row in read_rows(path, True)],
        plain.with_ids,
    ),
    Kind(
        "glove.txt",
        _table(" ", "", [("cat", 1, 2), ("dog", 0.5, 3), ("boat", 4, -1)]),
        _read_vectors,
        plain.vectors,
        float("inf"),
    ),
    *(
        Kind(
            f"corpus{suffix}",
            pack(_table("", "", [[text] for text in TEXTS])),
            _read_paragraphs,
            plain.paragraphs,
        )
        for suffix, pack in ((".txt", bytes), (".txt.xz", lzma.compress))
    ),
]
