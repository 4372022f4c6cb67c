"""Is a pre-trained encoder worth loading? Linear probes on its frozen vectors, beside plain rivals.

    python -m benchmarks.probe mini "my encoder=path/to/another" --data DATA

All probes are fitted on train and scored on dev, strengths chosen by cross-validation on train:

    sst         accuracy, logistic regression on u
    para        accuracy, logistic regression on [u; v; |u-v|; u*v]
    sts         Pearson, ridge regression on [|u-v|; u*v]
    sts cosine  Pearson of the cosine, nothing fitted
    ... unseen  the same fit, scored on the pairs of dev neither of whose texts is in train

The last ones matter: who knows many single words can remember the very texts of train, and what
was said of them. The rivals: a bag of words (TF-IDF), and the first encoder's *random twin*, the
same sizes, tokenizer and pooling with fresh weights: what the architecture gives for nothing.
"""

import argparse
import csv
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.random_twin import random_twin
from data.examples import DataError
from data.fetch.locate import data_folder
from data.overlap import Seen
from data.tasks import TASKS, Splits, read_task
from evaluation.metrics import pearson
from evaluation.scoring import score_split
from evaluation.sts import cosine_scores
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.pooling import POOLINGS

Vectors = Any  # a float32 array (N, H), or a sparse matrix (N, words)
Encode = Callable[[Sequence[str]], Vectors]

PROBES = ("sst", "para", "para unseen", "sts", "sts unseen", "sts cosine")
STRENGTHS = {"sst": [1e-3, 1e-2, 0.1, 1], "sts": [1, 10, 100, 1e3, 1e4]}


def bag_of_words(splits: dict[str, Splits]) -> Encode:
    """Return TF-IDF, fitted on every training text; single words are what it knows."""
    texts: list[str] = []
    for task in splits.values():
        for example in task.train:
            texts += (
                [example.text] if hasattr(example, "text") else [example.text_a, example.text_b]
            )
    vectorizer = TfidfVectorizer(min_df=2, sublinear_tf=True).fit(texts)
    return lambda texts: vectorizer.transform(texts).astype(np.float32)


def probe(encode: Encode, splits: dict[str, Splits]) -> dict[str, float]:
    """Return the score of every probe that has any rows."""
    scores = {}
    for task, parts in splits.items():
        train, dev = (_features(encode, task, rows) for rows in (parts.train, parts.dev))
        gold, labels = (
            np.array([example.label for example in rows], np.float64)
            for rows in (parts.train, parts.dev)
        )
        seen = Seen()
        seen.add_examples(parts.train)
        scored = score_split(task, parts.dev, _fit(task, train, gold).predict(dev), seen)
        scores[task] = scored["metrics"][TASKS[task].main_metric] or 0.0
        if task != "sst" and (rest := scored["overlap"]["metrics_on_rest"]):
            scores[f"{task} unseen"] = rest[TASKS[task].main_metric] or 0.0
        if task == "sts":
            scores["sts cosine"] = pearson(_cosines(encode, parts.dev), labels) or 0.0
    return scores


def _features(encode: Encode, task: str, examples: Sequence[Any]) -> Vectors:
    if task == "sst":
        return encode([example.text for example in examples])
    u = encode([example.text_a for example in examples])
    v = encode([example.text_b for example in examples])
    product = u.multiply(v).tocsr() if sparse.issparse(u) else u * v
    parts = [u, v, abs(u - v), product] if task == "para" else [abs(u - v), product]
    return sparse.hstack(parts).tocsr() if sparse.issparse(u) else np.hstack(parts)


def _fit(task: str, features: Vectors, labels: np.ndarray) -> GridSearchCV:
    """Choose the strength of the regularisation on train alone, then fit."""
    # The weakest strengths need more than a hundred iterations, and are never chosen.
    warnings.simplefilter("ignore", ConvergenceWarning)
    scaler = StandardScaler(with_mean=not sparse.issparse(features))
    if sparse.issparse(features):  # TF-IDF is scaled already; rare words must not be blown up
        scaler = StandardScaler(with_mean=False, with_std=False)
    if task == "sts":
        model, grid = Ridge(), {"ridge__alpha": STRENGTHS["sts"]}
    else:
        model, grid = LogisticRegression(max_iter=100), {"logisticregression__C": STRENGTHS["sst"]}
    return GridSearchCV(make_pipeline(scaler, model), grid, cv=3).fit(features, labels)


def _cosines(encode: Encode, pairs: Sequence[Any]) -> np.ndarray:
    def dense(texts: Sequence[str]) -> np.ndarray:
        vectors = encode(texts)
        return vectors.toarray() if sparse.issparse(vectors) else vectors

    return cosine_scores(dense, pairs)


def rivals(
    names: Sequence[str], splits: dict[str, Splits], pooling: str | None
) -> Iterator[tuple[str, Encode]]:
    """Yield what is compared, by name."""
    yield "bag of words (TF-IDF)", bag_of_words(splits)
    titles = [name.partition("=")[0] for name in names]
    encoders = [
        SentenceEncoder.from_pretrained(name.partition("=")[2] or name, pooling) for name in names
    ]
    yield f"random twin of {titles[0]}", random_twin(encoders[0]).encode
    for title, encoder in zip(titles, encoders, strict=True):
        yield title, encoder.encode


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table row by row; write it where `--csv` says."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.probe",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("encoders", nargs="+", metavar="[TITLE=]ENCODER",
                        help="mini, a folder or a hub id, and what to call it")  # fmt: skip
    parser.add_argument("--data", default="bundled", help="as for run_multitask.py (bundled)")
    parser.add_argument("--pooling", choices=POOLINGS, default="avg", help="(avg: mean)")
    parser.add_argument("--task", nargs="+", choices=[*TASKS], default=[*TASKS], help="(all)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="the table as a file as well")
    args = parser.parse_args(argv)
    rows = []
    try:
        splits = {task: read_task(data_folder(args.data), task) for task in args.task}
        print(f"{'':40}" + "".join(f"{name:>12}" for name in PROBES), flush=True)
        for name, encode in rivals(args.encoders, splits, args.pooling):
            scores = probe(encode, splits)
            shown = (f"{scores[key]:12.3f}" if key in scores else f"{'-':>12}" for key in PROBES)
            print(f"{name[-39:]:40}" + "".join(shown), flush=True)
            rows.append({"encoder": name, **{key: f"{scores[key]:.4f}" for key in scores}})
    except (DataError, CheckpointError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if args.csv:
        args.csv.parent.mkdir(parents=True, exist_ok=True)
        with args.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        print(f"table: {args.csv}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
