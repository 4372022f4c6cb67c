"""A table of the contrastive objectives: their texts, views, embeddings and comparison.

A new objective needs one entry here and its recipes in `config.PRESETS`. `baselines.objectives`
adds entries of other forms than SimCSE's.
Legend: B examples, V views of each, n sequences, H hidden_size.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from data.sentences import iter_sentences
from data.triplets import iter_triplets
from minbert.config import BertConfig
from minbert.encoder import SentenceEncoder
from minbert.fast.switch import accelerate
from minbert.model import BertPooler
from minbert.packing import PackedBatch
from minbert.pooling import choose_pooling
from runtime.errors import TrainingError
from simcse.config import SHARED, SimCSEConfig
from simcse.loss import (
    cosine_matrix,
    distillation_loss,
    dot_matrix,
    in_batch_accuracy,
    info_nce,
    nt_xent,
)
from simcse.teacher import Teacher
from simcse.views import ContrastiveData, single, supervised, unsupervised


def contrastive_loss(
    views: Sequence[Tensor], config: SimCSEConfig, texts: Tensor | None = None
) -> Tensor:
    """Return SimCSE's loss, or its symmetric form, on V views, (B, H) each; texts: (V, B)."""
    hard_negatives = views[2] if len(views) == 3 else None
    # The plain weight alpha multiplies exp(...) in the denominator: its logarithm is added.
    logit = math.log(config.hard_negative_weight)
    if config.similarity == "dot":
        return info_nce(views[0], views[1], hard_negatives, 1.0, logit, texts, dot_matrix)
    # One direction (paper, equations 1 and 5) or both (SimCLR).
    loss = nt_xent if config.symmetric else info_nce
    return loss(views[0], views[1], hard_negatives, config.temperature, logit, texts)


def attach_projection(encoder: SentenceEncoder, config: SimCSEConfig) -> nn.Module:
    """Set the encoder's pooling for training; return the module that the trainer puts on top of it.

    SimCSE's MLP over [CLS] is a fresh dense + tanh (Gao et al. 2021, section 6.3, "pooler"): it
    starts from random weights, not from BERT's next-sentence pooler. Supervised models keep it, so
    it *becomes* the encoder's pooler; unsupervised ones drop it after training (`mlp`).

    An encoder with steps after its pooling keeps pooling and steps; its weights change, those of
    the steps do not.
    """
    if len(encoder.steps) and config.pooling in (None, encoder.pooling):
        return nn.Identity()
    pooling = choose_pooling(config.pooling, encoder.stated_pooling, tuning=True)
    # The MLP belongs to [CLS]; the averages go into the loss as they are (paper, section 6.3).
    if pooling != "cls" or config.mlp == "never":
        encoder.pool_by("cls_before_pooler" if pooling == "cls" else pooling)
        return nn.Identity()
    # Dense (H, H) and tanh, as in BERT's pooler, from small random weights.
    fresh = BertPooler(encoder.model.config.hidden_size)
    fresh.apply(encoder.model.init_weights)
    fresh.to(encoder.device)
    if config.mlp == "training":
        # The encoder learns a good [CLS] state; the MLP on top of it is discarded.
        encoder.pool_by("cls_before_pooler")
        return fresh
    # Here it stays, under its name in checkpoints.
    encoder.model.pooler = accelerate(fresh) if encoder.fast else fresh
    encoder.pool_by("cls")
    return nn.Identity()


class Siamese(nn.Module):
    """SimCSE's form of an objective: one encoder embeds all views, and a loss compares them.

    Other forms are subclasses. Their submodules are trained with the encoder; only `tuned_encoder`
    is kept afterwards.

    Attributes:
        two_encoders: whether the first view is embedded by another encoder than the others.
        in_batch: whether the other examples of a batch are negatives.
    """

    two_encoders = False
    in_batch = True

    def __init__(self, encoder: SentenceEncoder, config: SimCSEConfig):
        super().__init__()
        # SentenceEncoder is not an nn.Module, so its weights do not count as weights of the form.
        self.encoder, self.config = encoder, config
        self.projection = attach_projection(encoder, config)

    @classmethod
    def check(cls, config: SimCSEConfig, data: ContrastiveData) -> None:
        """Raise TrainingError for data that this form cannot learn from with these settings."""
        if config.symmetric and not cls.in_batch:
            raise TrainingError("--symmetric is for losses with in-batch negatives; leave it out")
        # The symmetric loss is only defined for cosines.
        if config.similarity == "dot" and (config.symmetric or not cls.in_batch):
            raise TrainingError("--similarity dot is for SimCSE's plain loss; leave one out")
        if config.fixed_mask and (cls.two_encoders or not data.same_twice):
            raise TrainingError(
                "--fixed-mask requires one encoder and --positive same; leave it out"
            )
        # Without any negative the loss is always 0; hard negatives would suffice.
        alone = min(config.batch_size, len(data)) == 1 and data.rows.shape[1] == 2
        if cls.in_batch and alone:
            raise TrainingError(too_few(config, "negatives"))

    def embed(self, batch: PackedBatch, first: bool) -> Tensor:
        """Return the embeddings of a batch, (n, H), with gradient; `first`: of the first view."""
        # Pooled, then through the MLP if training has one.
        embeddings: Tensor = self.projection(self.encoder.embed(batch))
        return embeddings

    def measure(
        self, views: Sequence[Tensor], labels: Tensor | None, texts: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the loss and an accuracy of a whole batch.

        Args:
            views: the result of `embed` for each of the V views, (B, H) each.
            labels: (B,) int64, or a teacher's embeddings (B, D); None for data without.
            texts: (V, B) int64, equal for equal texts, which are then no negatives; None to let
                them be.
        """
        # Only other forms use labels: here a view's partner is the answer.
        similarity = dot_matrix if self.config.similarity == "dot" else cosine_matrix
        accuracy = in_batch_accuracy(views, texts, similarity)
        return contrastive_loss(views, self.config, texts), accuracy

    @property
    def head(self) -> nn.Module | None:
        """Return the submodule whose parameters `measure` uses and `embed` does not, if any."""
        return None

    @property
    def kept(self) -> nn.Module:
        """Return the module whose best state is kept: everything that `tuned_encoder` uses."""
        return self.encoder.model

    @property
    def tuned_encoder(self) -> SentenceEncoder:
        return self.encoder  # embeds sentences after training


class Distillation(Siamese):
    """One view of each sentence, compared with its teacher's embedding through a linear map."""

    in_batch = False

    def __init__(self, encoder: SentenceEncoder, config: SimCSEConfig, width: int):
        super().__init__(encoder, config)
        self.map = nn.Linear(encoder.embedding_size, width)  # H to D

    @classmethod
    def check(cls, config: SimCSEConfig, data: ContrastiveData) -> None:
        """Raise TrainingError as every form does, and for batches of one sentence."""
        super().check(config, data)
        if min(config.batch_size, len(data)) == 1:
            raise TrainingError(too_few(config, "other sentences"))

    def measure(
        self, views: Sequence[Tensor], labels: Tensor | None, texts: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the loss, and the share of sentences with the teacher's nearest neighbour."""
        assert labels is not None, "the teacher's embeddings"
        (embeddings,) = views
        return distillation_loss(
            embeddings, self.map(embeddings), labels.float(), self.config.temperature
        )

    @property
    def head(self) -> nn.Module:
        return self.map


def too_few(config: SimCSEConfig, lacking: str) -> str:
    """Return a message: what a batch of one example lacks, and the flag or file to change."""
    if config.batch_size == 1:
        return f"--simcse-batch-size 1 leaves a batch without {lacking}; use 2 or more"
    return (
        f"the training file has one example, which leaves a batch without {lacking}; give a file "
        "with more"
    )


Form = Callable[[SentenceEncoder, SimCSEConfig], Siamese]


@dataclass(frozen=True)
class Objective:
    """One entry of the table."""

    name: str  # as on the command line
    source: str  # the data: a name of data.sources, or of the user's file
    read: Callable[[Path], Iterator[Any]]  # a file -> its examples, as a stream
    # Examples, tokenizer, max_length, seen -> token ids, and which rows belong together.
    views: Callable[..., ContrastiveData]
    form: Form = Siamese  # how views are embedded and compared
    teacher: Teacher | None = None  # whose embeddings of the texts are learnt from

    def check(self, config: SimCSEConfig, data: ContrastiveData) -> None:
        """Raise TrainingError for data that cannot be learnt from with these settings."""
        form: Any = self.form.func if isinstance(self.form, partial) else self.form
        form.check(config, data)


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("unsup", "wiki1m", iter_sentences, unsupervised),
        Objective("sup", "nli", iter_triplets, supervised),
    )
}


# Learning from a teacher that is not open yet, on the sentences that unsup reads.
TEACHER = Objective("teacher", "wiki1m", iter_sentences, single, partial(Distillation, width=0))


def teacher_objective(teacher: Teacher) -> Objective:
    """Return the objective of learning from this teacher."""
    form = partial(Distillation, width=teacher.embedding_size)
    return replace(TEACHER, form=form, teacher=teacher)


def check_settings(model: BertConfig, config: SimCSEConfig) -> None:
    """Raise TrainingError for settings that cannot work, before anything is read or trained."""
    # BERT has an embedding for each position, and none beyond the last.
    positions = model.num_positions
    if config.max_length > positions:
        raise TrainingError(
            f"--simcse-max-length {config.max_length}: this backbone has {positions} positions"
        )
    if config.positive_share is not None and config.positive not in SHARED:
        raise TrainingError(
            f"--positive-share: has no effect with --positive {config.positive}; leave it out"
        )
