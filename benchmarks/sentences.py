"""The sentences that mini-sts learns from: python -m benchmarks.sentences DATA --out DIR.

DATA holds SNLI's and MultiNLI's pairs, captions of Flickr8k, questions of Quora and articles of
Wikipedia, under the names below. No sentence of an evaluation set or of CS224N's files is taken,
whatever its case and punctuation; every text is taken once. What belongs together stands together:
a premise and its hypotheses, the captions of an image, a pair of questions, sentences of an
article. `short.txt` has all short ones, `long.txt` the sentences of Wikipedia in their order.
"""

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from data.overlap import text_hash
from data.sentences import sentences
from data.tables import numbered_lines
from runtime.commands import begin, exit_code
from runtime.files import whole_file
from runtime.options import option, parse

LENGTHS = range(4, 29)  # words of a sentence of Wikipedia
CS224N = ("ids-sst", "quora", "sts")
QUORA = ("quora/labelled_pairs.tsv", "quora/paraphrases.tsv")


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    data: Path = option(help="folder of the files", flag="data", metavar="DATA", required=True)
    out: Path = option(help="folder to write into", required=True, metavar="DIR")
    rows: int = option(10_000_000, "sentences of Wikipedia", least=1, most=1e7)


def fields(path: Path) -> Iterator[list[str]]:
    """Yield the fields of every line of a file."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            yield line.rstrip("\n").split("\t")


def held_out(data: Path) -> set[int]:
    """Return hashes of what must not be learnt from: all fields of what systems are scored on."""
    folders = (data / "sts", data / "transfer")
    paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    paths += [path for name in CS224N for path in (data / "cs224n").glob(f"{name}-*.csv")]
    rows = (row for path in paths for row in fields(path))
    # Labels of the transfer tasks stand before or after their sentences.
    whole = [" ".join(row) for path in paths if "transfer" in str(path) for row in fields(path)]
    texts = chain(chain.from_iterable(rows), whole, (text.split(" ", 1)[-1] for text in whole))
    return {text_hash(text) for text in texts}


def short_groups(data: Path) -> Iterator[list[str]]:
    """Yield a premise with its hypotheses, the captions of an image, or a pair of questions."""
    groups: dict[str, list[str]] = {}
    for row in list(fields(data / "nli/nli_pairs.tsv"))[1:]:
        groups.setdefault(row[0], [row[0]]).append(row[1])
    with (data / "nli/nli_for_simcse.csv").open(encoding="utf-8", newline="") as file:
        for triplet in list(csv.reader(file))[1:]:
            groups.setdefault(triplet[0], [triplet[0]]).extend(triplet[1:])
    for name, caption in fields(data / "captions/Flickr8k.token.txt"):
        groups.setdefault(name.split("#")[0], []).append(caption)
    yield from groups.values()
    for name in QUORA:
        for row in list(fields(data / name))[1:]:
            yield row[:2]


def of_wikipedia(data: Path) -> Iterator[str]:
    """Yield sentences of Wikipedia, in their order."""
    names = ["wiki/wiki_for_simcse.txt"] + [f"pretrain/wikipedia-{n}.txt.xz" for n in range(7)]
    for name in names:
        lines = (line.strip() for _, line in numbered_lines(data / name))
        for text in sentences(lines):
            if len(text.split()) in LENGTHS and len(text) <= 200:
                yield text


def write(options: Options) -> None:
    """Write the two files."""
    known = held_out(options.data)

    def fresh(texts: Iterable[str]) -> Iterator[str]:
        for text in texts:
            number = text_hash(text)
            if number not in known and len(text.split()) > 2:
                known.add(number)
                yield " ".join(text.split())

    kinds = {
        "short": chain.from_iterable(short_groups(options.data)),
        "long": of_wikipedia(options.data),
    }
    for kind, texts in kinds.items():
        count = 0
        with whole_file(options.out / f"{kind}.txt") as temporary:
            with temporary.open("w", encoding="utf-8") as file:
                for text in islice(fresh(texts), options.rows):
                    file.write(f"{text}\n")
                    count += 1
        print(f"{kind}: {count:,} sentences", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    options = parse(Options, argv, prog="python -m benchmarks.sentences", description=__doc__)
    return exit_code(lambda: write(options))


if __name__ == "__main__":
    begin()
    sys.exit(main())
