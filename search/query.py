"""Queries of an index: nearest texts, optionally re-ranked, and the most similar pairs."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from data.examples import DataError
from runtime.progress import progress
from runtime.streams import printable
from search.encoders import CrossEncoder, open_cross_encoder
from search.index import STDIN, Index, Row, lines_of
from search.nearest import similar_pairs, top_k
from search.options import PairsOptions, QueryOptions

# Queries per pass over the index; on a terminal each is answered separately.
QUERIES = 256
# Rounding of float32 unit vectors: the cosine of a text with itself differs from 1 by less.
LENGTH_ERROR = 1e-6

Hit = dict[str, Any]  # id, text, cosine, and score if a cross-encoder gave one


def answer(options: QueryOptions) -> None:
    """Answer the queries of the command line, or of stdin.

    Raises:
        UserError: a file or model in the options cannot be used; the message is one line.
    """
    index = Index(options.index)
    encoder = index.encoder(options.device, options.precision)
    cross = None
    if options.rerank:
        cross = open_cross_encoder(options.rerank, options.device, options.precision, options.cell)
    depth = max(options.top_k, options.candidates) if cross else options.top_k
    seconds, count = 0.0, 0
    for queries in _queries(options):
        started = time.perf_counter()
        vectors = encoder.encode_query(queries, show_progress=False, normalize_embeddings=True)
        for query, cosines, numbers in zip(
            queries, *top_k(vectors, index.blocks, depth), strict=True
        ):
            rows = zip(index.rows(numbers), cosines.tolist(), strict=True)
            hits: list[Hit] = [{**row._asdict(), "cosine": cosine} for row, cosine in rows]
            if cross:
                hits = _reranked(cross, query, hits)
            hits = hits[: options.top_k]
            as_json = json.dumps({"query": query, "hits": hits}) if options.json else ""
            print(as_json or _as_table(query, hits), flush=True)
        seconds, count = seconds + time.perf_counter() - started, count + len(queries)
    if not options.json and count:
        asked = "1 query" if count == 1 else f"{count:,} queries"
        print(f"{asked}, {len(index):,} texts, {seconds:.2f} s: {options.index}")


def _queries(options: QueryOptions) -> Iterator[list[str]]:
    """Yield lists of queries that are answered together."""
    if options.text:
        texts = [text.strip() for text in options.text]
        for text in texts:
            # A byte of the command line that is not UTF-8 became a lone surrogate.
            if not text or any("\ud800" <= char <= "\udfff" for char in text):
                raise DataError(f"query {text!r}: expected a text in UTF-8")
        yield texts
        return
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    if is_terminal:
        print("one query per line; Ctrl-D ends", file=sys.stderr)
    lines = filter(None, (line.strip() for _, line in lines_of(STDIN)))
    while group := list(islice(lines, 1 if is_terminal else QUERIES)):
        yield group


def _reranked(cross: CrossEncoder, query: str, hits: list[Hit]) -> list[Hit]:
    """Return the hits sorted by the cross-encoder's scores; ties keep their order."""
    scores = cross(query, [hit["text"] for hit in hits])
    return [hits[at] | {"score": float(scores[at])} for at in np.argsort(-scores, kind="stable")]


def _as_table(query: str, hits: Sequence[Hit]) -> str:
    width = max([2, *(len(printable(hit["id"])) for hit in hits)])
    scored = bool(hits) and "score" in hits[0]
    lines = [f"query: {printable(query)}"]
    lines.append(f"rank  {'score   ' if scored else ''}cosine  {'id':{width}}  text")
    for place, hit in enumerate(hits, start=1):
        score = f"{hit['score']:6.4f}  " if scored else ""
        id, text = printable(hit["id"]), printable(hit["text"])
        lines.append(f"{place:4}  {score}{hit['cosine']:6.3f}  {id:{width}}  {text}")
    return "\n".join([*lines, ""])


def print_pairs(options: PairsOptions) -> None:
    """Print the most similar pairs of an index, or all above a threshold without sorting.

    Raises:
        UserError: there is no index, or it is damaged.
    """
    index, count = Index(options.index), 0
    threshold, most = options.threshold - LENGTH_ERROR, None if options.all else options.top
    with progress("pairs", len(index) ** 2, "cosine", delay=1.0) as bar:
        for cosines, pairs in similar_pairs(index.blocks, threshold, most, bar.update):
            if len(pairs):
                bar.clear()
            for cosine, pair in zip(cosines.tolist(), pairs, strict=True):
                first, second = index.rows(pair)
                print(_pair_line(cosine, first, second, options.json), flush=True)
            count += len(pairs)
    if not options.json:
        cut = ", cut by --top" if count == most else ""
        print(f"{count:,} pair(s) of cosine {options.threshold:g} or more{cut}: {options.index}")


def _pair_line(cosine: float, first: Row, second: Row, as_json: bool) -> str:
    if as_json:
        sides = {"first": first._asdict(), "second": second._asdict()}
        return json.dumps({"cosine": cosine, **sides})
    ids = f"{printable(first.id)}  {printable(second.id)}"
    return f"{cosine:.4f}  {ids}  {printable(first.text)} | {printable(second.text)}"
