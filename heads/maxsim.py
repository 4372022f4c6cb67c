"""Late interaction: compare the token states of two separately encoded texts token by token.

MaxSim (Khattab & Zaharia 2020, arXiv:2004.12832, equation 3) looks for each token's nearest token
of the other text and adds up these cosines. In a pair, neither text is the query. So we take the
mean over a text's tokens, and the mean of both directions: the result lies in [-1, 1] and does not
depend on order or length. All tokens count, including [CLS] and [SEP], as in sentence-transformers
by default, and in ColBERT except for punctuation of documents. The encoder uses no padding.

Legend: n pairs, T tokens of all their 2n texts, A and B tokens of the longest first and second
text, H hidden_size.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from minbert.encoder import SentenceEncoder
from minbert.packing import PackedBatch, TokenSequences, batches_by_tokens
from runtime.device import autocast

PAIRS = 256  # of stored texts, compared at a time


def end_to_end(texts: TokenSequences) -> TokenSequences:
    """Return the texts a, b, a, b, ... as n pairs `[CLS] a [SEP] [CLS] b [SEP]`.

    They only serve to make batches of pairs; `apart` separates the texts again for the encoder.
    """
    # A pair begins with its first text and ends where the next pair begins, so every second
    # border of 0, a, a + b, ... is kept.
    firsts = texts.lengths[::2].astype(np.int32)  # (n,)
    return TokenSequences(texts.ids, texts.offsets[::2], firsts, second_type=0)


def apart(pairs: PackedBatch) -> tuple[PackedBatch, Tensor]:
    """Return the 2n texts of n packed pairs sorted by length, and the place of each, (2n,).

    The places are those of a, b, a, b, ...; sorting puts equal lengths together, which is fast.
    """
    assert pairs.first_lengths is not None, "a batch of pairs knows where the first text ends"
    firsts = pairs.first_lengths.numpy()
    # (n, 2) -> (2n,): the lengths of a, b, a, b, ...
    lengths = np.stack([firsts, np.array(pairs.lengths) - firsts], axis=1).ravel()
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    order = np.argsort(lengths, kind="stable")
    texts = TokenSequences(pairs.input_ids.numpy(), offsets, lengths, second_type=0)
    # argsort inverts a permutation: the place of each text in the batch.
    return texts.pack(order), torch.from_numpy(np.argsort(order))


def best_matches(tokens: Tensor, borders: Tensor, places: Tensor) -> Tensor:
    """Return for each token which token of the other text has the largest cosine with it, (T,).

    Args:
        tokens: of all texts, (T, H), all of the same norm.
        borders, places: as for `matched`.
    """
    # For both texts of each pair: number of tokens, and row of the first token.
    lengths = borders.diff()[places].view(-1, 2, 1)  # (n, 2, 1)
    starts = borders[places].view(-1, 2, 1)  # (n, 2, 1)
    numbers = torch.arange(int(lengths.max()), device=tokens.device)
    best = torch.empty(len(tokens), dtype=torch.long, device=tokens.device)
    # The choice has no gradient; the chosen states do.
    with torch.no_grad():
        # Padded to one width, all pairs are one product; padding is the first token, masked below.
        real = numbers < lengths  # (n, 2, longest)
        rows = (starts + numbers).where(real, starts)  # (n, 2, longest)
        # First texts are padded to the longest of them, second texts likewise: (n, A) and (n, B).
        a, b = (slice(0, int(lengths[:, side].max())) for side in (0, 1))
        rows_a, rows_b, real_a, real_b = rows[:, 0, a], rows[:, 1, b], real[:, 0, a], real[:, 1, b]
        # (n, A, H) x (n, H, B) -> (n, A, B). Norms are equal: the largest product is the largest
        # cosine.
        cosines = tokens[rows_a] @ tokens[rows_b].mT
        cosines.masked_fill_(~(real_a[:, :, None] & real_b[:, None]), -torch.inf)
        # A token of a finds its best match along its row, one of b along its column; `gather` turns
        # the place in the other text into a row of `tokens`.
        best[rows_a[real_a]] = rows_b.gather(1, cosines.argmax(dim=2))[real_a]
        best[rows_b[real_b]] = rows_a.gather(1, cosines.argmax(dim=1))[real_b]
    return best


def matched(states: Tensor, borders: Tensor, places: Tensor) -> Tensor:
    """Return u, v, |x - y| and x * y of n pairs as means over tokens, (n, 4, H) float32.

    x are the tokens at root mean square 1, y the best match of each in the other text. u and v are
    means over the tokens of the first and second text, the others means over both directions. The
    mean of x * y over H is the symmetrised MaxSim.

    Args:
        states: of all texts' tokens, (T, H).
        borders: where each text begins, and the end of the last one, (2n + 1,).
        places: which text is the first of pair 1, its second, the first of pair 2, ...: (2n,).
    """
    # A mean square of 1 needs length sqrt(H).
    x = torch.nn.functional.normalize(states.float(), dim=-1) * states.shape[-1] ** 0.5
    y = x[best_matches(x, borders, places)]
    blocks = torch.stack([x, (x - y).abs(), x * y], dim=1)  # (T, 3, H)
    # The mean over each text's tokens, then from the batch's order to a, b, a, b, ...
    # (2n, 3, H)
    means = torch.segment_reduce(blocks, "mean", lengths=borders.diff(), axis=0)[places]
    first, second = means[0::2], means[1::2]  # (n, 3, H) each
    # The mean of both directions for |x - y| and x * y, so the order of the texts does not matter.
    both = (first + second)[:, 1:] / 2  # (n, 2, H)
    return torch.cat([first[:, :1], second[:, :1], both], dim=1)


# The content of an index of token states, and the comparison of its texts.


def token_states(encoder: SentenceEncoder, texts: Sequence[str]) -> list[np.ndarray]:
    """Return the token states of each text, (its tokens, H) float32."""
    sequences = encoder.tokenize(texts)
    states_of: list[np.ndarray] = [np.empty(0)] * len(sequences)
    with encoder.reading(sequences):
        for rows in batches_by_tokens(sequences.lengths, encoder.batch_tokens):
            batch = sequences.pack(rows)
            with autocast(encoder.device, encoder.dtype):
                states = encoder.model.packed(batch.to(encoder.device)).last_hidden_state
            # (tokens of the batch, H) -> (tokens of a text, H) each, at the text's own place.
            by_text = states.float().cpu().split(list(batch.lengths))
            for row, text in zip(rows, by_text, strict=True):
                states_of[row] = text.numpy()
    return states_of


def compared(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> np.ndarray:
    """Return the result of `matched` for the token states of n pairs, (n, 4, H) float32."""
    blocks = []
    for start in range(0, len(first), PAIRS):
        both = zip(first[start : start + PAIRS], second[start : start + PAIRS], strict=True)
        texts = [torch.from_numpy(text) for pair in both for text in pair]  # a, b, a, b, ...
        borders = torch.tensor([0, *(len(text) for text in texts)]).cumsum(0)
        blocks.append(matched(torch.cat(texts), borders, torch.arange(len(texts))).numpy())
    return np.concatenate(blocks)
