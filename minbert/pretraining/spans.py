"""Two spans of one text must find each other among those of other texts.

A sentence-level objective beside masked-language modelling, in place of BERT's next-sentence
prediction. Without it, nothing trains the mean of a text's states to represent the text.
Spans are cut at random and may overlap, as in DeCLUTR and Contriever (Giorgi et al. 2021, section
3; Izacard et al. 2022, section 3), but are as short as the sentences that are compared later.

Legend: B rows, H hidden_size. Reads: rows of the corpus. Feeds: loop, options.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from minbert.packing import PackedBatch

SHORTEST, LONGEST = 8, 32  # tokens of a span, as of a sentence
TEMPERATURE = 0.05  # DeCLUTR's and SimCSE's


def cut_spans(batch: PackedBatch) -> PackedBatch:
    """Return two spans of every row: the B first spans, then the B second spans.

    All rows of a batch are cut at the same places, so that length gives nothing away (and
    attention handles equal lengths in one product). Random numbers come from torch's global
    generator.

    Args:
        batch: B rows `[CLS] ... [SEP]` of equal length.
    """
    # Rows of equal length are a matrix, cut at two places drawn independently.
    rows = batch.input_ids.view(len(batch), -1)  # (B, length)
    spans = [_span(rows), _span(rows)]
    # All first spans, then all second ones, packed like any other 2B sequences.
    lengths = tuple(span.shape[1] for span in spans for _ in range(len(rows)))
    input_ids = torch.cat([span.flatten() for span in spans])
    positions = [torch.arange(span.shape[1]).repeat(len(rows)) for span in spans]
    cu_seqlens = F.pad(torch.tensor(lengths).cumsum(0), (1, 0))
    return PackedBatch(
        input_ids, torch.zeros_like(input_ids), torch.cat(positions), cu_seqlens, lengths
    )


def mean_span_tokens(length: int) -> int:
    """Return how many tokens the two spans of a row of `length` have on average."""
    return sum(_bounds(length)) + 4  # and twice [CLS] and [SEP]


def span_logits(embeddings: Tensor) -> Tensor:
    """Return the cosines of first and second spans over the temperature: (2B, H) -> (B, B)."""
    first, second = F.normalize(embeddings, dim=-1).chunk(2)
    # (B, H) x (H, B) -> (B, B): row i compares first span i with every second span.
    return first @ second.T / TEMPERATURE


def span_loss(embeddings: Tensor) -> Tensor:
    """Return the mean cross-entropy of finding the partner, in both directions, of (2B, H)."""
    logits = span_logits(embeddings)  # (B, B)
    # Row i's partner is column i; every other column is a negative. The same holds in reverse.
    partners = torch.arange(len(logits), device=logits.device)
    return (F.cross_entropy(logits, partners) + F.cross_entropy(logits.T, partners)) / 2


def _span(rows: Tensor) -> Tensor:
    """Return `[CLS] span [SEP]` of every row, (B, span + 2)."""
    shortest, longest = _bounds(rows.shape[1])
    length = int(torch.randint(shortest, longest + 1, ()))
    # After [CLS], and such that the span ends before [SEP].
    start = 1 + int(torch.randint(rows.shape[1] - 2 - length + 1, ()))
    return torch.cat([rows[:, :1], rows[:, start : start + length], rows[:, -1:]], dim=1)


def _bounds(row: int) -> tuple[int, int]:
    """Return the shortest and the longest span of a row: at most half of what it holds."""
    # Half of the row, so that two spans need not overlap.
    longest = min(LONGEST, (row - 2) // 2)
    return min(SHORTEST, longest), longest
