"""Ragged token sequences, and packed batches that hold their real tokens and no padding.

Legend: B sequences in the batch, T tokens of one sequence, `total_tokens` = sum of all T.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class PackedBatch:
    """The tokens of B sequences end to end; sequence i is [cu_seqlens[i], cu_seqlens[i + 1])."""

    # Two sequences [CLS] a [SEP] and [CLS] b c [SEP] are seven tokens, cu_seqlens 0, 3, 7, and
    # position_ids 0 1 2 0 1 2 3. Padded to one length they would be eight.
    input_ids: Tensor  # (total_tokens,) int64
    token_type_ids: Tensor  # (total_tokens,) int64, 1 for the second sentence of a pair
    position_ids: Tensor  # (total_tokens,) int64, counted from 0 in every sequence
    cu_seqlens: Tensor  # (B + 1,) int64, cumulative lengths, starting with 0
    lengths: tuple[int, ...]  # B lengths on the host, so that shapes never wait for a device
    # (B,) int64, the tokens of each pair's first segment. RoBERTa's pairs have one token type, so
    # token_type_ids do not distinguish the segments.
    first_lengths: Tensor | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: torch.device | str) -> "PackedBatch":
        """Return the same batch with its tensors on `device`."""
        tensors: dict[str, Any] = {
            name: _copy(field, device)
            for name, field in vars(self).items()
            if isinstance(field, Tensor)
        }
        return replace(self, **tensors)


def _copy(tensor: Tensor, device: torch.device | str) -> Tensor:
    """Copy to a device; to a GPU from pinned memory, so that the host need not wait."""
    # Pinned memory cannot be swapped out, so the GPU can copy it while the host continues.
    if tensor.device.type == "cpu" and torch.device(device).type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


@dataclass(frozen=True)
class TokenSequences:
    """Token ids of N texts (or pairs) end to end: two bytes per token, no Python objects.

    A million sentences of SimCSE's Wikipedia file take about 60 MB in this form.
    """

    ids: np.ndarray  # (total,) uint16, or int32 for a vocabulary of more than 65,536 pieces
    offsets: np.ndarray  # (N + 1,) int64
    first_lengths: np.ndarray  # (N,) int32: tokens of the first segment, [CLS] and [SEP] included
    second_type: int = 1  # token type of the second segment; RoBERTa's is 0, as the first one's

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Return the number of tokens of each sequence, (N,) int64."""
        return np.diff(self.offsets)

    def __getitem__(self, index: int) -> list[int]:
        """Return the token ids of one sequence."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]].tolist()

    def pack(self, rows: Sequence[int] | np.ndarray) -> PackedBatch:
        """Pack the sequences `rows`, in that order (a row may occur more than once)."""
        rows = np.asarray(rows, dtype=np.int64)
        starts, lengths = self.offsets[rows], self.lengths[rows]
        # Lengths 3, 2 give the borders 0, 3, 5 ...
        cu_seqlens = np.concatenate([[0], np.cumsum(lengths)])
        # ... and the positions 0 1 2 0 1: a token's number in the batch minus that of its
        # sequence's first token.
        position_ids = np.arange(cu_seqlens[-1]) - np.repeat(cu_seqlens[:-1], lengths)
        # The same positions, counted from where each sequence starts in `ids`, gather the tokens.
        input_ids = self.ids[np.repeat(starts, lengths) + position_ids].astype(np.int64)
        # All tokens after the first segment belong to the second.
        first_lengths = self.first_lengths[rows].astype(np.int64)
        in_second = position_ids >= np.repeat(first_lengths, lengths)
        return PackedBatch(
            torch.from_numpy(input_ids),
            torch.from_numpy(in_second.astype(np.int64) * self.second_type),
            torch.from_numpy(position_ids),
            torch.from_numpy(cu_seqlens),
            tuple(lengths.tolist()),
            torch.from_numpy(first_lengths),
        )

    @classmethod
    def join(cls, parts: Iterable["TokenSequences"]) -> "TokenSequences":
        """Return the sequences of all parts, in order."""
        # Offsets start at 0 in every part, so the joint offsets are computed from the lengths.
        parts = list(parts)
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(
            np.concatenate([part.ids for part in parts]),
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([part.first_lengths for part in parts]),
            parts[0].second_type,
        )


def positions_after_padding(batch: PackedBatch, padding_id: int) -> Tensor:
    """Return RoBERTa's positions (total_tokens,): a sequence's tokens count from padding_id + 1.

    As in fairseq's `make_positions`, padding is at position padding_id and is not counted, even if
    it is a token of the text: "<pad>" written out, or drawn for a masked one.
    """
    padding = batch.input_ids == padding_id
    # How many paddings the batch holds before each token, less those of earlier sequences.
    before = padding.cumsum(0) - padding.long()
    earlier = before[batch.cu_seqlens[:-1]]  # (B,)
    counts = batch.cu_seqlens.diff()  # (B,)
    before = before - earlier.repeat_interleave(counts, output_size=len(batch.input_ids))
    return torch.where(padding, padding_id, batch.position_ids + padding_id + 1 - before)


def pack_padded(
    input_ids: Tensor,
    attention_mask: Tensor | None = None,
    token_type_ids: Tensor | None = None,
    padding_id: int | None = None,
) -> tuple[PackedBatch, Tensor]:
    """Pack a padded batch.

    Args:
        input_ids: (B, T) int64.
        attention_mask: (B, T), 1 = real token; all real when absent. The real tokens of a row
            need not be contiguous; they keep their positions, as in `transformers`.
        token_type_ids: (B, T); all 0 when absent.
        padding_id: if given, padding takes no position, wherever it stands (RoBERTa).

    Returns:
        The packed batch, and the (B, T) boolean mask that puts packed rows back in place.
    """
    if input_ids.ndim != 2:
        raise ValueError(f"input_ids must be (batch, length), got shape {tuple(input_ids.shape)}")
    # By default all tokens are real, and all are in the first sentence.
    real = torch.ones_like(input_ids) if attention_mask is None else attention_mask
    types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
    for name, tensor in (("attention_mask", real), ("token_type_ids", types)):
        if tensor.shape != input_ids.shape:
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)}, input_ids {tuple(input_ids.shape)}"
            )
    return pack_rows(input_ids, real, types, padding_id)


def pack_rows(
    input_ids: Tensor, real: Tensor, types: Tensor, padding_id: int | None = None
) -> tuple[PackedBatch, Tensor]:
    """Pack rows of one length, (B, T) each.

    Args and returns: as for `pack_padded`, with attention mask and token types given.
    """
    mask = real.bool()  # (B, T)
    lengths = mask.sum(dim=1)  # (B,)
    if bool((lengths == 0).any()):
        raise ValueError("attention_mask: a row has no real token")
    # Every column has one position: a hole in the mask leaves a gap in the positions.
    positions = torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids)
    if padding_id is not None:
        # The model finds the padding among real tokens itself (`positions_after_padding`).
        positions = (mask | (input_ids != padding_id)).cumsum(dim=1) - 1
    # (B + 1,): where each sequence begins, and the end of the last one.
    cu_seqlens = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    # The one place where the host waits for the device: later shapes follow from these numbers.
    host_lengths = tuple(lengths.tolist())
    tokens = (input_ids[mask], types[mask], positions[mask])  # (total_tokens,) each
    firsts = (mask & (types == 0)).sum(dim=1)  # (B,)
    return PackedBatch(*tokens, cu_seqlens, host_lengths, firsts), mask


def batches_by_tokens(lengths: np.ndarray, batch_tokens: int) -> Iterator[np.ndarray]:
    """Yield row numbers, longest first, in batches of at most `batch_tokens` tokens.

    Sorting puts equal lengths side by side, where attention handles them in one product. Longest
    first makes a shortage of memory show at once. A longer sequence gets a batch of its own.
    """
    # Stable: equal lengths keep their order, so that runs are reproducible.
    order = np.argsort(-lengths, kind="stable")
    start, tokens = 0, 0
    for end, row in enumerate(order):
        # `end > start`: a batch is never empty, however long its only sequence is.
        if end > start and tokens + lengths[row] > batch_tokens:
            yield order[start:end]
            start, tokens = end, 0
        tokens += lengths[row]
    if start < len(order):
        yield order[start:]
