"""The contrastive objectives as a table: which texts, as which views, under which loss.

A new objective is one entry here and its recipes in `config.PRESETS`.
Legend: B examples, V views of each, H hidden_size. Reads: views, loss. Feeds: train, stage.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from data.overlap import Seen
from data.readers.sentences import iter_sentences
from data.readers.triplets import iter_triplets
from minbert.tokenizer import BertTokenizer
from simcse.config import SimCSEConfig
from simcse.loss import info_nce, nt_xent
from simcse.views import ContrastiveData, supervised, unsupervised

Loss = Callable[[Sequence[Tensor], SimCSEConfig], Tensor]


@dataclass(frozen=True)
class Objective:
    """One entry of the table."""

    # As on the command line.
    name: str
    # The published data that it trains on, a name of data.fetch.sources.
    source: str
    # A file -> its examples, as a stream.
    read: Callable[[Path], Iterator[Any]]
    # Examples, tokenizer, max_length, seen -> token ids, and which rows belong together.
    views: Callable[..., ContrastiveData]
    # V views, (B, H) each, and the settings -> scalar.
    loss: Loss

    def data(
        self, path: Path, tokenizer: BertTokenizer, max_length: int, seen: Seen | None = None
    ) -> ContrastiveData:
        """Return a training file as token ids; read it once and note its texts in `seen`.

        Raises:
            DataError: a broken file.
        """
        return self.views(self.read(path), tokenizer, max_length, seen)


def contrastive_loss(views: Sequence[Tensor], config: SimCSEConfig) -> Tensor:
    """Return SimCSE's loss, or its symmetric form, on V views, (B, H) each."""
    # One direction (paper, equations 1 and 5) or both (SimCLR).
    loss = nt_xent if config.symmetric else info_nce
    # The plain weight alpha multiplies exp(...) in the denominator: its logarithm is added.
    logit = math.log(config.hard_negative_weight)
    hard_negatives = views[2] if len(views) == 3 else None
    return loss(views[0], views[1], hard_negatives, config.temperature, logit)


# SBERT's softmax over [u; v; |u-v|], IS-BERT's and others differ in `views` and `loss` only.
OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("unsup", "wiki1m", iter_sentences, unsupervised, contrastive_loss),
        Objective("sup", "nli", iter_triplets, supervised, contrastive_loss),
    )
}
