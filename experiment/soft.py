"""What a head's probabilities say beyond its predictions: thresholds, calibration, both orders.

Reads: heads, evaluation.calibration. Feeds: cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from data.examples import Example, in_the_other_order
from data.tasks import TASKS
from evaluation.calibration import at_threshold, calibration, in_both_orders
from evaluation.scoring import labels_of
from heads.config import HeadConfig
from heads.features import FEATURES
from heads.train import FittedHead, head_soft, inputs_of
from minbert.encoder import SentenceEncoder


@dataclass(frozen=True)
class Trained:
    """A head, and what is needed to read more pairs with it."""

    task: str
    kind: str  # `bi`, `cross` or `distilled`
    fitted: FittedHead
    encoder: SentenceEncoder  # as it is under the trained head
    fingerprint: str
    config: HeadConfig
    held_out: Sequence[Example]
    cache: Path

    def soft(self, split: str) -> np.ndarray:
        """Return the probabilities or scores of a split's examples, as `heads.train.head_soft`.

        A tuned encoder reads the split for it.
        """
        return head_soft(self.fitted.head, self.fitted.inputs[split])

    def blocks(self, soft: np.ndarray, examples: Sequence[Example]) -> dict[str, Any]:
        """Return a labelled split's `threshold`, `calibration` and `both_orders`, if they apply.

        Args:
            soft: what `soft` returned of the split.
            examples: the split's.
        """
        labels, found = labels_of(examples), {}
        if TASKS[self.task].kind != "score":
            found["calibration"] = calibration(soft, labels)
        if self.held_out:
            held_out = self._soft_of_held_out, labels_of(self.held_out)
            found["threshold"] = at_threshold(self.task, soft, labels, *held_out)
        if self.kind == "cross":
            swapped = self._soft(in_the_other_order(examples))
            found["both_orders"] = in_both_orders(self.task, soft, swapped, labels)
        return found

    @cached_property
    def _soft_of_held_out(self) -> np.ndarray:
        return self._soft(self.held_out)

    def _soft(self, examples: Sequence[Example]) -> np.ndarray:
        """Return the probabilities or scores of examples that the head has not read yet."""
        features = FEATURES[self.kind](self.config.features)
        more = (features, self.config.tune, self.cache, self.fingerprint)
        inputs = inputs_of(self.encoder, {"more": examples}, *more)["more"]
        return head_soft(self.fitted.head, inputs)
