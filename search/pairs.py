"""The most similar pairs of an index, or all above a threshold as they are found."""

import json

from runtime.progress import progress
from runtime.streams import printable
from search.index import Index, Row
from search.nearest import PairSearch
from search.options import PairsOptions

# Float32 vectors of length 1 are not quite so: the cosine of a text with itself misses 1 by less.
LENGTH_ERROR = 1e-6


def mine_pairs(options: PairsOptions) -> None:
    """Print them.

    Raises:
        UserError: there is no index, or it is damaged.
    """
    index, count = Index(options.index), 0
    with progress("pairs", len(index) ** 2, "cosine", delay=1.0) as bar:
        search = PairSearch(index.blocks, options.threshold - LENGTH_ERROR, bar.update)
        for cosines, pairs in search.all() if options.all else [search.best(options.top)]:
            bar.clear()
            for cosine, both in zip(cosines.tolist(), pairs, strict=True):
                first, second = index.rows(both)
                print(_line(cosine, first, second, options.json), flush=True)
            count += len(pairs)
    if not options.json:
        cut = ", cut by --top" if count == options.top and not options.all else ""
        print(f"{count:,} pair(s) of cosine {options.threshold:g} or more{cut}: {options.index}")


def _line(cosine: float, first: Row, second: Row, as_json: bool) -> str:
    if as_json:
        sides = {"first": first._asdict(), "second": second._asdict()}
        return json.dumps({"cosine": cosine, **sides})
    ids = f"{printable(first.id)}  {printable(second.id)}"
    return f"{cosine:.4f}  {ids}  {printable(first.text)} | {printable(second.text)}"
