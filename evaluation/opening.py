"""The command line's models: checkpoints with their texts encoded once, heads, what they have seen.

Reads: minbert, heads. Feeds: the command line; nothing else in evaluation knows an encoder.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from baselines.config import ALL_PRESETS
from baselines.embedder import of_encoder
from baselines.isbert import load_tuned
from baselines.objectives import ALL_OBJECTIVES
from baselines.table import baselines
from data.examples import DataError, SentencePair
from data.fetch.locate import data_folder, training_file
from data.overlap import Seen
from data.selection import selection_pairs
from data.tasks import Splits
from data.trained_on import note_file
from evaluation.measures import Entailment, Model
from evaluation.metrics import task_metrics
from evaluation.options import Options
from evaluation.sts import selection_score
from heads.cache import frozen_embeddings
from heads.config import head_config
from heads.features import BiFeatures, Item
from heads.fitting import fit_head
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.fast.switch import accelerate
from minbert.hub import find_checkpoint
from minbert.model import BertModel
from runtime.seeds import set_seed
from simcse.objectives import Objective
from simcse.stage import Backbone, read_texts, tuned_backbone

logger = logging.getLogger(__name__)

RANDOM = "random:"
# The rows of trained baselines: objective -> the words after the backbone's name.
TRAINED = {
    "unsup": "unsup. SimCSE",
    "sup": "sup. SimCSE",
    "dual": "two encoders",
    "ct": "CT",
    "isbert": "IS-BERT",
    "sbert": "SBERT",
}
Say = Callable[[str], None]

# Of the NLI pairs, the last tenth chooses the epoch of a HANS head.
DEV_SHARE = 0.1


@dataclass
class EncodedTexts:
    """The embeddings of many texts by one encoder, computed at first use and cached on disk.

    Attributes:
        encoder: the encoder; it is frozen.
        texts: all that will be asked for, distinct.
        cache: the folder of frozen embeddings.
    """

    encoder: SentenceEncoder
    texts: list[str]
    cache: Path

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {text: row for row, text in enumerate(self.texts)}

    @cached_property
    def _embeddings(self) -> np.ndarray:
        encoder = self.encoder.freeze()
        items: list[Item] = [(text,) for text in self.texts]
        features = BiFeatures("concat")
        return frozen_embeddings(encoder, encoder.fingerprint(), features, items, self.cache)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the embeddings as `encode` does, (N, H) float32."""
        found = np.asarray(self._embeddings[[self._rows[text] for text in texts]])
        if self.encoder.normalize:
            found /= np.linalg.norm(found, axis=1, keepdims=True).clip(1e-12)
        return found


def open_models(options: Options, texts: list[str], say: Say) -> Iterator[Model]:
    """Yield the models of a command line one after the other, so that one is held at a time.

    Raises:
        CheckpointError: a backbone cannot be used.
        DataError: a training file is broken.
    """
    cache = options.run_dir / "cache"
    reading = partial(EncodedTexts, texts=texts, cache=cache)
    names = labels(options.backbone)
    for name in names:
        encoder = open_encoder(name, options)
        heads = entailment_heads(encoder, cache, options.seed) if "hans" in options.suite else {}
        yield Model(of_encoder(encoder, names[name], None, reading), seen_by(name, options), heads)
    if options.baselines:
        first = options.backbone[0]
        encoder = open_encoder(first, options)
        for embedder in baselines(encoder, names[first], options.glove, reading):
            yield Model(embedder, seen_by(first, options))
        for objective, folder in trained_baselines(first, options, say):
            tuned = load_tuned(folder, options.device, options.precision)
            embedder = of_encoder(tuned, f"{names[first]}, {TRAINED[objective]}", None, reading)
            yield Model(embedder, seen_by(str(folder), options))


def open_encoder(name: str, options: Options) -> SentenceEncoder:
    """Return the encoder of a name; "random:NAME" is that of NAME with random weights."""
    folder = find_checkpoint(name.removeprefix(RANDOM))
    if not options.pooling and not name.startswith(RANDOM):
        return load_tuned(folder, options.device, options.precision)
    encoder = SentenceEncoder.from_pretrained(
        str(folder), options.pooling, options.device, options.precision
    )
    if name.startswith(RANDOM):
        set_seed(options.seed)
        encoder.model = accelerate(BertModel(encoder.model.config)).to(encoder.device).eval()
    return encoder


def trained_baselines(name: str, options: Options, say: Say) -> Iterator[tuple[str, Path]]:
    """Yield (objective, tuned folder) of all contrastive objectives whose training file is there.

    They are tuned by the quick recipes, as `run_multitask.py --pretrain` does it, which finds the
    same folders.
    """
    backbone = Backbone(find_checkpoint(name), open_encoder(name, options))
    folders = [data_folder(one) for one in options.data]
    selection_folder = next((f for f in folders if selection_pairs(f)), folders[0])
    selection = selection_pairs(selection_folder)

    def dev_score(encoder: SentenceEncoder) -> float:
        return selection_score(encoder.encode_quietly, selection)

    for objective in ALL_OBJECTIVES.values():
        path = _training_file(objective, folders)
        if path is None:
            say(f"{objective.name}: no training file in {', '.join(options.data)}, left out")
            continue
        config = replace(ALL_PRESETS["quick"][objective.name], seed=options.seed)
        say(f"tuning    {objective.name} on {path}")
        texts = read_texts(objective, path, backbone.encoder, config, selection, selection_folder)
        root = options.run_dir / "backbones"
        score = dev_score if selection else None
        yield objective.name, tuned_backbone(objective, backbone, texts, config, root, score)


def _training_file(objective: Objective, folders: list[Path]) -> Path | None:
    for folder in folders:
        with suppress(DataError):
            return training_file(objective.name, objective.source, None, folder)
    return None


def labels(names: Sequence[str]) -> dict[str, str]:
    """Return what tables call each backbone: a folder's last part, a hub id as it is.

    Two folders that end alike have their whole paths: rows must not be mistaken for one another's.
    """
    sources = {name: name.removeprefix(RANDOM) for name in names}
    ends = {source: Path(source).name for source in set(sources.values()) if Path(source).is_dir()}
    alike = {end for end in ends.values() if list(ends.values()).count(end) > 1}
    shown = {source: source if end in alike else end for source, end in ends.items()}
    return {
        name: shown.get(source, source) + (", random weights" if name != source else "")
        for name, source in sources.items()
    }


def seen_by(name: str, options: Options) -> Seen:
    """Return the texts that a backbone was trained on or selected by, as far as they are known.

    A folder that this project tuned notes its training file and selection set. Where one of them
    has moved, a warning says so: its texts count as unseen.

    Raises:
        CheckpointError: damaged notes.
        DataError: a training file is broken.
    """
    seen = Seen()
    for path in options.trained_on:
        note_file(path, seen)
    notes = find_checkpoint(name.removeprefix(RANDOM)) / "training.json"
    noted = _read_notes(notes)
    if "trained_on" in noted and _is_there(Path(noted["trained_on"]), notes):
        note_file(Path(noted["trained_on"]), seen)
    if "selected_by" in noted and _is_there(Path(noted["selected_by"]), notes):
        seen.add_examples(selection_pairs(Path(noted["selected_by"])))
    return seen


def _read_notes(notes: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(notes.read_text(encoding="utf-8"))) if notes.is_file() else {}
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{notes}: not the notes of a tuned backbone ({error!r})") from None


def _is_there(path: Path, notes: Path) -> bool:
    if not path.exists():
        logger.warning("%s: names %s, which is gone; what it saw is not known", notes, path)
    return path.exists()


def entailment_heads(encoder: SentenceEncoder, cache: Path, seed: int) -> Mapping[str, Entailment]:
    """Return the heads that learn entailment on a frozen encoder, by name."""
    heads = {"bi head": partial(_entailment, encoder, "bi", cache, seed)}
    if _reads_pairs(encoder):
        heads["cross head"] = partial(_entailment, encoder, "cross", cache, seed)
    return heads


def _reads_pairs(encoder: SentenceEncoder) -> bool:
    try:
        encoder.tokenize(["a"], ["b"])
    except CheckpointError:
        return False
    return True


def _entailment(
    encoder: SentenceEncoder,
    kind: str,
    cache: Path,
    seed: int,
    train: Sequence[SentencePair],
    scored: Sequence[SentencePair],
) -> np.ndarray:
    """Return the probability of entailment (N,) of a paraphrase head trained on `train`."""
    held_out = max(1, int(len(train) * DEV_SHARE))
    splits = Splits(list(train[:-held_out]), list(train[-held_out:]), list(scored))
    labels = np.array([pair.label for pair in splits.dev], np.float64)
    config = replace(head_config("report", "frozen", "para"), seed=seed)
    fitted = fit_head(
        encoder, splits, "para", kind, config,
        lambda found: task_metrics("para", found, labels)["accuracy"], cache,
    )  # fmt: skip
    return np.asarray(1 / (1 + np.exp(-fitted.logits("test"))))
