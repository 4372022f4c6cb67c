"""The sentences that mini-sts has learnt from: python -m benchmarks.sentences DATA --out TXT.

DATA holds SNLI's and MultiNLI's pairs, captions of Flickr8k, questions of Quora and articles of
Wikipedia, under the names below. No sentence of an evaluation set or of CS224N's files is taken,
whatever its case and punctuation; every text is taken once. What belongs together stands together:
a premise and its hypotheses, the captions of an image, a pair of questions, two sentences of an
article. A fixed draw of such groups: short sentences as long as there are any, sentences of
Wikipedia and single words, each in the shares of MIX.
"""

import csv
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from data.overlap import text_hash
from data.sentences import sentences
from data.tables import numbered_lines
from runtime.commands import begin, exit_code
from runtime.files import whole_file
from runtime.options import option, parse

MIX = {"short": 4, "long": 3, "words": 1}
LENGTHS = range(4, 26)  # words of a sentence of Wikipedia
LEAST = 20  # times that a word stands in the sentences of Wikipedia
CS224N = ("ids-sst", "quora", "sts")
QUORA = ("quora/labelled_pairs.tsv", "quora/paraphrases.tsv")


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    data: Path = option(help="folder of the files", flag="data", metavar="DATA", required=True)
    out: Path = option(help="file to write", required=True, metavar="TXT")
    rows: int = option(1_000_000, "sentences", least=1, most=1e7)


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
    whole = (" ".join(row) for path in paths if "transfer" in str(path) for row in fields(path))
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


def long_groups(data: Path) -> Iterator[list[str]]:
    """Yield two sentences of Wikipedia, in their order."""
    names = ["wiki/wiki_for_simcse.txt"] + [f"pretrain/wikipedia-{n}.txt.xz" for n in range(7)]
    for name in names:
        lines = (line.strip() for _, line in numbered_lines(data / name))
        chosen = (
            text for text in sentences(lines) if len(text.split()) in LENGTHS and len(text) <= 200
        )
        yield from map(list, zip(chosen, chosen, strict=False))


def words_of(texts: Sequence[str]) -> Iterator[str]:
    """Yield the words that are frequent in the texts, the commonest first."""
    counts = Counter(chain.from_iterable(re.findall(r"[a-z]{2,}", t.lower()) for t in texts))
    yield from (word for word, count in counts.most_common() if count >= LEAST)


def write(options: Options) -> None:
    """Write the sentences."""
    known = held_out(options.data)
    draw = random.Random(1)

    def fresh(groups: Iterable[Sequence[str]]) -> list[list[str]]:
        kept = []
        for group in groups:
            new = []
            for text in group:
                number = text_hash(text)
                if number not in known:
                    known.add(number)
                    new.append(" ".join(text.split()))
            if new:
                kept.append(new)
        draw.shuffle(kept)
        return kept

    short = fresh([t for t in group if len(t.split()) > 2] for group in short_groups(options.data))
    long = fresh(long_groups(options.data))
    words = fresh([word] for word in words_of(list(chain(*long, *short))))
    kinds = {"short": short, "long": long, "words": words}
    print({kind: sum(map(len, groups)) for kind, groups in kinds.items()})
    streams = {kind: iter(groups) for kind, groups in kinds.items()}
    written = dict.fromkeys(kinds, 0)
    rows: list[str] = []
    while streams and len(rows) < options.rows:
        # The kind that is furthest behind its share.
        kind = min(streams, key=lambda kind: written[kind] / MIX[kind])
        group = next(streams[kind], None)
        if group is None:
            del streams[kind]
            continue
        rows += group
        written[kind] += len(group)
    rows = rows[: options.rows]
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
