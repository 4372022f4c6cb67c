"""The features that a head gets for one text, two texts, or a joined pair.

Legend: B examples, H numbers per vector of an item, n items of a batch, u and v the embeddings of
the two sentences. H is the encoder's hidden_size, unless embeddings have another size.
An *item* is what the encoder reads at once: one text, or both texts of a pair.

`concat` is the choice of the report (docs/answer.md), `interaction` is ours. A linear map of [u; v]
is f(u) + g(v): it cannot represent how u and v interact, which is why the report's single linear
layer stopped at a Pearson of 0.36. |u-v| and u*v give the head that interaction (InferSent, Conneau
et al. 2017).
`cls` is the input of BERT's classifier, only [CLS]; two embeddings interact as above.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from heads.maxsim import apart, end_to_end, matched
from minbert.encoder import SentenceEncoder
from minbert.packing import PackedBatch, TokenSequences
from minbert.pooling import mean_of_segments
from runtime.device import autocast

Item = tuple[str, ...]  # one text, or the two of a pair
# Gives the embeddings of all first items, of all second ones, ...: (N, *parts, H) each.
Columns = Callable[[], list[np.ndarray]]


@dataclass(frozen=True)
class BiFeatures:
    """The bi-encoder's features: each text is encoded separately; the head sees u, or u and v."""

    form: str  # `interaction`, `concat` or `cls`
    parts: ClassVar[tuple[int, ...]] = ()  # the shape of an item's embedding, before H
    cached: ClassVar[str] = "1"  # part of the cached file's name
    alone: ClassVar[bool] = True  # whether each text is encoded separately

    def items(self, texts: Item) -> list[Item]:
        # A text that occurs in many pairs is one item and is encoded once.
        return [(text,) for text in texts]

    def tokenize(self, encoder: SentenceEncoder, items: Sequence[Item]) -> TokenSequences:
        """Return the texts as token ids, each with the checkpoint's default prompt before it."""
        prompt = encoder.prompts.default  # "" unless the checkpoint has one
        return encoder.tokenize([prompt + text for (text,) in items])

    def size(self, encoder: SentenceEncoder) -> int:
        """Return H."""
        return encoder.embedding_size

    def embed(self, encoder: SentenceEncoder, batch: PackedBatch) -> Tensor:
        """Return the pooled embeddings of a batch, (n, H), with gradient."""
        return encoder.embed(batch)

    def combine(self, embeddings: Sequence[Tensor]) -> Tensor:
        """Return u or [u; v] as they are, or [u; v; |u-v|; u*v] of u and v at root mean square 1.

        Args:
            embeddings: u, or u and v, (B, H) each.

        Returns:
            (B, H), (B, 2H) or (B, 4H).
        """
        # (B, H) of one text, (B, 2H) of two.
        if self.form == "concat" or (self.form == "cls" and len(embeddings) == 1):
            return torch.cat(tuple(embeddings), dim=-1)
        # This brings the four blocks to similar sizes, so the head need not learn their scales.
        scaled = [unit_rms(part) for part in embeddings]
        return scaled[0] if len(scaled) == 1 else interaction(scaled[0], scaled[1])

    def bare(self, columns: Columns) -> np.ndarray | None:
        """Return the similarity of pairs without a head: the cosines of u and v, (N,)."""
        first, second = (
            side / np.linalg.norm(side, axis=1, keepdims=True).clip(1e-12) for side in columns()
        )
        return np.asarray((first * second).sum(axis=1))

    def width(self, hidden_size: int, num_texts: int) -> int:
        """Return F, the number of features of an example."""
        # A single text has no interaction features.
        if num_texts == 1:
            return hidden_size
        return hidden_size * (2 if self.form == "concat" else 4)


@dataclass(frozen=True)
class CrossFeatures:
    """The cross-encoder's features: both texts are read as one sequence `[CLS] a [SEP] b [SEP]`."""

    form: str  # `interaction`, `concat` or `cls`
    parts: ClassVar[tuple[int, ...]] = (3,)  # [CLS], mean of a, mean of b
    cached: ClassVar[str] = "2"
    alone: ClassVar[bool] = False

    def items(self, texts: Item) -> list[Item]:
        # Nothing can be reused for another pair; this makes a cross-encoder expensive.
        return [texts]

    def tokenize(self, encoder: SentenceEncoder, items: Sequence[Item]) -> TokenSequences:
        """Return joined pairs, in which every token of a attends to every token of b."""
        firsts, seconds = zip(*items, strict=True)
        return encoder.tokenize(firsts, seconds)

    def size(self, encoder: SentenceEncoder) -> int:
        """Return H: token states are used, independently of the pooling."""
        return encoder.model.config.hidden_size

    def embed(self, encoder: SentenceEncoder, batch: PackedBatch) -> Tensor:
        """Return [CLS], the mean over a and the mean over b of joined pairs, (n, 3, H)."""
        # The encoder's pooling is for single sentences; a pair is read from its token states.
        batch = batch.to(encoder.device)
        with autocast(encoder.device, encoder.dtype):
            states = encoder.model.packed(batch).last_hidden_state  # (total_tokens, H)
        # Stored separately, so one cached file serves both forms of features.
        cls = states[batch.cu_seqlens[:-1]].float()  # (n, H)
        return torch.stack([cls, *mean_of_segments(states, batch)], dim=1)

    def combine(self, embeddings: Sequence[Tensor]) -> Tensor:
        """Return [CLS], (B, H), or for `interaction` [CLS; a; b; |a-b|; a*b], where CLS, a and b
        have root mean square 1.

        [CLS] is the report's choice. The other form reads all token states, since the encoder was
        never tuned to represent a pair by its [CLS].

        Args:
            embeddings: one (B, 3, H).

        Returns:
            (B, H) or (B, 5H).
        """
        cls, first, second = embeddings[0].unbind(dim=1)  # (B, H) each
        if self.form != "interaction":
            return cls
        # The two halves interact in the encoder already, and again here: (B, 4H).
        both = interaction(unit_rms(first), unit_rms(second))
        return torch.cat([unit_rms(cls), both], dim=-1)

    def bare(self, columns: Columns) -> np.ndarray | None:
        return None  # a joined pair has no similarity without a head

    def width(self, hidden_size: int, num_texts: int) -> int:
        return hidden_size * (5 if self.form == "interaction" else 1)


@dataclass(frozen=True)
class LateFeatures:
    """Late interaction: texts are encoded separately, then compared by token (heads.maxsim).

    An item is the pair, so its cached features have a fixed size.
    """

    form: str  # `interaction` or `concat`
    parts: ClassVar[tuple[int, ...]] = (4,)  # means of a, of b, of |x-y| and of x*y
    cached: ClassVar[str] = "late"
    alone: ClassVar[bool] = True

    def items(self, texts: Item) -> list[Item]:
        return [texts]

    def tokenize(self, encoder: SentenceEncoder, items: Sequence[Item]) -> TokenSequences:
        """Return the texts of each pair as token ids, each with a separate [CLS] and [SEP]."""
        return end_to_end(encoder.tokenize([text for texts in items for text in texts]))

    def size(self, encoder: SentenceEncoder) -> int:
        """Return H: token states are used, independently of the pooling."""
        return encoder.model.config.hidden_size

    def embed(self, encoder: SentenceEncoder, batch: PackedBatch) -> Tensor:
        """Return the result of `heads.maxsim.matched` for pairs, (n, 4, H), with gradient."""
        texts, places = apart(batch)
        texts, places = texts.to(encoder.device), places.to(encoder.device)
        with autocast(encoder.device, encoder.dtype):
            states = encoder.model.packed(texts).last_hidden_state  # (total_tokens, H)
        return matched(states, texts.cu_seqlens, places)

    def combine(self, embeddings: Sequence[Tensor]) -> Tensor:
        """Return [u; v; |u-v|; u*v; |x-y|; x*y], (B, 6H), or [u; v; |x-y|; x*y], (B, 4H).

        u and v are the texts' means; x are tokens and y their best matches. So the head gets the
        features of a bi-encoder, and differences and products taken before the mean over tokens.

        Args:
            embeddings: one (B, 4, H).
        """
        first, second, away, alike = embeddings[0].unbind(dim=1)  # (B, H) each
        u, v = unit_rms(first), unit_rms(second)
        means = torch.cat([u, v], dim=-1) if self.form == "concat" else interaction(u, v)
        return torch.cat([means, away, alike], dim=-1)

    def bare(self, columns: Columns) -> np.ndarray | None:
        """Return the similarity of pairs without a head: the symmetrised MaxSim, (N,)."""
        # x and y have root mean square 1: the mean of x*y over H is their cosine.
        return np.asarray(columns()[0][:, 3].mean(axis=-1))

    def width(self, hidden_size: int, num_texts: int) -> int:
        return hidden_size * (4 if self.form == "concat" else 6)


# By reader, how an example becomes a head's input. Readers differ in this, and in a head's depth.
Features = BiFeatures | LateFeatures | CrossFeatures
FEATURES: dict[str, type[Features]] = {
    "bi": BiFeatures,
    "late": LateFeatures,
    "cross": CrossFeatures,
}


def unit_rms(embeddings: Tensor) -> Tensor:
    """Scale rows to root mean square 1, so all blocks of the features have the same scale.

    Encoders differ in the length of their embeddings, and contrastive tuning fixes directions only.
    The mean of u*v is then the cosine itself.
    """
    # (1/H) sum x_i^2 = 1 needs length sqrt(H), not 1.
    return F.normalize(embeddings, dim=-1) * embeddings.shape[-1] ** 0.5


def interaction(u: Tensor, v: Tensor) -> Tensor:
    """Return [u; v; |u-v|; u*v], (B, 4H) of (B, H) each."""
    # |u-v| and u*v do not change when u and v are exchanged; u and v themselves do.
    return torch.cat([u, v, (u - v).abs(), u * v], dim=-1)
