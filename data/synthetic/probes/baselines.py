"""How far simple baselines get: `python -m data.synthetic.probes.baselines DIR`.

Word overlap and a linear model over TF-IDF, which know no order but (sst) that of adjacent words.
What they solve teaches nothing about encoders. Reads: the files that data.synthetic wrote.
"""

import csv
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge

from data.synthetic.evaluations import holds_new_opinion
from data.synthetic.vocabulary import lexicon
from data.synthetic.words import SPLITS
from data.table import numbered_lines
from data.tasks import COURSE
from evaluation.metrics import task_metrics
from evaluation.table import csv_text
from runtime.commands import begin, exit_code
from runtime.errors import UserError
from runtime.files import write_text
from runtime.options import option, parse

Row = dict[str, str]


def read(folder: Path, task: str) -> list[list[Row]]:
    """Return train, dev and test of a task with all columns."""
    parts = []
    for name in COURSE[task].files:
        lines = (line for _, line in numbered_lines(folder / name))
        parts.append(list(csv.DictReader(lines, delimiter="\t")))
    return parts


def labels(rows: list[Row], task: str) -> np.ndarray:
    """Return the labels as numbers, (N,)."""
    return np.array([float(row[COURSE[task].label]) for row in rows])


def texts(rows: list[Row], task: str, number: int = 0) -> list[str]:
    """Return the first or second text of each row."""
    return [row[COURSE[task].texts[number]] for row in rows]


def jaccard(rows: list[Row], task: str) -> np.ndarray:
    """Return the share of words that two sentences have in common, (N,)."""
    scores = []
    for row in rows:
        first, second = (set(words(row[column])) for column in COURSE[task].texts)
        scores.append(len(first & second) / max(1, len(first | second)))
    return np.array(scores)


def words(text: str) -> list[str]:
    """Return the words in lower case."""
    return re.findall(r"[\w'-]+", text.lower())


def linear(parts: list[list[Row]], task: str) -> list[np.ndarray]:
    """Return the predictions of a linear model on dev and test, fitted on train."""
    record = COURSE[task]
    longest = 1 if record.is_pair else 2  # words in a row
    vectorizer = TfidfVectorizer(ngram_range=(1, longest), token_pattern=r"[\w'-]+")
    vectorizer.fit([text for n in range(record.num_texts) for text in texts(parts[0], task, n)])
    features = [_features(vectorizer, rows, task) for rows in parts]
    scores = record.label_kind == "score"
    model = Ridge(alpha=1.0) if scores else LogisticRegression(C=10.0, max_iter=1000)
    model.fit(features[0], labels(parts[0], task))
    return [np.asarray(model.predict(part)) for part in features[1:]]


def _features(vectorizer: TfidfVectorizer, rows: list[Row], task: str) -> csr_matrix:
    first = vectorizer.transform(texts(rows, task))
    if not COURSE[task].is_pair:
        return first
    second = vectorizer.transform(texts(rows, task, 1))
    product = first.multiply(second)
    return hstack([abs(first - second), product, csr_matrix(product.sum(axis=1))]).tocsr()


def overlap_classes(parts: list[list[Row]], task: str) -> list[np.ndarray]:
    """Return duplicates by a threshold on the overlap, the best one on train, either direction."""
    scores, truth = jaccard(parts[0], task), labels(parts[0], task)
    edges = np.linspace(0, 1, 101)
    rules: list[Callable[[np.ndarray, float], np.ndarray]] = [np.greater_equal, np.less]
    best = max(
        ((rule, edge) for rule in rules for edge in edges),
        key=lambda choice: float(np.mean(choice[0](scores, choice[1]) == truth)),
    )
    return [best[0](jaccard(part, task), best[1]).astype(float) for part in parts[1:]]


def score(task: str, predicted: np.ndarray, truth: np.ndarray) -> float:
    """Return the task's main metric."""
    return task_metrics(task, predicted, truth)[COURSE[task].main_metric] or 0.0


def baselines(folder: Path) -> dict[tuple[str, str], list[float]]:
    """Return {(task, baseline): [dev, test]} in the task's main metric."""
    results = {}
    for task, record in COURSE.items():
        parts = read(folder, task)
        guesses = {"TF-IDF, linear": linear(parts, task)}
        if record.label_kind != "score":
            guesses["majority"] = _majority(parts, task)
        if record.label_kind == "binary":
            guesses["word overlap"] = overlap_classes(parts, task)
        elif record.label_kind == "score":
            guesses["word overlap"] = [jaccard(part, task) for part in parts[1:]]
        for name, guess in guesses.items():
            truths = [labels(part, task) for part in parts[1:]]
            results[task, name] = [score(task, g, t) for g, t in zip(guess, truths, strict=True)]
    return results


def _majority(parts: list[list[Row]], task: str) -> list[np.ndarray]:
    values, counts = np.unique(labels(parts[0], task), return_counts=True)
    return [np.full(len(part), values[counts.argmax()]) for part in parts[1:]]


def held_out(task: str, part: str, rows: Iterable[Sequence[str]]) -> np.ndarray:
    """Return the rows with a word that occurs only in this part (dev or test), (N,) bool.

    For opinions, phrases are also held out.
    """
    if task == "sst":
        return np.array([any(holds_new_opinion(text, part) for text in row) for row in rows], bool)
    held = {token.lower() for token in lexicon().held_tokens(part)}
    return np.array([not held.isdisjoint(words(" ".join(row))) for row in rows], bool)


def held_out_shares(folder: Path) -> dict[tuple[str, str], float]:
    """Return {(task, part): share of rows with held-out words or phrases}."""
    shares = {}
    for task, record in COURSE.items():
        for part, rows in zip(SPLITS[1:], read(folder, task)[1:], strict=True):
            texts = [[row[column] for column in record.texts] for row in rows]
            shares[task, part] = float(held_out(task, part, texts).mean())
    return shares


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    folder: Path = option(
        help="folder that python -m data.synthetic wrote",
        flag="folder",
        metavar="DIR",
        required=True,
    )
    csv: Path | None = option(None, "also write the first table to this file", metavar="FILE")


def main(argv: Sequence[str] | None = None) -> int:
    """Print all tables; return 0, or 2 if the files are missing or not the bundled ones."""
    return over_folder(
        report, argv, prog="python -m data.synthetic.probes.baselines", description=__doc__
    )


def over_folder(
    report: Callable[[Path], list[list[Any]]], argv: Sequence[str] | None, **about: Any
) -> int:
    """Report on the folder of a command line; return the exit code.

    Args:
        report: prints, and returns a table's header and lines for --csv.
    """
    options = parse(Options, argv, **about)

    def work() -> None:
        try:
            header, *lines = report(options.folder)
        except (KeyError, ValueError) as error:
            raise UserError(f"{options.folder}: not the bundled data ({error!r})") from None
        if options.csv:
            write_text(options.csv, csv_text(header, lines))

    return exit_code(work)


def report(folder: Path) -> list[list[Any]]:
    """Print the baselines' scores and the shares of held-out words; return the scores."""
    print(f"{'task':6}{'baseline':18}{'dev':>7}{'test':>7}")
    found = baselines(folder)
    for (task, name), (dev, test) in found.items():
        print(f"{task:6}{name:18}{dev:7.3f}{test:7.3f}")
    for (task, part), share in held_out_shares(folder).items():
        print(f"{task} {part}: {share:.1%} of the rows hold a held-out word")
    return [["task", "baseline", "dev", "test"], *([*key, *own] for key, own in found.items())]


if __name__ == "__main__":
    begin()
    sys.exit(main())
