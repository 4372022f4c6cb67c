"""The commands: an index made or grown, queries answered (in answers), pairs mined.

Reads: everything here. Feeds: the command line.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from runtime.progress import progress
from runtime.terminal import printable
from search.answers import answer
from search.building import Builder, Numbered, by_encoder
from search.index import Index, Meta, read_meta
from search.opening import identity, open_encoder
from search.options import IndexOptions, Options, PairsOptions, QueryOptions
from search.pairs import PairSearch
from search.stored import StoredVectors, stored_vectors
from search.texts import Row, read_rows

Say = Callable[[str], None]  # called with every line of output

# Float32 vectors of length 1 are not quite so: the cosine of a text with itself misses 1 by less.
LENGTH_ERROR = 1e-6
# How long the work goes on before it is said how long it takes, and from when it is said.
MEASURED_SECONDS = 5.0
LONG_MINUTES = 2.0


def run(options: Options, say: Say = print) -> None:
    """Run a command line.

    Raises:
        UserError: something that the options name cannot be used; the message is one line.
        OSError: the index cannot be written.
    """
    if options.threads:
        torch.set_num_threads(options.threads)
    if isinstance(options, IndexOptions):
        make_index(options, say)
    elif isinstance(options, QueryOptions):
        answer(options, say)
    else:
        mine_pairs(options, say)


def make_index(options: IndexOptions, say: Say) -> None:
    """Make, continue or extend an index."""
    old = read_meta(options.out)
    stored = StoredVectors(options.vectors) if options.vectors else None
    made = old or stored  # what says how
    name = options.backbone or (made.backbone if made else "mini")
    pooling = options.pooling or (made.pooling if made else None)
    encoder = open_encoder(name, pooling, options.device, options.precision)
    if stored:
        stored.check_encoder(encoder, name)
    if Path(name).expanduser().is_dir():
        name = str(Path(name).expanduser().resolve())  # a query may come from another folder
    made_by = Meta(name, pooling, identity(encoder), encoder.model.config.hidden_size)
    before = old.last_line if old and options.append else 0
    rows: Numbered = read_rows(options.file, options.ids, before)
    encode = by_encoder(encoder)
    if stored:
        rows, encode = stored.rows(options.file, before), stored_vectors
    with progress("index", None if stored else _num_lines(options.file), "text") as bar:
        meta = Builder(options.out, made_by, encode, bar.update).index(rows, options.append)
    new = meta.count - (old.count if old else 0)
    say(f"{meta.count:,} texts, {new:,} of them new, {meta.hidden_size} dimensions: {options.out}")


def _num_lines(path: Path) -> int | None:
    """Return how many lines a file has, for the progress bar; None for what is read only once."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        blocks = iter(partial(file.read, 2**20), b"")  # a line may be as long as the file
        return sum(block.count(b"\n") for block in blocks)


def mine_pairs(options: PairsOptions, say: Say) -> None:
    """Print the most similar pairs of an index, or all above the threshold as they are found."""
    index, count = Index(options.index), 0
    with progress("pairs", len(index) ** 2, "cosine", delay=1.0) as bar:
        tick = Forecast(len(index) ** 2) if bar.disable else bar.update
        search = PairSearch(index.blocks, options.threshold - LENGTH_ERROR, tick)
        for cosines, pairs in search.all() if options.all else [search.best(options.top)]:
            bar.clear()
            for cosine, both in zip(cosines.tolist(), pairs, strict=True):
                first, second = index.rows(both)
                say(_pair_line(cosine, first, second, options.json))
            count += len(pairs)
    if not options.json:
        cut = ", cut by --top" if count == options.top and not options.all else ""
        say(f"{count:,} pair(s) of cosine {options.threshold:g} or more{cut}: {options.index}")


def _pair_line(cosine: float, first: Row, second: Row, as_json: bool) -> str:
    if as_json:
        sides = {"first": first._asdict(), "second": second._asdict()}
        return json.dumps({"cosine": cosine, **sides})
    ids = f"{printable(first.id)}  {printable(second.id)}"
    return f"{cosine:.4f}  {ids}  {printable(first.text)} | {printable(second.text)}"


class Forecast:
    """Says once, on stderr, how long work will take if that is long: where no bar shows it."""

    def __init__(self, total: int):
        """Begin; `total` is the amount of all work."""
        self.total, self.done = total, 0
        self.started, self.told = time.monotonic(), False

    def __call__(self, count: int) -> None:
        """Note that `count` more are done."""
        self.done += count
        spent = time.monotonic() - self.started
        if self.told or spent < MEASURED_SECONDS:
            return
        self.told = True
        minutes = spent / self.done * self.total / 60
        if minutes >= LONG_MINUTES:
            print(f"pairs: about {minutes:,.0f} minutes in all at this rate", file=sys.stderr)
