"""Plain forms of all readers: the course's own (`csv.DictReader`) or a few splits, without checks.

What they raise or return of a broken file does not matter unless our readers read it, too.
"""

import csv
import io
import json
import lzma
import re
from collections.abc import Callable
from itertools import combinations
from typing import Any

from conftest import toy_sentences

from data.nli import NLI_LABELS as NLI
from data.published import TYPES

Rows = list[tuple[Any, ...]]
TEXTS = toy_sentences(12, 3)
PAIRS = list(zip(TEXTS[:6], TEXTS[6:], strict=True))
LABELS = ("sentiment", "is_duplicate", "similarity")


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8-sig").removesuffix("\n").split("\n")


def _rows(content: bytes) -> list[str]:
    return [line for line in _lines(content) if line.strip("\r")]


def _stream(content: bytes) -> io.StringIO:
    return io.StringIO("\n".join(_rows(content)), newline="\n")


def course(*columns: str, mark: str = "\t") -> Callable[[bytes], Rows]:
    """Return the course's way of reading; the last column is a number if it names a label."""

    def rows(content: bytes) -> Rows:
        found = []
        for row in csv.DictReader(_stream(content), delimiter=mark):
            fields = [(row[column] or "").strip() for column in columns]
            found.append(_numbered(fields) if columns[-1] in LABELS else tuple(fields))
        return found

    return rows


def _numbered(fields: list[str]) -> tuple[Any, ...]:
    return (*fields[:-1], _decimal(fields[-1]))


def _decimal(text: str) -> float:
    # Not what only Python takes for a number: digits of other scripts, 1_0.
    if "_" in text or not text.strip().isascii():
        raise ValueError(text)
    return float(text)


def quora(content: bytes) -> Rows:
    """Read as the course does: what does not parse is passed over."""
    found = []
    for row in csv.DictReader(_stream(content), delimiter="\t"):
        try:
            fields = [row[name].strip() for name in ("sentence1", "sentence2", "is_duplicate")]
            if row["id"] is not None and abs(_decimal(fields[2])) < float("inf"):
                found.append(_numbered(fields))
        except (ValueError, AttributeError):
            pass
    return found


def split(places: tuple[int, ...], skip: str = "", names: Any = None) -> Any:
    """Return a reader of fields by place; `names` are labels whose place in it is the number."""

    def rows(content: bytes) -> Rows:
        found = []
        for number, line in enumerate(_rows(content)):
            fields = [field.strip() for field in line.split("\t")]
            if number == 0 and skip and fields[0] == skip:
                continue
            *texts, label = (fields[place] for place in places)
            found.append((*texts, float(names.index(label) if names else label)))
        return found

    return rows


def by_header(columns: tuple[str, ...], names: tuple[str, ...]) -> Callable[[bytes], Rows]:
    def rows(content: bytes) -> Rows:
        header, *lines = ([f.strip() for f in line.split("\t")] for line in _rows(content))
        picked = ([fields[header.index(name)] for name in columns] for fields in lines)
        return [(*texts, float(names.index(label))) for *texts, label in picked if label != "-"]

    return rows


def triplets(content: bytes) -> Rows:
    return [tuple(f.strip() for f in row) for row in list(csv.reader(_stream(content)))[1:]]


def texts_alone(content: bytes) -> Rows:
    return [(line.strip(),) for line in _lines(content) if line.strip()]


def _stripped(content: bytes) -> list[str]:
    """Return the lines that are not blank, of a file in UTF-8 or Latin-1."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin-1").removeprefix("ï»¿")
    return [*filter(None, (line.strip() for line in text.removeprefix("\ufeff").split("\n")))]


def cnsd(content: bytes) -> Rows:
    rows = ([field.strip() for field in line.split("||")] for line in _stripped(content))
    return [_numbered(fields) for _, *fields in rows]


def sst2(content: bytes) -> Rows:
    found = []
    for line in _stripped(content):
        if "\t" in line:
            sentence, label = line.rsplit("\t", 1)
        else:
            label, sentence = line.split(" ", 1)
        found.append((sentence.strip(), float(label)))
    return found


def trec(content: bytes) -> Rows:
    parts = (line.split(" ", 1) for line in _stripped(content))
    return [(question.strip(), TYPES.index(kind.split(":")[0])) for kind, question in parts]


def anli(content: bytes) -> Rows:
    found = []
    for row in map(json.loads, filter(str.strip, _lines(content))):
        premise = row["premise"] if "premise" in row else row["context"]
        label = next(name for name in NLI if row["label"] in (name, name[0]))
        found.append((str(premise).strip(), str(row["hypothesis"]).strip(), label))
    return found


def captions(content: bytes) -> Rows:
    images: dict[str, list[str]] = {}
    for line in _rows(content):
        name, caption = line.split("\t")[:2]
        images.setdefault(name.strip().rsplit("#", 1)[0], []).append(caption.strip())
    return [(*two, "pair") for texts in images.values() for two in combinations(texts, 2)]


def unlabelled(content: bytes) -> Rows:
    lines = _rows(content)
    if "sentence1" in lines[0] and "sentence2" in lines[0]:
        return course("sentence1", "sentence2")(content)
    return [tuple(field.strip() for field in line.split("\t")[:2]) for line in lines]


def predictions(content: bytes) -> Rows:
    lines = [line.strip() for line in _lines(content) if line.strip()][1:]
    rows = (re.split(r"," if "," in line else r"\t+", line) for line in lines)
    return [(id.strip().lower(), _decimal(value)) for id, value in rows]


def with_ids(content: bytes) -> Rows:
    rows = (line.strip().split("\t", 1) for line in _lines(content) if line.strip())
    return [(id.strip(), text.strip()) for id, text in rows]


def vectors(content: bytes) -> Rows:
    """Read the vectors of some words, as the first line tells their size; the last line counts."""
    first, *_ = lines = [line.rstrip().split(" ") for line in _lines(content)]
    header = len(first) == 2 and all(map(str.isdecimal, first))
    size = int(first[1]) if header else len(first) - 1
    found = {" ".join(fields[:-size]): fields[-size:] for fields in lines}
    return [tuple(map(float, found.get(word, [0] * size))) for word in ("cat", "dog", "boat")]


def semeval(content: bytes) -> Rows:
    lines = _lines(content)
    assert len(lines) == len(PAIRS)
    found = zip(PAIRS, (line.strip() for line in lines), strict=True)
    return [(*pair, float(score)) for pair, score in found if score]


def paragraphs(content: bytes) -> Rows:
    text = (lzma.decompress(content) if content[:1] == b"\xfd" else content).decode("utf-8-sig")
    return [(line.strip(),) for line in io.StringIO(text, newline=None) if line.strip()]
