"""From token states to one embedding per sentence: SimCSE's five poolers (Gao et al. 2021, 6.3).

Only `choose_pooling` decides which of them an encoder uses.
Legend: B sequences, H hidden_size.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from minbert.config import POOLINGS
from minbert.model import BertOutput
from minbert.packing import PackedBatch


def choose_pooling(chosen: str | None, stated: str | None, tuning: bool = False) -> str:
    """Return the pooling of an encoder.

    Args:
        chosen: the user's choice, which takes precedence.
        stated: the pooling that the checkpoint states.
        tuning: whether the encoder is about to be tuned by SimCSE, whose pooling is an MLP over
            [CLS] (`cls`). An average that the checkpoint states is kept: it was trained with it.
    """
    # The user's choice comes first ...
    if chosen:
        return chosen
    # ... then, before tuning, an average the encoder was trained with, or SimCSE's pooling ...
    if tuning:
        return stated if stated and stated.startswith("avg") else "cls"
    # ... else what the checkpoint states; BERT's states nothing, and [CLS] is its sentence state.
    return stated or "cls_before_pooler"


def pool(output: BertOutput, batch: PackedBatch, pooling: str) -> Tensor:
    """Return one float32 embedding per sequence, (B, H).

    Args:
        output: the encoder's packed output.
        batch: the packed batch it came from.
        pooling: `cls` ([CLS] through the pooler's dense and tanh), `cls_before_pooler` (the raw
            [CLS] state), or the mean over all real tokens of the last layer (`avg`), of the last
            two (`avg_top2`), or of the *first layer* and the last (`avg_first_last`; not the
            word embeddings, which an early release of SimCSE used).

    Raises:
        ValueError: an unknown pooling, or `cls` for a checkpoint without a pooler.
    """
    states = output.hidden_states
    assert states is not None, "pooling reads packed output, which carries all hidden states"
    # Sums over many tokens lose digits in bfloat16, so every pooling ends in float32.
    if pooling == "cls":
        if output.pooler_output is None:
            raise ValueError("pooling 'cls' needs a pooler, which this checkpoint does not have")
        return output.pooler_output.float()
    if pooling not in POOLINGS:
        raise ValueError(f"unknown pooling {pooling!r}; expected one of {', '.join(POOLINGS)}")
    return pool_states(states, batch, pooling)


def pool_states(states: Sequence[Tensor], batch: PackedBatch, pooling: str) -> Tensor:
    """Pool the states of the embeddings and of every layer, (total_tokens, H) each: (B, H) float32.

    Args:
        states: from the embeddings to the last layer.
        batch: the packed batch they came from.
        pooling: any but `cls`, as for `pool`.
    """
    # [CLS] is the first token of its sequence.
    if pooling == "cls_before_pooler":
        return states[-1][batch.cu_seqlens[:-1]].float()
    # states[0] is the output of the embedding layer, states[1] the output of the first layer.
    if pooling == "avg":
        return mean_of_tokens(states[-1], batch)
    if pooling == "avg_top2":
        return mean_of_tokens((states[-1] + states[-2]) / 2, batch)
    assert pooling == "avg_first_last", pooling
    return mean_of_tokens((states[1] + states[-1]) / 2, batch)


def mean_of_tokens(states: Tensor, batch: PackedBatch) -> Tensor:
    """Average packed states (total_tokens, H) over each sequence's tokens: (B, H) float32."""
    # (total_tokens, H) -> (B, H): one reduction per batch, whatever the lengths in it.
    lengths = batch.cu_seqlens.diff()
    return torch.segment_reduce(states.float(), "mean", lengths=lengths, axis=0)


def mean_of_segments(states: Tensor, batch: PackedBatch) -> tuple[Tensor, Tensor]:
    """Average packed states of pairs over each of the two segments: two (B, H) float32.

    Every pair is `[CLS] a [SEP] b [SEP]` or `<s> a </s></s> b </s>`, cut after the first separator,
    so neither segment is ever empty.
    """
    assert batch.first_lengths is not None, "a batch of pairs knows where the first text ends"
    starts, ends = batch.cu_seqlens[:-1], batch.cu_seqlens[1:]
    # Where the first and the second segment of each pair begin.
    borders = torch.stack([starts, starts + batch.first_lengths], dim=1)  # (B, 2)
    lengths = torch.cat([borders.flatten(), ends[-1:]]).diff()  # (2B,): a, b, a, b, ...
    means = torch.segment_reduce(states.float(), "mean", lengths=lengths, axis=0)  # (2B, H)
    # First segments are in even rows, second ones in odd rows.
    return means[0::2], means[1::2]
