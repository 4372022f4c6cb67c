"""The models of the command line: encoders with cached texts, heads, and their training texts.

No other module of evaluation uses an encoder.
"""

import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from baselines.config import ALL_PRESETS
from baselines.embedder import Embedder, of_encoder
from baselines.isbert import FILE as ISBERT
from baselines.isbert import load_tuned
from baselines.objectives import ALL_OBJECTIVES
from baselines.table import baselines
from data.examples import DataError, Example, SentencePair
from data.locate import data_folder, find, find_task
from data.overlap import Seen
from data.selection import parts_of, selection_pairs
from data.sources import file_of
from data.tasks import TASKS, Splits
from data.trained_on import note_file
from evaluation.cosine import selection_score
from evaluation.metrics import labels_of, task_metrics
from evaluation.options import EvaluationOptions
from evaluation.suites.measured import Entailment, Model
from evaluation.suites.results import COLUMNS
from heads.config import head_config
from heads.features import BiFeatures, Item
from heads.inputs import FrozenInputs, HeadInputs, frozen_embeddings
from heads.train import HeadTask, fit_heads
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.fast.switch import accelerate
from minbert.hub import find_checkpoint
from minbert.model import BertModel
from runtime.files import check_outputs
from runtime.streams import Say
from runtime.training import set_seed
from simcse.stage import Backbone, note_stages, read_texts, tuned_backbone

logger = logging.getLogger(__name__)

RANDOM = "random:"  # before the name of a backbone: the same encoder with random weights
# The rows of trained baselines: objective -> words that follow the backbone's name.
TRAINED = {
    "unsup": "unsup. SimCSE",
    "sup": "sup. SimCSE",
    "dual": "two encoders",
    "ct": "CT",
    "isbert": "IS-BERT",
    "sbert": "SBERT",
}


@dataclass
class EncodedTexts:
    """The embeddings of many texts by one encoder, computed at first use and cached on disk."""

    encoder: SentenceEncoder
    texts: list[str]  # all texts that will be needed, distinct
    cache: Path

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {text: row for row, text in enumerate(self.texts)}

    @cached_property
    def _embeddings(self) -> np.ndarray:
        encoder = self.encoder.freeze()
        items: list[Item] = [(text,) for text in self.texts]
        return frozen_embeddings(
            encoder, encoder.fingerprint(), BiFeatures("concat"), items, self.cache
        )

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the embeddings as `encode` does, (N, H) float32."""
        embeddings = np.asarray(self._embeddings[[self._rows[text] for text in texts]])
        if self.encoder.normalize:
            embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True).clip(1e-12)
        return embeddings

    def inputs(self, examples: Sequence[Example], features: BiFeatures) -> FrozenInputs:
        """Return the features of examples for a bi-encoder's head."""
        rows = [[self._rows[text] for text in example.texts] for example in examples]
        return FrozenInputs(self._embeddings, np.array(rows), features, self.encoder.device)


def open_models(options: EvaluationOptions, texts: list[str], say: Say) -> Iterator[Model]:
    """Yield the models of a command line one after the other, so only one is in memory.

    Raises:
        CheckpointError: a backbone cannot be used.
        DataError: a training file is broken.
    """
    reading = partial(EncodedTexts, texts=texts, cache=options.run_dir / "cache")
    names = labels(options.backbone)
    for name in names:
        encoder = open_encoder(name, options)
        encoded = reading(encoder)
        heads = entailment_heads(encoded, options.seed) if "hans" in options.suite else {}
        seen = seen_by(name, options.trained_on)
        yield Model(Embedder(names[name], encoded), seen, heads, options.predictions)
    if not options.baselines:
        return
    first = options.backbone[0]
    # Not `open_encoder`: IS-BERT's embeddings have no poolings to compare.
    encoder = _plain_encoder(first, options)
    seen = seen_by(first, options.trained_on)
    for embedder in baselines(encoder, names[first], options.glove, reading):
        yield Model(embedder, seen)
    for objective, folder in trained_baselines(first, options, say):
        tuned = load_tuned(folder, options.device, options.precision)
        embedder = of_encoder(tuned, f"{names[first]}, {TRAINED[objective]}", None, reading)
        yield Model(embedder, seen_by(str(folder), options.trained_on))


def check_sources(options: EvaluationOptions) -> None:
    """Check that everything can be opened, before hours are spent on the rest.

    Raises:
        CheckpointError: a backbone that is not found, or IS-BERT's with another pooling.
        DataError: a file that is not there, or a target that is a folder.
    """
    checkpoints = [find_checkpoint(name.removeprefix(RANDOM)) for name in options.backbone]
    for folder in checkpoints:
        if options.pooling and (folder / ISBERT).is_file():
            raise CheckpointError(
                f"{folder}: IS-BERT's embeddings are the mean of its convolutions; leave out "
                "--pooling"
            )
    named = (*options.trained_on, options.glove, options.unsup_data, options.sup_data)
    for path in filter(None, named):
        if not path.is_file():
            raise DataError(f"{path}: no such file")
    files = [path for folder in checkpoints for path in folder.iterdir()]
    check_outputs([options.json, options.csv], [*named, *files])
    check_outputs([options.predictions], [*checkpoints, *map(Path, options.data)])
    for target in (options.json, options.csv):
        if target and target.is_dir():
            raise DataError(f"{target}: is a folder; name a file")
        if target and target.is_file() and not _is_results(target):
            for name in options.data:
                if target.resolve().is_relative_to(data_folder(name).resolve()):
                    raise DataError(f"{target}: a file of --data {name}; name another output")


def _is_results(path: Path) -> bool:
    """Return whether an earlier call wrote this file, so that it may be overwritten."""
    with path.open("rb") as file:
        beginning = file.read(100)
    return beginning.startswith((",".join(COLUMNS[:3]).encode(), b'{\n "options"'))


def open_encoder(name: str, options: EvaluationOptions) -> SentenceEncoder:
    """Return the encoder of a name; "random:NAME" is that of NAME with random weights."""
    if options.pooling or name.startswith(RANDOM):
        return _plain_encoder(name, options)
    return load_tuned(find_checkpoint(name), options.device, options.precision)


def _plain_encoder(name: str, options: EvaluationOptions) -> SentenceEncoder:
    folder = find_checkpoint(name.removeprefix(RANDOM))
    encoder = SentenceEncoder.from_pretrained(
        str(folder), options.pooling, options.device, options.precision
    )
    if name.startswith(RANDOM):
        set_seed(options.seed)
        encoder.model = accelerate(BertModel(encoder.model.config)).to(encoder.device).eval()
    return encoder


def trained_baselines(
    name: str, options: EvaluationOptions, say: Say
) -> Iterator[tuple[str, Path]]:
    """Yield (objective, tuned folder) for all contrastive objectives whose training file exists.

    They are tuned with the quick preset, as in `run_multitask.py --pretrain`, which uses the same
    folders.
    """
    source = find_checkpoint(name.removeprefix(RANDOM))
    backbone = Backbone(source, _plain_encoder(name, options))
    folders = [data_folder(name) for name in options.data]
    # Checkpoints are selected by the first STS training file of CS224N's format.
    homes = filter(None, (find_task(folder, TASKS["sts"]) for folder in folders))
    home = next(homes, None)
    selection = selection_pairs(home) if home else []

    def dev_score(encoder: SentenceEncoder) -> float:
        return selection_score(encoder.encode_quietly, selection)

    given = {file_of("wiki1m"): options.unsup_data, file_of("nli"): options.sup_data}
    for objective in ALL_OBJECTIVES.values():
        file = file_of(objective.source)
        path = given.get(file) or next(filter(None, (find(f, file) for f in folders)), None)
        if path is None:
            say(f"{objective.name}: no training file in {', '.join(options.data)}, left out")
            continue
        recipe = ALL_PRESETS["quick"][objective.name]
        config = replace(recipe, seed=options.seed, pooling=options.pooling or recipe.pooling)
        say(f"tuning    {objective.name} on {path}")
        texts = read_texts(objective, path, backbone, config, selection, home or folders[0])
        root = options.run_dir / "backbones"
        score = dev_score if selection else None
        folder = tuned_backbone(objective, backbone, texts, config, root, dev_score=score)
        yield objective.name, folder


def labels(names: Sequence[str]) -> dict[str, str]:
    """Return the name of each backbone in tables: a folder's last part, or the hub id.

    If two names would be equal, they are shown in full.
    """
    sources = {name: name.removeprefix(RANDOM) for name in names}
    ends = {
        # A link keeps its name; "." gets that of the folder.
        source: Path(os.path.abspath(source)).name if Path(source).is_dir() else source
        for source in sources.values()
    }
    counts = Counter(ends.values())
    return {
        name: (ends[source] if counts[ends[source]] == 1 else source)
        + (", random weights" if name != source else "")
        for name, source in sources.items()
    }


def entailment_heads(encoded: EncodedTexts, seed: int) -> dict[str, Entailment]:
    """Return the heads that learn entailment on a frozen encoder, by name."""
    heads: dict[str, Entailment] = {"bi head": partial(_entailment, encoded, "bi", seed)}
    with suppress(CheckpointError):  # an encoder that cannot read pairs
        encoded.encoder.tokenize(["a"], ["b"])
        heads["cross head"] = partial(_entailment, encoded, "cross", seed)
    return heads


def _entailment(
    encoded: EncodedTexts,
    kind: str,
    seed: int,
    train: Sequence[SentencePair],
    scored: Sequence[SentencePair],
) -> np.ndarray:
    """Return the probability of entailment (N,) of a paraphrase head trained on `train`."""
    every = np.arange(len(train))
    # If too few pairs share no text with others, the epoch is chosen on all pairs.
    parts, *_ = parts_of(train, scored, seed, classes=True) or [(every, every)]
    fit, held_out = ([train[row] for row in rows.tolist()] for rows in parts)
    splits = Splits(fit, held_out, list(scored))
    labels = labels_of(splits.dev)
    config = replace(head_config("report", "frozen", "para"), seed=seed)
    inputs: dict[str, HeadInputs] | None = None
    if kind == "bi":
        features = BiFeatures(config.features)
        named = {"train": splits.train, "dev": splits.dev, "test": splits.test}
        inputs = {name: encoded.inputs(pairs, features) for name, pairs in named.items()}

    def accuracy(predictions: np.ndarray) -> float | None:
        return task_metrics("para", predictions, labels)["accuracy"]

    head_task = HeadTask("para", kind, config, splits, accuracy, inputs)
    (fitted,) = fit_heads(encoded.encoder, [head_task], encoded.cache)
    return np.asarray(1 / (1 + np.exp(-fitted.logits["test"])))


def seen_by(name: str, trained_on: Sequence[Path]) -> Seen:
    """Return the texts that a backbone was trained on or selected by, as far as they are known.

    A folder that this project tuned lists its training file, its selection set and the checkpoint
    that it was tuned from, which may have such notes too. If one of them has moved, there is a
    warning, and its texts count as unseen. Included checkpoints have digests of their training
    texts. Random weights have no training texts.
    """
    seen = Seen()
    for path in trained_on:
        note_file(path, seen)
    if not name.startswith(RANDOM):
        note_stages(find_checkpoint(name), seen)
        seen.known = bool(len(seen.texts) + len(seen.digests))
    return seen
