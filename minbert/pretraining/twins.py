"""Two segments: is the second one the first again, edited, its continuation, or something else?

In place of BERT's next-sentence prediction (Devlin et al. 2019, section 3.1), which can be solved
by topic and was found to help little. Here the second segment is a *twin*: the words of the first
in another order and some left out, and in half of the twins also one or two words replaced or two
words exchanged. To tell, a model must align the segments word by word, as a cross-encoder must.
[CLS] says what the twin is; each of its tokens says whether it is among the changed ones, as in
replaced-token detection (Clark et al. 2020), but only the other segment can tell.

Legend: B rows, L tokens of a segment, K of them kept in the twin, H hidden_size, V vocab_size.
Reads: rows of the corpus. Feeds: loop, options.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minbert.packing import PackedBatch
from minbert.tokenizer import BertTokenizer

KINDS = ("same", "edited", "next", "other")
SHARES = (0.4, 0.4, 0.1, 0.1)  # most twins need a comparison word by word
SHORTEST, LONGEST = 8, 32  # tokens of a segment, as of a sentence
MOST_LEFT_OUT = 6  # at most one token in so many is left out
IGNORED = -100  # PyTorch's mark for what counts in no loss


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


def mean_twin_tokens(length: int) -> int:
    """Return how many tokens the pair of a row of `length` has on average, about."""
    shortest, longest = _bounds(length)
    return shortest + longest + 3 - (shortest + longest) // (4 * MOST_LEFT_OUT)


def _segments(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return a segment of every row, and the one behind it, (B, L) each."""
    shortest, longest = _bounds(rows.shape[1])
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


def _bounds(row: int) -> tuple[int, int]:
    """Return the shortest and the longest segment of a row: at most half of what it holds."""
    longest = min(LONGEST, (row - 2) // 2)
    return min(SHORTEST, longest), longest
