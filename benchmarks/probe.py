"""Is a pre-trained encoder worth loading? Linear probes on what it embeds, frozen, beside rivals.

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

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from data.examples import Example
from data.locate import data_folder
from data.overlap import Seen
from data.tasks import TASKS, Splits, Task, read_task
from evaluation.metrics import labels_of, pearson
from evaluation.scoring import score_split
from evaluation.sts import cosine_scores
from evaluation.table import csv_text
from minbert.config import POOLINGS
from runtime.commands import begin, exit_code
from runtime.files import write_text
from runtime.options import option, parse

if TYPE_CHECKING:
    from sklearn.model_selection import GridSearchCV

    from minbert.encoder import SentenceEncoder

Embeddings = Any  # a float32 array (N, H), or a sparse matrix (N, words)
Encode = Callable[[Sequence[str]], Embeddings]

CLASS_STRENGTHS = [1e-3, 1e-2, 0.1, 1]
SCORE_STRENGTHS = [1, 10, 100, 1e3, 1e4]


def probes_of(task: Task) -> list[str]:
    """Return the names of a task's probes."""
    unseen = [f"{task.name} unseen"] if task.is_pair else []
    cosine = [f"{task.name} cosine"] if task.kind == "score" else []
    return [task.name, *unseen, *cosine]


PROBES = tuple(name for task in TASKS.values() for name in probes_of(task))


def encoders_option() -> Any:
    """Return the field of a command line that names encoders, each perhaps with a title."""
    return option(
        help="mini, a folder or a hub id, and what to call it",
        flag="encoders",
        metavar="[TITLE=]ENCODER",
        required=True,
    )


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    encoders: tuple[str, ...] = encoders_option()
    data: str = option("bundled", "as for run_multitask.py", metavar="NAME")
    pooling: str = option("avg", "from token states to an embedding", choices=POOLINGS)
    task: tuple[str, ...] = option((), "some tasks (all)", choices=lambda: tuple(TASKS))
    csv: Path | None = option(None, "the table as a file as well", metavar="FILE")


def random_twin(encoder: "SentenceEncoder", seed: int = 0) -> "SentenceEncoder":
    """Return an encoder of the same sizes, tokenizer and pooling with fresh weights."""
    from minbert.encoder import SentenceEncoder
    from minbert.model import BertModel
    from runtime.training import set_seed

    set_seed(seed)
    model = BertModel(encoder.model.config, encoder.model.pooler is not None)
    twin = SentenceEncoder(model, encoder.tokenizer, encoder.pooling, str(encoder.device))
    twin.max_length = encoder.max_length
    return twin


def bag_of_words(splits: dict[str, Splits]) -> Encode:
    """Return TF-IDF, fitted on every training text; single words are what it knows."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts: list[str] = []
    for parts in splits.values():
        for example in parts.train:
            texts += example.texts
    vectorizer = TfidfVectorizer(min_df=2, sublinear_tf=True).fit(texts)
    return lambda texts: vectorizer.transform(texts).astype(np.float32)


def probe(encode: Encode, splits: dict[str, Splits]) -> dict[str, float]:
    """Return the score of every probe that has any rows."""
    scores = {}
    for task, parts in splits.items():
        record = TASKS[task]
        train, dev = (_features(encode, record, rows) for rows in (parts.train, parts.dev))
        gold, labels = labels_of(parts.train), labels_of(parts.dev)
        seen = Seen()
        seen.add_examples(parts.train)
        scored = score_split(task, parts.dev, _fit(record, train, gold).predict(dev), seen)
        scores[task] = scored["metrics"][record.main_metric] or 0.0
        if record.is_pair and (rest := scored["overlap"]["metrics_on_rest"]):
            scores[f"{task} unseen"] = rest[record.main_metric] or 0.0
        if record.kind == "score":
            scores[f"{task} cosine"] = pearson(_cosines(encode, parts.dev), labels) or 0.0
    return scores


def _features(encode: Encode, task: Task, examples: Sequence[Example]) -> Embeddings:
    columns = [encode(texts) for texts in zip(*(e.texts for e in examples), strict=True)]
    if not task.is_pair:
        return columns[0]
    u, v = columns
    product = u.multiply(v).tocsr() if sparse.issparse(u) else u * v
    parts = [abs(u - v), product] if task.kind == "score" else [u, v, abs(u - v), product]
    return sparse.hstack(parts).tocsr() if sparse.issparse(u) else np.hstack(parts)


def _fit(task: Task, features: Embeddings, labels: np.ndarray) -> "GridSearchCV":
    """Choose the strength of the regularisation on train alone, then fit."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # The weakest strengths need more than a hundred iterations, and are never chosen.
    warnings.simplefilter("ignore", ConvergenceWarning)
    scaler = StandardScaler(with_mean=not sparse.issparse(features))
    if sparse.issparse(features):  # TF-IDF is scaled already; rare words must not be blown up
        scaler = StandardScaler(with_mean=False, with_std=False)
    if task.kind == "score":
        model, grid = Ridge(), {"ridge__alpha": SCORE_STRENGTHS}
    else:
        model, grid = LogisticRegression(max_iter=100), {"logisticregression__C": CLASS_STRENGTHS}
    return GridSearchCV(make_pipeline(scaler, model), grid, cv=3).fit(features, labels)


def _cosines(encode: Encode, pairs: Sequence[Any]) -> np.ndarray:
    def dense(texts: Sequence[str]) -> np.ndarray:
        embeddings = encode(texts)
        return embeddings.toarray() if sparse.issparse(embeddings) else embeddings

    return cosine_scores(dense, pairs)


def rivals(
    names: Sequence[str], splits: dict[str, Splits], pooling: str | None
) -> Iterator[tuple[str, Encode]]:
    """Yield what is compared, by name."""
    from minbert.encoder import SentenceEncoder

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
    options = parse(Options, argv, prog="python -m benchmarks.probe", description=__doc__)
    return exit_code(lambda: run(options))


def run(options: Options) -> None:
    """Measure, print and, if asked, write."""
    rows = []
    folder = data_folder(options.data)
    splits = {task: read_task(folder, task) for task in options.task or TASKS}
    print(f"{'':40}" + "".join(f"{name:>12}" for name in PROBES), flush=True)
    for name, encode in rivals(options.encoders, splits, options.pooling):
        scores = probe(encode, splits)
        shown = (f"{scores[key]:12.3f}" if key in scores else f"{'-':>12}" for key in PROBES)
        print(f"{name[-39:]:40}" + "".join(shown), flush=True)
        rows.append({"encoder": name, **{key: f"{scores[key]:.4f}" for key in scores}})
    if options.csv:
        names = list(rows[0])
        write_text(options.csv, csv_text(names, [[row[name] for name in names] for row in rows]))
        print(f"table: {options.csv}")


if __name__ == "__main__":
    begin()
    sys.exit(main())
