"""Makes SimCSE's training file of other sets: `python -m data.triplets nli FILE --out CSV`.

Which data make good positives is Gao et al. 2021, table 4.
Reads: data.readers.related. Feeds: the reader of triplets, through the file it leaves.
"""

import sys

from runtime.commands import begin, exit_code

# Before the other imports, so that Ctrl-C answers at once.
if __name__ == "__main__":
    begin()

import csv
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from data.examples import DataError, Triplet
from data.readers.related import FORMS, Related
from runtime.files import whole_file
from runtime.options import option, parse

PROGRAM = "python -m data.triplets"
EPILOG = f"""\
examples:
  {PROGRAM} nli nli_pairs.tsv --hard-negatives contradiction --out nli.csv
      SimCSE's own: what a premise entails, and what contradicts it
  {PROGRAM} nli nli_pairs.tsv --positive entailment neutral --out both.csv
  {PROGRAM} quora quora-train.csv --hard-negatives different --limit 1000 --out quora.csv
  {PROGRAM} captions Flickr8k.token.txt --out captions.csv
then: python run_multitask.py --pretrain sup --sup-data nli.csv"""


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    form: str = option(
        help="; ".join(f"{name}: {form.help}" for name, form in FORMS.items()),
        flag="form",
        choices=tuple(FORMS),
        metavar="FORM",
    )
    files: tuple[Path, ...] = option(
        help="files of this form", flag="files", metavar="FILE", required=True
    )
    out: Path = option(help="sent0,sent1[,hard_neg] CSV to write", required=True, metavar="CSV")
    positive: tuple[str, ...] = option(
        (),
        "labels whose texts are positives: of nli and anli entailment, neutral, contradiction; of "
        "quora duplicate, different (the first of them)",
        metavar="LABEL",
    )
    hard_negatives: tuple[str, ...] = option(
        (),
        "labels whose texts are hard negatives: each positive gets one of the same text at random, "
        "and is left out where there is none; without this flag, pairs only",
        metavar="LABEL",
    )
    limit: int | None = option(
        None, "keep N at random; a larger N keeps these and more", least=1, most=1e12
    )
    seed: int = option(0, "of all draws", least=0, most=2**31)


def triplets(
    rows: Iterable[Related],
    positive: Collection[str],
    hard_negatives: Collection[str],
    draw: Random,
    mutual: bool = False,
) -> list[Triplet]:
    """Return a triplet for each positive, in order.

    Args:
        rows: related pairs; the first text is the anchor.
        positive: labels of positives.
        hard_negatives: labels of hard negatives; none makes pairs. Each positive gets one of its
            anchor's, drawn; a positive whose anchor has none is left out.
        draw: for that draw.
        mutual: relations hold both ways, so each text has the other as its hard negative, and a
            positive is turned round where only its second text has one.
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
    found = []
    for text, other, _ in positives:
        if mutual and text not in against:
            text, other = other, text
        if text in against:
            found.append(Triplet(text, other, draw.choice(against[text])))
    return found


def sample(found: Sequence[Triplet], limit: int | None, seed: int) -> list[Triplet]:
    """Return `limit` of them at random in their order; a larger limit keeps these and more."""
    order = Random(seed).sample(range(len(found)), len(found))
    return [found[place] for place in sorted(order[:limit])]


def write_triplets(path: Path, found: Sequence[Triplet]) -> None:
    """Write SimCSE's CSV, whole or not at all."""
    columns = ("sent0", "sent1", "hard_neg")
    with (
        whole_file(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(columns[: len(found[0].texts)])
        writer.writerows(triplet.texts for triplet in found)


def run(options: Options) -> None:
    """Write the file that the options ask for, and say how many triplets it holds.

    Raises:
        DataError: a broken file, labels that the form lacks, or no triplet.
    """
    form = FORMS[options.form]
    positive = options.positive or form.labels[:1]
    for label in (*positive, *options.hard_negatives):
        if label not in form.labels:
            known = ", ".join(form.labels)
            raise DataError(f"{options.form} has no label {label!r}; expected one of {known}")
    if both := set(positive) & set(options.hard_negatives):
        raise DataError(f"{min(both)} is positive and hard negative; name it once")
    rows = (row for path in options.files for row in form.read(path))
    draw = Random(options.seed)
    found = triplets(rows, positive, options.hard_negatives, draw, form.mutual)
    if not found:
        named = ", ".join(map(str, options.files))
        lacking = " with a hard negative of its text" if options.hard_negatives else ""
        raise DataError(f"{named}: no positive{lacking}; name other labels")
    kept = sample(found, options.limit, options.seed)
    write_triplets(options.out, kept)
    what = "triplets" if options.hard_negatives else "pairs"
    print(f"{len(kept):,} of {len(found):,} {what} are in {options.out}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 2 (input or disk) or 130 (interrupted)."""
    about = "Write SimCSE's training file, sent0,sent1[,hard_neg], from other labelled sets."
    options = parse(Options, argv, prog=PROGRAM, description=about, epilog=EPILOG)
    return exit_code(lambda: run(options))


if __name__ == "__main__":
    sys.exit(main())
