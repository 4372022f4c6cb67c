"""Read SimCSE's triplets, and make them from other labelled sets.

`python -m data.triplets nli FILE --out CSV` writes a file. Gao et al. 2021, table 4, compare data
sets as sources of positives.
"""

import csv
import logging
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from random import Random
from typing import NamedTuple

from data.examples import DataError, Triplet
from data.pairs import label_value
from data.published import NLI_LABELS, iter_nli
from data.table import (
    FIRST,
    ID,
    LABEL,
    NEGATIVE,
    SECOND,
    Column,
    PathLike,
    choice,
    counted,
    json_values,
    numbered_lines,
    open_table,
    pair_columns,
    plain,
    plain_fields,
)
from data.tasks import read_quora, says_yes
from runtime.commands import begin, exit_code
from runtime.files import check_outputs, whole_file
from runtime.options import option, parse

logger = logging.getLogger("data")

EPILOG = """\
examples:
  python -m data.triplets nli nli_pairs.tsv --hard-negatives contradiction --out nli.csv
      as in SimCSE: entailed sentences and contradictions of a premise
  python -m data.triplets nli nli_pairs.tsv --positive entailment neutral --out both.csv
  python -m data.triplets quora quora-train.csv --hard-negatives different --out quora.csv
  python -m data.triplets captions Flickr8k.token.txt --out captions.csv
then: python run_multitask.py --pretrain sup --sup-data nli.csv"""


COLUMNS = (
    Column("anchor", FIRST),
    Column("positive", SECOND),
    Column("hard_neg", NEGATIVE, required=False),
    Column("id", ID, required=False, kind="id"),
)


def iter_triplets(path: PathLike) -> Iterator[Triplet]:
    """Yield the triplets of a table or of JSON lines: anchor, positive and perhaps hard negative.

    Published files have various column names: `sent0,sent1,hard_neg`,
    `anchor,entailment,contradiction`, `query`, `pos`, `neg`.

    Raises:
        DataError: as `open_table`; a further column that is not ids. It may hold labels, and pairs
            with different meanings would become positives.
    """
    table = open_table(path, COLUMNS)
    if others := [name for name in table.others if plain(name) not in map(plain, ("", *ID))]:
        raise DataError(
            f"{path}: column {', '.join(map(repr, others))} is none of anchor, positive, "
            "hard_neg; remove it (python -m data.triplets keeps the positives of labelled pairs)"
        )
    for line, row in table.rows():
        texts = {c.name: row[c.name].strip() for c in COLUMNS[:3] if c.name in row}
        for name, text in texts.items():
            if not text:
                raise DataError(
                    f"{path}:{line}: column {table.called(name)} is empty, expected a sentence; "
                    "fill it or delete the row"
                )
        yield Triplet(*texts.values())


# --- other labelled sets, in their published formats

QUESTION_LABELS = ("duplicate", "different")


class Related(NamedTuple):
    """Two texts, and the name of their relation."""

    text: str
    other: str
    label: str


def _nli(path: PathLike) -> Iterator[Related]:
    for pair in iter_nli(path):
        yield Related(*pair.texts, NLI_LABELS[int(pair.label or 0)])


def iter_anli(path: PathLike) -> Iterator[Related]:
    """Yield the pairs of a file in ANLI's form (Nie et al. 2020): a JSON object per line.

    Its keys are `context` or `premise`, `hypothesis`, and `label`: e, n or c, or the whole word.
    """
    short = {name[0]: name for name in NLI_LABELS}
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        where = f"{path}:{line}"
        row = json_values(where, text)
        premise = str(row.get("premise", row.get("context", ""))).strip()
        hypothesis = str(row.get("hypothesis", "")).strip()
        if not premise or not hypothesis:
            raise DataError(
                f"{where}: context (or premise) or hypothesis is missing or empty; correct the line"
            )
        label = str(row.get("label", ""))
        number = choice(where, short.get(label, label), NLI_LABELS)
        yield Related(premise, hypothesis, NLI_LABELS[number])


def iter_questions(path: PathLike) -> Iterator[Related]:
    """Yield question pairs of a table, as of CS224N's file; labels say yes or no."""
    for pair in read_quora(path):
        yield Related(*pair.texts, QUESTION_LABELS[0 if pair.label else 1])


def iter_pairs(path: PathLike) -> Iterator[Related]:
    """Yield the pairs of a table or of JSON lines.

    Other columns are ignored; labels too, with a warning if they do not mean yes.
    """
    label = Column("label", LABEL, required=False, kind="label")
    denied: list[int] = []  # line numbers
    for line, row in open_table(path, (*pair_columns(), label)).rows():
        spelled = label_value(row.get("label", "1"))
        if not says_yes(spelled if isinstance(spelled, str) else f"{spelled:g}"):
            denied.append(line)
        text, other = row["sentence1"].strip(), row["sentence2"].strip()
        if not (text and other):
            raise DataError(f"{path}:{line}: a pair lacks a text; correct or delete the row")
        yield Related(text, other, "pair")
    if denied:
        logger.warning(
            "%s: %s but are read as positives; delete those that are not",
            path,
            counted(denied, "have no positive label"),
        )


def iter_captions(path: PathLike) -> Iterator[Related]:
    """Yield every pair among the captions of an image; a line is `IMAGE#NUMBER<tab>CAPTION`."""
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


@dataclass(frozen=True)
class Form:
    """A file format.

    `labels` are the names of its relations, positives first; `mutual` relations are symmetric, as
    between questions.
    """

    help: str
    labels: tuple[str, ...]
    read: Callable[[PathLike], Iterator[Related]]
    mutual: bool = False


FORMS = {
    "nli": Form("a table with premise, hypothesis, label", NLI_LABELS, _nli),
    "anli": Form("JSON lines of context, hypothesis, label", NLI_LABELS, iter_anli),
    "quora": Form("a table with two texts and 0 or 1", QUESTION_LABELS, iter_questions, True),
    "pairs": Form("a table with two texts a row", ("pair",), iter_pairs),
    "captions": Form("IMAGE#NUMBER, a tab, a caption", ("pair",), iter_captions),
}


# --- the command


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    form: str = option(
        help="; ".join(f"{name}: {form.help}" for name, form in FORMS.items()),
        flag="form",
        choices=tuple(FORMS),
        metavar="FORM",
    )
    files: tuple[Path, ...] = option(
        help="files in this format", flag="files", metavar="FILE", required=True
    )
    out: Path = option(help="sent0,sent1[,hard_neg] CSV to write", required=True, metavar="CSV")
    positive: tuple[str, ...] = option(
        (),
        "labels of the positives: entailment, neutral, contradiction for nli and anli; "
        "duplicate, different for quora (default: the first)",
        metavar="LABEL",
    )
    hard_negatives: tuple[str, ...] = option(
        (),
        "labels of the hard negatives: each positive gets a random one with the same anchor, "
        "or is left out if there is none (default: pairs only)",
        metavar="LABEL",
    )
    limit: int | None = option(
        None, "keep N triplets at random; a larger N keeps a superset", least=1, most=1e12
    )
    seed: int = option(0, "seed of all random draws", least=0, most=2**31)


def triplets(
    rows: Iterable[Related],
    positive: Collection[str],
    hard_negatives: Collection[str],
    draw: Random,
    mutual: bool = False,
) -> list[Triplet]:
    """Return a triplet for each row with a label in `positive`, in order; anchors are first texts.

    With `hard_negatives`, each positive gets a random hard negative of its anchor, or is left out
    if there is none. `mutual` relations are symmetric: each text is a hard negative of the other,
    and a positive is reversed if only its second text has one.
    """
    positives: list[Related] = []
    against: dict[str, list[str]] = {}  # anchor -> hard negatives
    for row in rows:
        if row.label in positive:
            positives.append(row)
        elif row.label in hard_negatives:
            against.setdefault(row.text, []).append(row.other)
            if mutual:
                against.setdefault(row.other, []).append(row.text)
    if not hard_negatives:
        return [Triplet(row.text, row.other) for row in positives]
    with_negative = []
    for text, other, _ in positives:
        if mutual and text not in against:
            text, other = other, text
        if text in against:
            with_negative.append(Triplet(text, other, draw.choice(against[text])))
    return with_negative


def sample(all_triplets: Sequence[Triplet], limit: int | None, seed: int) -> list[Triplet]:
    """Return `limit` random triplets in order; a larger limit includes those of a smaller one."""
    order = Random(seed).sample(range(len(all_triplets)), len(all_triplets))
    return [all_triplets[place] for place in sorted(order[:limit])]


def write_triplets(options: Options) -> None:
    """Write the triplet file of the options, and print the number of triplets."""
    form = FORMS[options.form]
    positive = options.positive or form.labels[:1]
    for label in (*positive, *options.hard_negatives):
        if label not in form.labels:
            known = ", ".join(form.labels)
            raise DataError(f"{options.form} has no label {label!r}; expected one of {known}")
    if both := set(positive) & set(options.hard_negatives):
        raise DataError(f"{min(both)} is positive and hard negative; name it once")
    check_outputs([options.out], options.files)
    rows = (row for path in options.files for row in form.read(path))
    draw = Random(options.seed)
    all_triplets = triplets(rows, positive, options.hard_negatives, draw, form.mutual)
    if not all_triplets:
        named = ", ".join(map(str, options.files))
        lacking = " with a hard negative of its text" if options.hard_negatives else ""
        raise DataError(f"{named}: no positive{lacking}; name other labels")
    kept = sample(all_triplets, options.limit, options.seed)
    columns = ("sent0", "sent1", "hard_neg")[: len(kept[0].texts)]
    with (
        whole_file(options.out) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        csv.writer(file).writerows([columns, *(triplet.texts for triplet in kept)])
    what = "triplets" if options.hard_negatives else "pairs"
    print(f"{len(kept):,} of {len(all_triplets):,} {what} are in {options.out}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 2 (input or disk) or 130 (interrupted)."""
    about = "Write SimCSE's training file, sent0,sent1[,hard_neg], from other labelled sets."
    program = "python -m data.triplets"
    options = parse(Options, argv, prog=program, description=about, epilog=EPILOG)
    return exit_code(lambda: write_triplets(options))


if __name__ == "__main__":
    begin()
    sys.exit(main())
