"""Two objectives beside masked words: spans that find each other, and twins that are compared.

Both stand in place of BERT's next-sentence prediction (Devlin et al. 2019, section 3.1), which can
be solved by topic and was found to help little.

*Spans*: two spans of one text must find each other among those of other texts. Without this,
nothing trains the mean of a text's states to represent the text. Spans are cut at random and may
overlap, as in DeCLUTR and Contriever (Giorgi et al. 2021, section 3; Izacard et al. 2022, section
3), but are as short as the sentences that are compared later.

*Twins*: the words of a segment in another order and some left out, and in half of the twins also
one or two words replaced or two words exchanged. To judge them, a model must align the segments
word by word, as a cross-encoder must. [CLS] says what the second segment is: the first again,
edited, its continuation, or something else; each of its tokens says whether it is among the changed
ones, as in replaced-token detection (Clark et al. 2020), but only the other segment can tell.

Legend: B rows, L tokens of a segment, K of them kept in the twin, H hidden_size, V vocab_size.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minbert.packing import PackedBatch
from minbert.pretraining.options import MOST_LEFT_OUT, cut_bounds
from minbert.tokenizer import BertTokenizer

TEMPERATURE = 0.05  # of spans: DeCLUTR's and SimCSE's
KINDS = ("same", "edited", "next", "other")
SHARES = (0.4, 0.4, 0.1, 0.1)  # most twins need a comparison word by word
IGNORED = -100  # PyTorch's mark for what counts in no loss


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
    shortest, longest = cut_bounds(rows.shape[1])
    length = int(torch.randint(shortest, longest + 1, ()))
    # After [CLS], and such that the span ends before [SEP].
    start = 1 + int(torch.randint(rows.shape[1] - 2 - length + 1, ()))
    return torch.cat([rows[:, :1], rows[:, start : start + length], rows[:, -1:]], dim=1)


@dataclass(frozen=True)
class Twins:
    """B pairs of segments, and what is to be said of them."""

    batch: PackedBatch  # `[CLS] a [SEP] b [SEP]`
    kinds: Tensor  # (B,) int64, a number of KINDS
    changed: Tensor  # (total_tokens,) int64: 1 changed, 0 kept; IGNORED outside same and edited b

    def masked(self, labels: Tensor) -> "Twins":
        """Return the same pairs, asking nothing of masked words: those with labels, (total,)."""
        return Twins(self.batch, self.kinds, self.changed.where(labels == IGNORED, IGNORED))

    def to(self, device: torch.device | str) -> "Twins":
        """Return the same pairs on `device`."""
        return Twins(self.batch.to(device), self.kinds.to(device), self.changed.to(device))


class TwinHeads(nn.Module):
    """What [CLS] says of the pair and each token of itself; used in pre-training only."""

    def __init__(self, hidden_size: int):
        super().__init__()
        self.kind = nn.Linear(hidden_size, len(KINDS))
        self.changed = nn.Linear(hidden_size, 1)

    def loss(self, states: Tensor, twins: Twins) -> Tensor:
        """Return the sum of both mean losses of the last states (total_tokens, H), float32."""
        return F.cross_entropy(self.logits(states, twins), twins.kinds) + self._tags(states, twins)

    def logits(self, states: Tensor, twins: Twins) -> Tensor:
        """Return the logits (B, 4) of the kinds, from the states of [CLS]."""
        logits: Tensor = self.kind(states[twins.batch.cu_seqlens[:-1]])
        return logits.float()

    def _tags(self, states: Tensor, twins: Twins) -> Tensor:
        asked = twins.changed != IGNORED  # (total_tokens,)
        logits = self.changed(states[asked]).squeeze(1).float()
        return F.binary_cross_entropy_with_logits(logits, twins.changed[asked].float())


def whole_words(tokenizer: BertTokenizer) -> Tensor:
    """Return (V,) bool: which pieces are words, or begin one."""
    pieces = tokenizer.backend.get_vocab()
    words = torch.zeros(max(pieces.values()) + 1, dtype=torch.bool)
    words[[number for piece, number in pieces.items() if piece.isalpha()]] = True
    return words


def cut_twins(batch: PackedBatch, words: Tensor) -> Twins:
    """Return a pair of segments of every row.

    All rows are cut at the same places, so that length gives nothing away (and attention handles
    equal lengths in one product). Random numbers come from torch's global generator.

    Args:
        batch: B rows `[CLS] ... [SEP]` of equal length.
        words: (V,) bool, the pieces that may be changed, of `whole_words`.
    """
    rows = batch.input_ids.view(len(batch), -1)  # (B, length)
    first, following = _segments(rows)  # (B, L) each
    # Half of the texts are damaged before they have a twin: an odd word alone is no sign of a
    # change, only the comparison is.
    damaged, _ = _edit(first, words)
    first = torch.where(torch.rand(len(first), 1) < 0.5, damaged, first)
    edited, changed = _edit(first, words)
    shares = torch.tensor(SHARES)
    kinds = torch.multinomial(shares, len(rows), replacement=True)  # (B,)
    # What had no two words to change is the same.
    kinds = torch.where((kinds == 1) & ~changed.any(dim=1), 0, kinds)
    # Another row's segment is that of another text.
    candidates = torch.stack([first, edited, following, first.roll(1, dims=0)])  # (4, B, L)
    second = candidates[kinds, torch.arange(len(rows))]  # (B, L)
    tags = torch.where((kinds == 1)[:, None], changed.long(), 0)
    tags = torch.where((kinds < 2)[:, None], tags, IGNORED)
    order = _order(tags)  # (B, K)
    return _joined(rows, first, second.gather(1, order), kinds, tags.gather(1, order))


def _segments(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return a segment of every row, and the one behind it, (B, L) each."""
    # A pair has one [SEP] more than a row, and no more positions.
    shortest, longest = cut_bounds(rows.shape[1] - 1)
    length = int(torch.randint(shortest, longest + 1, ()))
    # After [CLS], and such that the second segment ends before [SEP].
    start = 1 + int(torch.randint(rows.shape[1] - 2 - 2 * length + 1, ()))
    middle = start + length
    return rows[:, start:middle], rows[:, middle : middle + length]


def _edit(texts: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
    """Return the texts with one or two other words each, (B, L), and which are changed, (B, L).

    In half of the rows two words are exchanged, in the other half one or two are replaced by words
    of other rows. A row without two different whole words stays as it is.
    """
    # A word of one piece: it starts one, and the next piece starts another. What follows the last
    # piece is not known.
    starts = words[texts]  # (B, L)
    whole = starts & F.pad(starts[:, 1:], (0, 1), value=False)
    two = torch.where(whole, torch.rand(texts.shape), -1.0).topk(2, dim=1).indices  # (B, 2)
    able = whole.gather(1, two).all(dim=1, keepdim=True)  # (B, 1)
    old = texts.gather(1, two)  # (B, 2)
    # Exchanged; or the words of another row, of the second sometimes the old one.
    coins = torch.rand(len(texts), 2)
    replaced = old.roll(1, dims=0)
    replaced[:, 1] = torch.where(coins[:, 1] < 0.5, old[:, 1], replaced[:, 1])
    new = torch.where((coins[:, 0] < 0.5)[:, None], old.flip(1), replaced)
    new = torch.where(able, new, old)
    changed = torch.zeros(texts.shape, dtype=torch.bool).scatter(1, two, new != old)
    return texts.scatter(1, two, new), changed


def _order(tags: Tensor) -> Tensor:
    """Return which tokens of the twins are kept, in which order, (B, K): rotated in half of them.

    No changed token is left out, else the answer would be gone.
    """
    count, length = tags.shape
    kept = length - int(torch.randint(length // MOST_LEFT_OUT + 1, ()))
    scores = torch.rand(tags.shape) + (tags == 1)
    chosen = scores.topk(kept, dim=1).indices.sort(dim=1).values  # (B, K)
    # "x y" becomes "y x": the same words, other positions.
    turns = torch.randint(kept, (count, 1)) * (torch.rand(count, 1) < 0.5)
    return chosen.gather(1, (torch.arange(kept) + turns) % kept)


def _joined(rows: Tensor, first: Tensor, second: Tensor, kinds: Tensor, tags: Tensor) -> Twins:
    """Pack `[CLS] first [SEP] second [SEP]` of every row."""
    cls, sep = rows[:, :1], rows[:, -1:]  # (B, 1)
    ids = torch.cat([cls, first, sep, second, sep], dim=1)  # (B, T)
    count, length = ids.shape
    front = first.shape[1] + 2
    types = (torch.arange(length) >= front).long().expand(count, -1)  # (B, T)
    changed = F.pad(tags, (front, 1), value=IGNORED)  # (B, T)
    batch = PackedBatch(
        ids.flatten(),
        types.flatten(),
        torch.arange(length).repeat(count),
        torch.arange(count + 1) * length,
        (length,) * count,
    )
    return Twins(batch, kinds, changed.flatten())
