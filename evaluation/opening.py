"""The command line's models: checkpoints with their texts encoded once, heads, what they have seen.

Reads: minbert, heads. Feeds: the command line; nothing else in evaluation knows an encoder.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from data.examples import SentencePair
from data.tasks import Splits
from evaluation.metrics import task_metrics
from heads.cache import frozen_embeddings
from heads.config import head_config
from heads.features import BiFeatures
from heads.fitting import fit_head
from minbert.encoder import SentenceEncoder

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
        items = [(text,) for text in self.texts]
        features = BiFeatures("concat")
        return frozen_embeddings(encoder, encoder.fingerprint(), features, items, self.cache)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the embeddings as `encode` does, (N, H) float32."""
        found = np.asarray(self._embeddings[[self._rows[text] for text in texts]])
        if self.encoder.normalize:
            found /= np.linalg.norm(found, axis=1, keepdims=True).clip(1e-12)
        return found


def entailment_heads(
    encoder: SentenceEncoder, cache: Path, seed: int
) -> dict[str, Callable[[Sequence[SentencePair], Sequence[SentencePair]], np.ndarray]]:
    """Return the heads that learn entailment on a frozen encoder, by name."""
    heads = {"bi head": partial(_entailment, encoder, "bi", cache, seed)}
    if encoder.reads_pairs:
        heads["cross head"] = partial(_entailment, encoder, "cross", cache, seed)
    return heads


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
