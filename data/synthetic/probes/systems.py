"""The systems that are ordered by data sets, and their scores: baselines, and frozen encoders.

A measure is a task with its main metric, for a frozen encoder's head or a linear model over words,
or a similarity task with cosine similarity. Legend: N rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from baselines.embedder import Embedder, similarities
from baselines.words import tfidf, word_overlap
from data.selection import parts_of
from data.synthetic.probes.agreement import Scores
from data.synthetic.probes.baselines import Row, linear, overlap_classes
from data.tasks import COURSE, Splits, read_task
from evaluation.cosine import pair_cosines
from evaluation.metrics import is_labelled, score_on
from heads.choice import choose
from heads.config import head_config
from heads.features import FEATURES
from heads.inputs import inputs_of
from heads.train import HeadTask, by_name, fit_heads
from minbert.encoder import SentenceEncoder
from minbert.model import BertModel
from runtime.training import set_seed

OVERLAP, TFIDF = "word overlap", "TF-IDF"

Measured = dict[str, Scores]  # measure -> scores


@dataclass(frozen=True)
class DataSet:
    """The tasks of a folder. Test is scored if it has labels, else dev."""

    splits: dict[str, Splits]

    def part(self, task: str) -> str:
        """Return the name of the scored part."""
        return "test" if self.splits[task].test else "dev"

    def scored(self, task: str) -> list[Any]:
        """Return the scored examples."""
        return list(getattr(self.splits[task], self.part(task)))

    def truth(self, task: str) -> np.ndarray:
        """Return their labels, (N,)."""
        return np.array([example.label for example in self.scored(task)], np.float64)


def read_data(folder: Path) -> DataSet:
    """Return the tasks of a folder.

    Raises:
        DataError: a missing or broken file.
    """
    splits = {}
    for task in COURSE:
        parts = read_task(folder, task)
        test = parts.test if is_labelled(parts.test) else []
        splits[task] = Splits(parts.train, parts.dev, test)
    return DataSet(splits)


def cosine_of(task: str) -> str:
    """Return the name of the measure without a head."""
    return f"{task} cosine"


def is_similarity(task: str) -> bool:
    """Return whether a task's labels are scores of pairs, which cosines can order."""
    return COURSE[task].label_kind == "score" and COURSE[task].is_pair


def overlap_scores(data: DataSet) -> Measured:
    """Return predictions by the share of common words, with a threshold for classes."""
    measured = {}
    for task in data.splits:
        if COURSE[task].label_kind == "binary":
            measured[task] = _of_lines(data, task, overlap_classes)
        elif is_similarity(task):
            measured[cosine_of(task)] = _compared(data, task, word_overlap())
    return measured


def tfidf_scores(data: DataSet) -> Measured:
    """Return the predictions of a linear model over TF-IDF, and the cosine of TF-IDF."""
    measured = {}
    for task in data.splits:
        measured[task] = _of_lines(data, task, linear)
        if is_similarity(task):
            measured[cosine_of(task)] = _compared(data, task, tfidf())
    return measured


def _of_lines(data: DataSet, task: str, baseline: Any) -> Scores:
    """Return a baseline that reads a file's lines, on the scored part."""
    parts = [_lines(part, task) for part in (data.splits[task].train, data.scored(task))]
    guess = baseline(parts, task)[-1]
    return Scores(COURSE[task].main_metric, guess, data.truth(task))


def _lines(examples: Sequence[Any], task: str) -> list[Row]:
    record = COURSE[task]
    return [
        {record.label: str(example.label), **dict(zip(record.texts, example.texts, strict=True))}
        for example in examples
    ]


def _compared(data: DataSet, task: str, embedder: Embedder) -> Scores:
    first, second = zip(*(example.texts for example in data.scored(task)), strict=True)
    guess = similarities(embedder, first, second)
    return Scores("spearman", guess, data.truth(task))


def encoder_scores(encoder: SentenceEncoder, data: DataSet, cache: Path) -> Measured:
    """Return the predictions of a frozen encoder: heads with the quick preset, and the cosine.

    Args:
        encoder: frozen here.
        data: train, on a part of which the epoch is chosen (on dev if train is too small).
        cache: the folder of frozen embeddings.
    """
    measured = {}
    fingerprint = encoder.fingerprint()
    for task, splits in data.splits.items():
        config = head_config("quick", "frozen", task)
        features = FEATURES["bi"](config.features)
        inputs = inputs_of(
            encoder, by_name(splits), features, "frozen", cache, fingerprint=fingerprint
        )
        head_task = HeadTask(task, "bi", config, splits, score_on(splits.dev, task), inputs)
        epoch = None
        scored = [*splits.dev, *splits.test]
        classes = COURSE[task].label_kind != "score"
        if parts := parts_of(splits.train, scored, config.seed, classes):
            made_of = {"encoder": fingerprint, "data": splits.digest, "head": asdict(config)}
            (chosen,) = choose(
                encoder, [head_task], [parts], score_on=score_on, made_of=made_of, cache=cache
            )
            epoch = chosen.choice.epochs
        (fitted,) = fit_heads(encoder, [head_task], cache, fingerprint=fingerprint, epoch=epoch)
        part, truth = data.part(task), data.truth(task)
        measured[task] = Scores(COURSE[task].main_metric, fitted.predictions[part], truth)
        if is_similarity(task):
            cosines = pair_cosines(*fitted.inputs[part].columns())
            measured[cosine_of(task)] = Scores("spearman", cosines, truth)
    return measured


def random_twin(encoder: SentenceEncoder) -> SentenceEncoder:
    """Return an encoder of the same sizes, tokenizer and pooling with fresh weights."""
    set_seed(0)
    model = BertModel(encoder.model.config, encoder.model.pooler is not None)
    twin = SentenceEncoder(model, encoder.tokenizer, encoder.pooling, str(encoder.device))
    twin.max_length = encoder.max_length
    return twin


def encoders_named(names: Sequence[str]) -> Iterator[tuple[str, SentenceEncoder]]:
    """Yield the first encoder's random twin, then the encoders, each with its title.

    Raises:
        CheckpointError: one is not found or damaged.
    """
    for number, name in enumerate(names):
        title, _, folder = name.partition("=")
        encoder = SentenceEncoder.from_pretrained(folder or name)
        if number == 0:
            yield f"random twin of {title}", random_twin(encoder)
        yield title, encoder
