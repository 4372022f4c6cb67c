"""Reads pairs that say how their texts are related, in the forms that supervised sets come in.

Reads: the other readers of pairs. Feeds: data.triplets.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from data.examples import DataError
from data.readers.nli import LABELS, iter_nli
from data.readers.plain import choice, plain_fields, plain_table
from data.readers.quora import read_quora
from data.readers.tables import PathLike, numbered_lines, read_header
from data.readers.unlabelled import read_unlabelled

NLI = tuple(LABELS)
QUORA = ("duplicate", "different")
PAIR = ("pair",)


class Related(NamedTuple):
    """Two texts, and a word for how they are related."""

    text: str
    other: str
    label: str


@dataclass(frozen=True)
class Form:
    """A form of file.

    `labels` are the words of its relations, the positives' first; `mutual` says that a relation
    holds both ways, as between questions.
    """

    help: str
    labels: tuple[str, ...]
    read: Callable[[PathLike], Iterator[Related]]
    mutual: bool = False


def _nli(path: PathLike) -> Iterator[Related]:
    for pair in iter_nli(path):
        yield Related(*pair.texts, NLI[int(pair.label or 0)])


def iter_anli(path: PathLike) -> Iterator[Related]:
    """Yield the pairs of a file in ANLI's form (Nie et al. 2020): a JSON object per line.

    Its keys are `context` or `premise`, `hypothesis`, and `label`: e, n or c, or the whole word.

    Raises:
        DataError: an unreadable file; a line that is no such object, or lacks a text; an unknown
            label.
    """
    short = {name[0]: name for name in NLI}
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        row, where = _json(path, line, text), f"{path}:{line}"
        premise = str(row.get("premise", row.get("context", ""))).strip()
        hypothesis = str(row.get("hypothesis", "")).strip()
        if not premise or not hypothesis:
            raise DataError(
                f"{where}: context (or premise) or hypothesis is missing or empty; correct the line"
            )
        label = str(row.get("label", ""))
        yield Related(premise, hypothesis, NLI[choice(where, short.get(label, label), NLI)])


def _json(path: PathLike, line: int, text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}:{line}: is not JSON ({error}); correct the line") from None
    if not isinstance(row, dict):
        raise DataError(f"{path}:{line}: is no JSON object; expected one pair per line")
    return row


def iter_questions(path: PathLike) -> Iterator[Related]:
    """Yield question pairs: CS224N's file, or a table without ids and without quoting.

    Raises:
        DataError: a broken table, or a label other than 0 and 1.
    """
    if "id" in read_header(path, "\t"):
        for pair in read_quora(path):
            yield Related(*pair.texts, QUORA[0 if pair.label else 1])
        return
    for line, (text, other, label) in plain_table(path, ("sentence1", "sentence2", "is_duplicate")):
        where = f"{path}:{line}"
        yield Related(text, other, QUORA[1 - choice(where, label.removesuffix(".0"), ("0", "1"))])


def _pairs(path: PathLike) -> Iterator[Related]:
    for pair in read_unlabelled(path):
        yield Related(*pair.texts, "pair")


def iter_captions(path: PathLike) -> Iterator[Related]:
    """Yield every pair among the captions of an image; a line is `IMAGE#NUMBER<tab>CAPTION`.

    Raises:
        DataError: an unreadable or empty file; a line of another form.
    """
    images: dict[str, list[str]] = {}
    for line, (name, caption, *_) in plain_fields(path, 2):
        image, mark, _ = name.rpartition("#")
        if not mark or not caption:
            raise DataError(
                f"{path}:{line}: expected IMAGE#NUMBER, a tab and a caption, found {name[:40]!r}; "
                "correct or delete the row"
            )
        images.setdefault(image, []).append(caption)
    for captions in images.values():
        for text, other in combinations(captions, 2):
            yield Related(text, other, "pair")


FORMS = {
    "nli": Form("premise, hypothesis, label TSV", NLI, _nli),
    "anli": Form("JSON lines of context, hypothesis, label", NLI, iter_anli),
    "quora": Form("sentence1, sentence2, is_duplicate TSV", QUORA, iter_questions, mutual=True),
    "pairs": Form("two tab-separated texts a line, and what follows is passed over", PAIR, _pairs),
    "captions": Form("IMAGE#NUMBER, a tab, a caption", PAIR, iter_captions),
}
