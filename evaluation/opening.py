"""The command line's models: checkpoints with their texts encoded once, heads, what they have seen.

Reads: minbert, heads. Feeds: the command line; nothing else in evaluation knows an encoder.
"""

import copy
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from baselines.embedder import of_encoder
from baselines.table import baselines
from data.examples import SentencePair
from data.overlap import Seen
from data.tasks import Splits
from data.trained_on import note_file
from evaluation.measures import Entailment, Model
from evaluation.metrics import task_metrics
from evaluation.options import Options
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

logger = logging.getLogger(__name__)

RANDOM = "random:"

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


def open_models(options: Options, texts: list[str], say: Callable[[str], None]) -> Iterator[Model]:
    """Yield the models of a command line one after the other, so that one is held at a time.

    Raises:
        CheckpointError: a backbone cannot be used.
        DataError: a training file is broken.
    """
    cache = options.run_dir / "cache"
    reading = partial(EncodedTexts, texts=texts, cache=cache)
    for name in options.backbone:
        encoder = open_encoder(name, options)
        heads = entailment_heads(encoder, cache, options.seed) if "hans" in options.suite else {}
        yield Model(of_encoder(encoder, label(name), None, reading), seen_by(name, options), heads)
    if options.baselines:
        first = options.backbone[0]
        encoder = open_encoder(first, options)
        for embedder in baselines(encoder, label(first), options.glove, reading):
            yield Model(embedder, seen_by(first, options))


def open_encoder(name: str, options: Options) -> SentenceEncoder:
    """Return the encoder of a name; "random:NAME" is that of NAME with random weights."""
    encoder = SentenceEncoder.from_pretrained(
        name.removeprefix(RANDOM), options.pooling, options.device, options.precision
    )
    if not name.startswith(RANDOM):
        return encoder
    set_seed(options.seed)
    twin = copy.copy(encoder)
    twin.model = accelerate(BertModel(encoder.model.config)).to(encoder.device).eval()
    return twin


def label(name: str) -> str:
    """Return a backbone's name in tables: a folder's last part, a hub id as it is."""
    if name.startswith(RANDOM):
        return f"{label(name.removeprefix(RANDOM))}, random weights"
    return Path(name).name if Path(name).is_dir() else name


def seen_by(name: str, options: Options) -> Seen:
    """Return the texts that a backbone was trained on or selected by, as far as they are known."""
    seen = Seen()
    noted = trained_on(find_checkpoint(name.removeprefix(RANDOM)))
    for path in noted + list(options.trained_on):
        note_file(path, seen)
    return seen


def trained_on(folder: Path) -> list[Path]:
    """Return the training and selection files that a folder of this project notes, if they exist.

    A file that has moved is named in a warning: its texts would count as unseen.
    """
    notes = folder / "training.json"
    if not notes.is_file():
        return []
    try:
        files = list(map(Path, json.loads(notes.read_text(encoding="utf-8")).get("files", [])))
    except (ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{notes}: not the notes of a tuned backbone ({error!r})") from None
    for path in files:
        if not path.is_file():
            logger.warning("%s: was trained on %s, which is gone: leaks unknown", folder, path)
    return [path for path in files if path.is_file()]


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
