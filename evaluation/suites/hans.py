"""HANS: does a model that learnt entailment judge by word overlap (McCoy et al. 2019)?

Every pair of HANS has a hypothesis made of words of the premise, so overlap always says
"entailment"; half of the pairs are not. Thresholds and heads are learnt from NLI pairs.
"""

import copy
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, compress
from pathlib import Path

import numpy as np

from data.examples import DataError, SentencePair
from data.locate import MissingSet
from data.published import HANS_LABELS
from data.suites import read_hans, read_nli
from evaluation.metrics import PartMetrics, best_threshold, labels_of
from evaluation.suites.measured import (
    LoadedSet,
    Model,
    in_first,
    pair_similarities,
    results_of,
    spread,
)
from evaluation.suites.results import SUBCASE, Result
from runtime.files import write_text

# The subcase in which two nouns change places: "the judge saw the clerk", "the clerk saw the
# judge". A bag of words cannot distinguish the two sentences.
SWAP = "ln_subject/object_swap"
# NLI pairs for a threshold or a small head: more would take long to encode and change little.
MOST_PAIRS, FEWEST_PAIRS = 20_000, 10


def read(folders: Sequence[Path], name: str) -> LoadedSet:
    """Return a set of data.suites.HANS_SETS; `train` is as many entailed NLI pairs as others.

    Labels are 1.0 for entailment and 0.0. Where no folder holds NLI pairs, `train` is [].

    Raises:
        DataError: too few NLI pairs of one kind.
    """
    pairs = in_first(read_hans, folders, name)
    try:
        nli = in_first(read_nli, folders)
    except MissingSet:
        return LoadedSet("hans", name, examples=pairs, scored=pairs)
    # To HANS, neutral and contradiction are one class: not entailed. Half of its pairs are
    # entailed, a third of NLI's; thresholds and heads learn from as many of both.
    entailed = [replace(pair, label=1.0) for pair in nli if pair.label == 0]
    others = [replace(pair, label=0.0) for pair in nli if pair.label != 0]
    of_each = min(len(entailed), len(others), MOST_PAIRS // 2)
    if of_each < FEWEST_PAIRS:
        raise DataError(
            f"nli_pairs.tsv: {len(entailed)} of {len(nli)} pairs are entailed; to learn "
            f"entailment, expected {FEWEST_PAIRS} or more of both kinds"
        )
    balanced = zip(spread(entailed, of_each), spread(others, of_each), strict=True)
    train = list(chain(*balanced))
    return LoadedSet("hans", name, examples=[*pairs, *train], scored=pairs, train=train)


def measure(model: Model, hans: LoadedSet) -> list[Result]:
    """Return HANS's accuracies of the similarity and of the heads, as separate models.

    Pairs with a similarity above the best threshold on the NLI pairs are called entailment. Those
    NLI pairs count as seen. Without NLI pairs there is no threshold and no head, only the area
    under the curve. `NLI, held out` is each model's accuracy on a tenth of the NLI pairs.
    """
    nli, pairs = hans.train, hans.scored
    # The last tenth of the NLI pairs is held out: the accuracy on HANS can only be interpreted
    # next to the accuracy there.
    held_out = nli[len(nli) - len(nli) // 10 :]
    learnt = nli[: len(nli) - len(held_out)]
    asked = [*pairs, *held_out]
    threshold = math.nan
    if nli:
        known = pair_similarities(model.embedder, learnt)
        threshold = best_threshold(known, labels_of(learnt), "accuracy")
    kind = "cosine" if model.embedder.compare is None else "similarity"
    scores = {kind: (pair_similarities(model.embedder, asked), threshold)}
    for head, entailment in model.heads.items() if nli else ():
        scores[head] = (entailment(learnt, asked), 0.5)
    seen = copy.copy(model.seen)
    seen.add_examples(nli)
    results = []
    for judge, (both, least) in scores.items():
        on_hans, on_nli = both[: len(pairs)], both[len(pairs) :]
        name = f"{model.embedder.name}, {judge}"
        if held_out:
            right = float(((on_nli >= least) == (labels_of(held_out) > 0)).mean())
            place = (hans.suite, hans.name, "", "NLI, held out")
            results.append(Result(name, *place, right, len(held_out)))
        if model.predictions and nli:
            file = "-".join(re.findall(r"[\w.]+", f"{hans.name} {name}"))
            write_text(model.predictions / f"{file}.txt", hans_predictions(pairs, on_hans, least))

        def metrics(
            rows: np.ndarray, scores: np.ndarray = on_hans, least: float = least
        ) -> PartMetrics:
            by_name = hans_metrics(list(compress(pairs, rows)), scores[rows], least)
            return {("", name): value for name, value in by_name.items()}

        results += results_of(replace(model, seen=seen), hans, metrics, judge=f", {judge}")
    return results


def hans_metrics(
    pairs: Sequence[SentencePair], scores: np.ndarray, threshold: float
) -> dict[str, tuple[float | None, int]]:
    """Return {measure: (value, number of pairs)} of HANS.

    Args:
        pairs: label 1.0 for entailment, else 0.0; phenomenon "HEURISTIC/SUBCASE".
        scores: (N,), higher for entailment.
        threshold: pairs at or above it are called entailment; NaN for none, which gives no
            accuracy.

    Returns:
        `accuracy`; per heuristic, the accuracy on its entailed and its other pairs (HANS's table),
        and the area under the ROC curve, which needs no threshold; the accuracy per subcase; and
        `word-order swap`, the accuracy on swapped nouns, with the area under the curve of these
        pairs against the entailed ones of their heuristic: 0.5 for a model that cannot
        distinguish them.
    """
    labels = labels_of(pairs)
    right = np.where(np.isnan(threshold), np.nan, (scores >= threshold) == (labels > 0))
    tags = np.array([pair.phenomenon or "" for pair in pairs])
    heuristics = np.array([tag.partition("/")[0] for tag in tags])
    metrics: dict[str, tuple[float | None, int]] = {"accuracy": _mean(right)}
    for heuristic in dict.fromkeys(heuristics.tolist()):
        inside = heuristics == heuristic
        for name, label in (("entailed", 1.0), ("not entailed", 0.0)):
            metrics[f"{heuristic}, {name}"] = _mean(right[inside & (labels == label)])
        metrics[f"{heuristic}, AUC"] = (_auc(labels[inside], scores[inside]), int(inside.sum()))
    swapped = np.char.endswith(tags.astype(str), SWAP)
    if swapped.any():
        metrics["word-order swap"] = _mean(right[swapped])
        # Does an entailed pair score higher than one with swapped nouns?
        rows = swapped | ((labels > 0) & np.isin(heuristics, heuristics[swapped]))
        metrics["word-order swap, AUC"] = (_auc(labels[rows], scores[rows]), int(rows.sum()))
    for tag in sorted(set(tags.tolist())):
        metrics[SUBCASE + tag] = _mean(right[tags == tag])
    return metrics


def hans_predictions(pairs: Sequence[SentencePair], scores: np.ndarray, threshold: float) -> str:
    """Return predictions in the format of HANS's evaluation script, `pairID,gold_label`."""
    lines = ["pairID,gold_label"]
    for pair, score in zip(pairs, scores, strict=True):
        lines.append(f"{pair.id},{HANS_LABELS[int(score >= threshold)]}")
    return "\n".join(lines) + "\n"


def _mean(right: np.ndarray) -> tuple[float | None, int]:
    known = len(right) and not np.isnan(right).any()
    return (float(right.mean()) if known else None, len(right))


def _auc(labels: np.ndarray, scores: np.ndarray) -> float | None:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, scores)) if len(set(labels.tolist())) == 2 else None
