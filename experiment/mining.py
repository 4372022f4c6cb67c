"""What a search's readers learn from: answers of the train queries, and texts that are none.

Texts that an encoder ranks high though they do not answer the query are hard negatives.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from data.examples import Document, Query, SentencePair, Triplet
from data.overlap import normalise
from data.search import positives, query_clusters
from data.selection import FEWEST_TO_CHOOSE, Parts
from data.tasks import OWN, Splits, Task
from evaluation.search import Finder, by_cosine
from minbert.encoder import SentenceEncoder

# Of each train query: how many answers, and how many other texts, a cross-encoder learns from.
ANSWERS, OTHERS = 2, 4
MINED = 50  # the other texts are drawn from so many of the best


def mined(
    queries: Sequence[Query], corpus: Sequence[Document], find: Finder, seed: int
) -> list[tuple[Query, list[int], list[int]]]:
    """Return each query with rows that answer it, and other rows that were ranked high.

    The others are drawn from the MINED best. No text that answers the query, or equals one that
    does or the query itself, is among them, and none without a letter or digit.
    """
    draw = np.random.default_rng(seed)
    rows = find([query.text for query in queries], MINED).rows
    chosen = []
    for query, best in zip(queries, rows.tolist(), strict=True):
        answers = [row for row, _ in query.relevant]
        texts = "", query.text, *(corpus[row].text for row in answers)
        known = set(map(normalise, texts))
        others = [row for row in best if normalise(corpus[row].text) not in known]
        some = [draw.permutation(np.array(part, np.int64)).tolist() for part in (answers, others)]
        chosen.append((query, some[0][:ANSWERS], some[1][:OTHERS]))
    return chosen


def pairs_to_learn(
    queries: Sequence[Query], corpus: Sequence[Document], find: Finder, seed: int
) -> list[SentencePair]:
    """Return pairs of a query and a text, with label 1 for answers and 0 for the others."""
    return [
        SentencePair(f"{query.id}/{corpus[row].id}", query.text, corpus[row].text, label)
        for query, answers, others in mined(queries, corpus, find, seed)
        for label, rows in ((1.0, answers), (0.0, others))
        for row in rows
    ]


def triplets_to_learn(splits: Splits, encoder: SentenceEncoder | None = None) -> list[Triplet]:
    """Return each train query with each of its answers, and a mined text as hard negative.

    Without an encoder, triplets have no hard negatives. Empty texts of a corpus are left out.
    """
    corpus = splits.corpus
    if encoder is None:
        pairs = positives(splits.train, corpus)
        return [Triplet(*pair.texts) for pair in pairs if all(pair.texts)]
    find = by_cosine(encoder, [document.text for document in corpus])
    return [
        Triplet(query.text, corpus[row].text, corpus[others[place % len(others)]].text)
        for query, _, others in mined(splits.train, corpus, find, seed=0)
        for place, (row, _) in enumerate(query.relevant)
        if others and corpus[row].text
    ]


def as_csv(triplets: Sequence[Triplet]) -> str:
    """Return triplets as the file that SimCSE's supervised objective reads."""
    content = io.StringIO()
    rows = csv.writer(content, lineterminator="\n")
    rows.writerow(("sent0", "sent1", "hard_neg"))
    rows.writerows(triplet.texts for triplet in triplets)
    return content.getvalue()


def parts_by_query(
    pairs: Sequence[SentencePair], queries: Sequence[Query], seed: int
) -> list[Parts]:
    """Return the rows that a trial is fitted on, and the rows of a fifth of the queries.

    Queries with a common answer stay together; texts that are no answers may be in both parts. []
    if too few rows would be held out.
    """
    groups = query_clusters(queries)
    drawn = np.random.default_rng(seed).permutation(int(groups.max()) + 1)
    chosen = np.isin(groups, drawn[: len(drawn) // 5])
    texts = {query.text for query, is_chosen in zip(queries, chosen, strict=True) if is_chosen}
    held_out = np.array([pair.text_a in texts for pair in pairs])
    if held_out.sum() < FEWEST_TO_CHOOSE:
        return []
    return [(np.flatnonzero(~held_out), np.flatnonzero(held_out))]


def task_of_pairs(record: Task) -> Task:
    """Return the record of a head that tells the answers of a query from other texts."""
    return replace(
        OWN["paraphrase"],
        about="whether a text answers a query",
        texts=record.texts,
        label=record.label,
        prediction_header=record.label,
    )
