"""What each suite measures of a model on one of its sets.

Reads: examples, and models as functions. Feeds: suites.
"""

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse

from baselines.embedder import Embedder, Vectors, similarities
from data.examples import DataError, Example, SentencePair
from data.overlap import Seen, overlap
from data.tasks import Splits
from evaluation.geometry import pair_geometry
from evaluation.hans import hans_metrics
from evaluation.pair_classification import best_threshold, pair_metrics
from evaluation.results import Result
from evaluation.scoring import labels_of
from evaluation.sts import set_metrics
from evaluation.transfer import (
    cross_validated,
    pair_vectors,
    transfer_metrics,
    with_split,
)

FEWEST = 4  # training rows of each class: two folds in each of two folds

# Training pairs (label 1 = entailment), pairs to score -> probability of entailment (N,).
Entailment = Callable[[Sequence[SentencePair], Sequence[SentencePair]], np.ndarray]


@dataclass(frozen=True)
class Model:
    """One row of the tables.

    Attributes:
        embedder: the model itself.
        seen: the texts that it was trained on or selected by.
        heads: name -> a head on the encoder that learns entailment, for HANS; {} without encoder.
    """

    embedder: Embedder
    seen: Seen = field(default_factory=Seen)
    heads: Mapping[str, Entailment] = field(default_factory=dict)


@dataclass(frozen=True)
class HansData:
    """The pairs of HANS, and the NLI pairs (label 1.0 = entailment) to learn entailment from."""

    pairs: list[SentencePair]
    train: list[SentencePair]


def measure_sts(model: Model, name: str, subsets: dict[str, list[SentencePair]]) -> list[Result]:
    """Return Spearman and Pearson of the similarities, for each subset and over all."""
    scores = {part: _compared(model.embedder, pairs) for part, pairs in subsets.items()}
    gold = {part: labels_of(pairs) for part, pairs in subsets.items()}
    seen = {part: overlap(pairs, model.seen).shared for part, pairs in subsets.items()}
    unseen = _set_metrics_of_unseen(scores, gold, seen)
    shares = {part: float(rows.mean()) for part, rows in seen.items()}
    everything = float(np.concatenate(list(seen.values())).mean())
    return [
        Result(
            *(model.embedder.name, "sts", name, part, metric, value, n),
            *(shares.get(part, everything), unseen.get((part, metric), (None, 0))[0]),
        )
        for (part, metric), (value, n) in set_metrics(scores, gold).items()
    ]


def _set_metrics_of_unseen(
    scores: dict[str, np.ndarray], gold: dict[str, np.ndarray], seen: dict[str, np.ndarray]
) -> dict[tuple[str, str], tuple[float | None, int]]:
    """Return the numbers of a set on its unseen rows; "mean" only if every subset has some."""
    rest = {part: ~rows for part, rows in seen.items() if not rows.all()}
    scores = {part: scores[part][rows] for part, rows in rest.items()}
    gold = {part: gold[part][rows] for part, rows in rest.items()}
    if len(rest) == len(seen):
        return set_metrics(scores, gold)
    if not rest:
        return {}
    joined = [{"rest": np.concatenate(list(side.values()))} for side in (scores, gold)]
    found = set_metrics(*joined)
    for part in rest:
        own = set_metrics({part: scores[part]}, {part: gold[part]})
        found |= {(part, metric): value for (_, metric), value in own.items()}
    return found


def measure_pairs(model: Model, name: str, splits: Splits) -> list[Result]:
    """Return average precision, accuracy and F1 of the similarities as a classifier."""
    scores, labels = _compared(model.embedder, splits.test), labels_of(splits.test)
    train: tuple[Any, Any] = (None, None)
    if splits.train:
        train = (_compared(model.embedder, splits.train), labels_of(splits.train))
    return list(
        _on_all_and_unseen(
            model, "pairs", name, splits.test,
            lambda rows: pair_metrics(scores[rows], labels[rows], *train),
        )
    )  # fmt: skip


def measure_transfer(model: Model, name: str, splits: Splits) -> list[Result]:
    """Return accuracy (and F1 of two classes) of a logistic regression on frozen vectors."""
    if model.embedder.embed is None:
        return []
    train_labels = _classes(splits.train)
    _check_classes(name, train_labels)
    train = _features(model.embedder, splits.train)
    scored = splits.test or splits.train
    if not splits.test:
        predictions = cross_validated(train, train_labels)
    else:
        dev: tuple[Any, Any] = (None, None)
        if splits.dev:
            dev = (_features(model.embedder, splits.dev), _classes(splits.dev))
        test = _features(model.embedder, splits.test)
        predictions = with_split(train, train_labels, test, *dev)
    labels = _classes(scored)
    return list(
        _on_all_and_unseen(
            model, "transfer", name, scored,
            lambda rows: transfer_metrics(predictions[rows], labels[rows]),
        )
    )  # fmt: skip


def measure_hans(model: Model, name: str, data: HansData) -> list[Result]:
    """Return HANS's accuracies of the similarity and of the heads, as models of their own.

    The similarity calls entailment what lies above the threshold that is best on the NLI pairs.
    Those pairs count as seen, too. Without any, there is no threshold and no head: what is left is
    the area under the curve.
    """
    kind = "cosine" if model.embedder.compare is None else "similarity"
    threshold = math.nan
    if data.train:
        known = _compared(model.embedder, data.train)
        threshold = best_threshold(known, labels_of(data.train), "accuracy")
    judged = {kind: (_compared(model.embedder, data.pairs), threshold)}
    for head, entailment in model.heads.items() if data.train else ():
        judged[head] = (entailment(data.train, data.pairs), 0.5)
    seen = copy.copy(model.seen)
    seen.add_examples(data.train)
    shared = overlap(data.pairs, seen).shared
    results = []
    for judge, (scores, least) in judged.items():
        unseen = hans_metrics(_kept(data.pairs, ~shared), scores[~shared], least)
        results += [
            Result(
                *(f"{model.embedder.name}, {judge}", "hans", name, "", metric, value, n),
                *(float(shared.mean()), unseen.get(metric, (None, 0))[0]),
            )
            for metric, (value, n) in hans_metrics(data.pairs, scores, least).items()
        ]
    return results


def measure_geometry(
    model: Model, name: str, subsets: dict[str, list[SentencePair]]
) -> list[Result]:
    """Return alignment, uniformity and the rest, on the texts of an STS set."""
    pairs = [pair for part in subsets.values() for pair in part]
    embed = model.embedder.embed
    # A bag of words has thousands of columns: no sphere of a size to compare.
    if embed is None or issparse(embed([pairs[0].text_a])):
        return []
    results = list(
        _on_all_and_unseen(
            model, "geometry", name, pairs,
            lambda rows: pair_geometry(lambda texts: np.asarray(embed(texts)), _kept(pairs, rows)),
        )
    )  # fmt: skip
    # The majority class has nothing but zeros.
    return results if any(result.value is not None for result in results) else []


def _kept(pairs: Sequence[SentencePair], rows: np.ndarray) -> list[SentencePair]:
    return [pair for pair, kept in zip(pairs, rows, strict=True) if kept]


def _on_all_and_unseen(
    model: Model,
    suite: str,
    name: str,
    examples: Sequence[Example],
    metrics: Callable[[np.ndarray], Mapping[str, float | None]],
) -> Iterator[Result]:
    """Yield metrics of all rows, each beside its value on the rows that the model had not seen."""
    seen = overlap(examples, model.seen).shared
    unseen = metrics(~seen) if seen.any() and not seen.all() else {}
    for metric, value in metrics(np.ones(len(examples), bool)).items():
        rest = unseen.get(metric) if seen.any() else value
        yield Result(
            model.embedder.name, suite, name, "", metric, value,
            len(examples), float(seen.mean()), rest,
        )  # fmt: skip


def _features(embedder: Embedder, examples: Sequence[Any]) -> Vectors:
    """Return the vectors of sentences, or SentEval's features of pairs."""
    assert embedder.embed is not None
    if isinstance(examples[0], SentencePair):
        sides = (embedder.embed([pair.texts[side] for pair in examples]) for side in (0, 1))
        return pair_vectors(*sides)
    return embedder.embed([example.text for example in examples])


def _check_classes(name: str, labels: np.ndarray) -> None:
    """Raise DataError where folds of the training rows would lack a class."""
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2 or counts.min() < FEWEST:
        shown = ", ".join(f"class {c}: {n}" for c, n in zip(classes, counts, strict=True))
        raise DataError(
            f"{name}: training rows by class are {shown}; expected two or more classes of at "
            f"least {FEWEST} rows"
        )


def _compared(embedder: Embedder, pairs: Sequence[SentencePair]) -> np.ndarray:
    return similarities(embedder, [p.text_a for p in pairs], [p.text_b for p in pairs])


def _classes(examples: Sequence[Example]) -> np.ndarray:
    return labels_of(examples).astype(np.int64)
