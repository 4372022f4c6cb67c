"""Writes the data set: eleven files in CS224N's and SimCSE's formats, whole or not at all.

The evaluation suites and the set to search are in separate folders.
Reads: duplicates, scored, search, sentiment, sentences, triplets, suites, writing; names of files
and columns from data.tasks, names of files from data.sources.
"""

import csv
import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from data.sources import SOURCES
from data.synthetic.duplicates import ORDER, duplicate_pair
from data.synthetic.pairs import Example
from data.synthetic.scored import BANDS, scored_pair
from data.synthetic.search import write_search
from data.synthetic.sentences import Scenes
from data.synthetic.sentiment import labelled
from data.synthetic.suites import write_suites
from data.synthetic.triplets import triplet
from data.synthetic.words import SPLITS
from data.synthetic.writing import Writer, shuffle
from data.tasks import COURSE
from runtime.files import scratch_folder, sweep, to_disk

SIZES = {"sst": (4000, 800, 800), "para": (8000, 1000, 2000), "sts": (4000, 800, 800)}
# Rows of test in the bundled data, to detect differences of 0.02; the first are those above.
TEST_ROWS = {"sst": 4000, "para": 6000, "sts": 4000}
SENTENCES, TRIPLETS = 20000, 10000

# Classes have fixed shares: five of a fifth each, and 40 percent duplicates. The fifths of the
# scale of similarities also have fixed shares.
QUOTAS: dict[str, list[dict[str, Any]]] = {
    "sst": [{"wanted": number} for number in range(COURSE["sst"].num_classes)],
    "para": [{"positive": number < 2} for number in range(5)],
    "sts": [{"band": number} for number in range(BANDS)],
}


def opinion_row(random: Random, split: str, wanted: int) -> Example:
    """Return a row of the sentiment task of the wanted class."""
    view = labelled(random, split, wanted)
    return Example((view.text,), str(wanted), view.phenomenon)


MAKERS: dict[str, Callable[..., Example]] = {
    "sst": opinion_row,
    "para": duplicate_pair,
    "sts": scored_pair,
}


def identifier(seed: int, name: str, number: int) -> str:
    """Return 25 hexadecimal digits, as in CS224N's ids."""
    return hashlib.sha256(f"{seed} {name} {number}".encode()).hexdigest()[:25]


def _draw(
    writer: Writer, task: str, title: str, split: str, size: int, **how: Any
) -> list[Example]:
    """Return examples of a task in their shares, shuffled; the title names the generator.

    `how` is passed to the task's maker.
    """
    quotas = QUOTAS[task]
    examples: list[Example] = []
    for number, quota in enumerate(quotas):
        share = (size + len(quotas) - 1 - number) // len(quotas)
        make = partial(MAKERS[task], **quota, **how)
        examples += writer.draw(f"{title} {number}", split, share, make)
    shuffle(examples, Random(f"{writer.seed} {title} {split}"))
    return examples


def write_task(writer: Writer, task: str, part: int) -> list[Example]:
    """Draw and write train (0), dev (1) or test (2) of a task; return its examples."""
    examples = _draw(writer, task, task, SPLITS[part], SIZES[task][part])
    _write_rows(writer, task, part, examples)
    return examples


def _write_rows(writer: Writer, task: str, part: int, examples: list[Example]) -> None:
    record = COURSE[task]
    name = record.files[part]
    rows = (
        (str(number), identifier(writer.seed, name, number), *e.texts, e.label, e.phenomenon)
        for number, e in enumerate(examples)
    )
    writer.table(name, ("", "id", *record.texts, record.label, "phenomenon"), rows)


def _write_all(folder: Path, seed: int, pairs: int, order_pairs: int) -> None:
    writer = Writer(folder, seed)
    written = {}
    for part in (2, 1, 0):  # test first: its texts are then excluded from training
        for task in SIZES:
            written[task, part] = write_task(writer, task, part)
    sentences = writer.draw("wiki", "train", SENTENCES, Scenes())
    writer.lines(SOURCES["wiki1m"][0].name, (e.texts[0] for e in sentences))
    triplets = writer.draw("nli", "train", TRIPLETS, triplet)
    with open(folder / SOURCES["nli"][0].name, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("sent0", "sent1", "hard_neg"))
        rows.writerows(e.texts for e in triplets)
    write_suites(writer)  # after the tasks, so it does not affect their random draws
    # More test rows, after everything that must not depend on their number: train, dev and the
    # suites are already drawn.
    for task, size in TEST_ROWS.items():
        first = written[task, 2]
        more = _draw(writer, task, f"more {task}", "test", size - len(first))
        _write_rows(writer, task, 2, first + more)
    # Its texts are none of those so far, and further pairs do not depend on them.
    search = Writer(folder, seed)
    search.part_of.update(writer.part_of)
    write_search(search)
    # Last, so that no other file depends on the number of pairs.
    more_pairs = max(0, pairs - SIZES["para"][0])
    examples = written["para", 0] + _draw(writer, "para", "more para", "train", more_pairs)
    examples += _draw(writer, "para", "order", "train", order_pairs, kinds=ORDER)
    if len(examples) > SIZES["para"][0]:
        _write_rows(writer, "para", 0, examples)


def write_files(
    folder: Path, seed: int = 0, pairs: int = SIZES["para"][0], order_pairs: int = 0
) -> None:
    """Write all files of the data set into `folder`, which is created if necessary.

    The files are written in a temporary folder inside it and moved when all are complete, so an
    interrupted run leaves no partial files. The same seed gives the same bytes everywhere. More
    `pairs` of paraphrases, and `order_pairs`, which differ only in word order, do not change other
    files or the first pairs.

    Raises:
        OSError: the folder cannot be written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    with scratch_folder(folder / "bundled") as scratch:
        _write_all(scratch, seed, pairs, order_pairs)
        for path in sorted(scratch.rglob("*")):
            if path.is_file():
                to_disk(path)
                target = folder / path.relative_to(scratch)
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, target)
