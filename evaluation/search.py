"""Find the best texts of a corpus for queries, and read them again with a cross-encoder.

Legend: Q queries, n texts of the corpus, K found texts of a query, T tokens, H dimensions.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from data.examples import SentencePair
from evaluation.nearest import top_k
from evaluation.ranking import best_first
from heads.features import Features
from heads.heads import Head
from heads.inputs import LiveInputs
from heads.maxsim import token_states
from heads.train import head_logits
from minbert.encoder import SentenceEncoder
from runtime.progress import progress

DEPTHS = (10, 20, 50, 100)  # how many of the found texts a cross-encoder reads
BLOCK = 4096  # texts or pairs at a time


@dataclass(frozen=True)
class Found:
    """The best rows of the corpus for each query, (Q, K), the best first, and their scores."""

    rows: np.ndarray
    scores: np.ndarray
    milliseconds: float  # per query
    megabytes: float  # of what is kept of the corpus


Finder = Callable[[Sequence[str], int], Found]  # of queries, and the K texts of each


def by_cosine(encoder: SentenceEncoder, corpus: Sequence[str]) -> Finder:
    """Return the search of a bi-encoder: the largest cosines with a query."""
    vectors = _unit(encoder.encode_document(corpus, show_progress=None))  # (n, H)

    def find(queries: Sequence[str], most: int) -> Found:
        begun = time.perf_counter()
        wanted = _unit(encoder.encode_query(queries))  # (Q, H)
        blocks = (vectors[start : start + BLOCK] for start in range(0, len(vectors), BLOCK))
        cosines, rows = top_k(wanted, blocks, most)
        milliseconds = 1000 * (time.perf_counter() - begun) / len(queries)
        return Found(rows, cosines, milliseconds, vectors.nbytes / 1e6)

    return find


def by_maxsim(encoder: SentenceEncoder, corpus: Sequence[str]) -> Finder:
    """Return the search of late interaction: the largest MaxSim with a query.

    For each token of the query, the largest cosine with a token of the text; their mean (Khattab
    and Zaharia 2020, equation 3, has the sum). The states of a block of texts are in memory at a
    time, so the time does not include their encoding.
    """

    def find(queries: Sequence[str], most: int) -> Found:
        begun = time.perf_counter()
        wanted = [_unit(states) for states in token_states(encoder, queries)]  # (T, H) each
        seconds = time.perf_counter() - begun
        rows = np.empty((len(queries), 0), np.int64)
        scores = np.empty((len(queries), 0), np.float32)
        megabytes = 0.0
        for first, tokens, starts in _blocks_of_tokens(encoder, corpus):
            megabytes += tokens.nbytes / 1e6
            begun = time.perf_counter()
            # (T of the query, T of the block) -> (T of the query, n of the block) -> (n,)
            of_block = np.stack(
                [np.maximum.reduceat(q @ tokens.T, starts, axis=1).mean(axis=0) for q in wanted]
            )
            numbers = np.broadcast_to(np.arange(first, first + len(starts)), of_block.shape)
            both = best_first(np.hstack([rows, numbers]), np.hstack([scores, of_block]))
            rows, scores = (values[:, :most] for values in both)
            seconds += time.perf_counter() - begun
        return Found(rows, scores, 1000 * seconds / len(queries), megabytes)

    return find


def _blocks_of_tokens(
    encoder: SentenceEncoder, corpus: Sequence[str]
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield blocks of texts: the first row, the token states (T, H), and where each text starts."""
    with progress("encode texts", len(corpus), "text") as bar:
        for first in range(0, len(corpus), BLOCK):
            states = token_states(encoder, corpus[first : first + BLOCK])
            lengths = [len(text) for text in states]
            starts = np.cumsum([0, *lengths[:-1]])
            bar.update(len(states))
            yield first, _unit(np.concatenate(states)), starts


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Return vectors (n, H) at length 1, float32."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)
    return np.asarray(vectors / lengths, np.float32)


def read_again(
    encoder: SentenceEncoder,
    head: Head,
    features: Features,
    queries: Sequence[str],
    corpus: Sequence[str],
    rows: np.ndarray,
    depths: Sequence[int] = DEPTHS,
) -> tuple[np.ndarray, dict[int, float]]:
    """Return a cross-encoder's logits of the best rows of each query, and the time by depth.

    Args:
        encoder, head, features: of the cross-encoder.
        queries, corpus: texts.
        rows: (Q, K), the best first.
        depths: rising; as many texts of each query are read as the last one says.

    Returns:
        Logits (Q, K or the last depth) float32, and for each depth the milliseconds per query.
    """
    depths = sorted({min(depth, rows.shape[1]) for depth in depths})
    logits = np.empty((len(queries), depths[-1]), np.float32)
    times: dict[int, float] = {}
    seconds, start = 0.0, 0
    with progress("re-rank", logits.size, "pair") as bar:
        for depth in depths:
            step = max(1, BLOCK // (depth - start))  # queries at a time
            for first in range(0, len(queries), step):
                part = slice(first, first + step)
                pairs = [
                    SentencePair("", query, corpus[row])
                    for query, best in zip(queries[part], rows[part, start:depth], strict=True)
                    for row in best.tolist()
                ]
                begun = time.perf_counter()
                read = head_logits(head, LiveInputs(encoder, pairs, features))
                seconds += time.perf_counter() - begun
                logits[part, start:depth] = read.reshape(-1, depth - start)
                bar.update(len(pairs))
            times[depth], start = 1000 * seconds / len(queries), depth
    return logits, times
