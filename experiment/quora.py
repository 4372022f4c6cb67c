"""More labelled Quora pairs in one form: `python -m experiment.quora DATA --out FOLDER`.

CS224N's files are plain text; the other file with labels is tokenised as in the Penn Treebank,
`do n't` and `` so ''. Its texts are put back together, as far as the marks tell. FOLDER then holds
quora-train.csv, with the pairs of both files, and quora-dev.csv, for `--data`.
"""

import csv
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.commands import begin, exit_code
from runtime.files import whole_file
from runtime.options import option, parse

COLUMNS = ("id", "sentence1", "sentence2", "is_duplicate")
# In order: the Treebank's form, and the original.
PLAIN = (
    (r"``|''", '"'),
    (r"-LRB-", "("),
    (r"-RRB-", ")"),
    (r" (?=[?!.,;:)%\]])", ""),
    (r"(?<=[(\[$#]) ", ""),
    (r" (?=n't\b|'(?:s|m|d|re|ve|ll)\b)", ""),
    (r"\b([Cc])an not\b", r"\1annot"),
    (r'" ([^"]*?) "', r'"\1"'),
)


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    data: Path = option(
        help="the folder of public data", flag="data", metavar="DATA", required=True
    )
    out: Path = option(help="to write into", metavar="FOLDER", required=True)


def plain(text: str) -> str:
    """Return a text without the blanks and marks of the Penn Treebank."""
    for mark, meaning in PLAIN:
        text = re.sub(mark, meaning, text)
    return text


def rows_of(data: Path, name: str) -> list[list[str]]:
    """Return id, both texts and label of the rows of a file of CS224N, without its header."""
    with (data / "cs224n" / name).open(encoding="utf-8", newline="") as file:
        return [row[-4:] for row in csv.reader(file, delimiter="\t")][1:]


def labelled(data: Path) -> Iterable[Sequence[str]]:
    """Yield the rows of the tokenised file in the same form."""
    lines = (data / "quora" / "labelled_pairs.tsv").read_text(encoding="utf-8").splitlines()[1:]
    for number, line in enumerate(lines):
        first, second, label = line.split("\t")
        yield f"l{number}", plain(first), plain(second), label


def main(argv: Sequence[str] | None = None) -> int:
    """Write the folder that a command line names; return the exit code."""
    options = parse(Options, argv, prog="python -m experiment.quora", description=__doc__)

    def work() -> None:
        train = [*rows_of(options.data, "quora-train.csv"), *labelled(options.data)]
        parts: dict[str, list[Sequence[str]]] = {
            "train": train,
            "dev": [*rows_of(options.data, "quora-dev.csv")],
        }
        for part, rows in parts.items():
            with whole_file(options.out / f"quora-{part}.csv") as path:
                with path.open("w", encoding="utf-8", newline="") as file:
                    csv.writer(file, delimiter="\t").writerows([COLUMNS, *rows])
            print(f"{len(rows):,} pairs: {options.out / f'quora-{part}.csv'}")

    return exit_code(work)


if __name__ == "__main__":
    begin()
    sys.exit(main())
