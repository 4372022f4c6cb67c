"""The sentences that mini-sts has learnt from: python -m benchmarks.sentences DATA --out TXT.

DATA holds SNLI's and MultiNLI's pairs, captions of Flickr8k, questions of Quora and articles of
Wikipedia, under the names below. No sentence of an evaluation set or of CS224N's files is taken,
whatever its case and punctuation. Two short sentences, then one of Wikipedia, in a fixed order.
"""

import csv
import lzma
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from runtime.commands import begin, exit_code
from runtime.files import whole_file
from runtime.options import option, parse

CS224N = ("ids-sst", "quora", "sts")
QUORA = ("quora/labelled_pairs.tsv", "quora/paraphrases.tsv")
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
ARTICLE_FILES = 2  # of Wikipedia's seven


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    data: Path = option(help="folder of the files", flag="data", metavar="DATA", required=True)
    out: Path = option(help="file to write", required=True, metavar="TXT")
    rows: int = option(260_000, "sentences", least=1, most=1e7)


def key(text: str) -> str:
    """Return a text without case and punctuation."""
    return re.sub(r"\W+", " ", text.lower()).strip()


def fields(path: Path) -> Iterator[list[str]]:
    """Yield the fields of every line of a file."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            yield line.rstrip("\n").split("\t")


def held_out(data: Path) -> set[str]:
    """Return what must not be learnt from: all fields of the files that systems are scored on."""
    paths = [path for path in (data / "sts").rglob("*") if path.is_file()]
    paths += [path for name in CS224N for path in (data / "cs224n").glob(f"{name}-*.csv")]
    return {key(field) for path in paths for row in fields(path) for field in row}


def short_sentences(data: Path) -> Iterator[str]:
    """Yield premises, hypotheses, captions and questions."""
    for row in islice(fields(data / "nli/nli_pairs.tsv"), 1, None):
        yield from row[:2]
    # Its header is read like a row, and `hard_neg` is one of the sentences: mini-sts has seen it.
    with (data / "nli/nli_for_simcse.csv").open(encoding="utf-8", newline="") as file:
        yield from chain.from_iterable(csv.reader(file))
    for row in fields(data / "captions/Flickr8k.token.txt"):
        yield row[1]
    for name in QUORA:
        for row in fields(data / name):
            yield from (text for text in row if len(text) > 12 and " " in text)


def long_sentences(data: Path) -> Iterator[str]:
    """Yield sentences of Wikipedia."""
    for row in fields(data / "wiki/wiki_for_simcse.txt"):
        yield from row
    for number in range(ARTICLE_FILES):
        name = data / f"pretrain/wikipedia-{number}.txt.xz"
        with lzma.open(name, "rt", encoding="utf-8") as file:
            for paragraph in file:
                yield from (s for s in END.split(paragraph.strip()) if 30 <= len(s) <= 250)


def write(options: Options) -> None:
    """Write the sentences."""
    known = held_out(options.data)
    kinds: list[list[str]] = []
    for source in (short_sentences, long_sentences):
        kept = []
        for text in source(options.data):
            plain = key(text)
            if len(plain) >= 8 and plain not in known:
                known.add(plain)
                kept.append(" ".join(text.split()))
        kinds.append(kept)
    draw = random.Random(1)
    short, long = kinds
    draw.shuffle(short)
    draw.shuffle(long)
    mixed = [
        text
        for number in range(0, len(short) - 1, 2)
        for text in (*short[number : number + 2], long[number // 2])
    ]
    rows = [*mixed, *long[len(mixed) // 3 :]][: options.rows]
    with whole_file(options.out) as temporary:
        temporary.write_text("".join(f"{text}\n" for text in rows), encoding="utf-8")
    print(f"{len(rows):,} sentences: {options.out}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    options = parse(Options, argv, prog="python -m benchmarks.sentences", description=__doc__)
    return exit_code(lambda: write(options))


if __name__ == "__main__":
    begin()
    sys.exit(main())
