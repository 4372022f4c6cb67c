"""Late interaction: the token states of two texts that were encoded alone, compared token by token.

MaxSim (Khattab & Zaharia 2020, arXiv:2004.12832, equation 3) looks for each token's nearest token
of the other text and adds up these cosines. Of a pair, neither text is the query: here it is the
mean over a text's tokens, and that of both directions, so that it lies in [-1, 1] and neither
order nor length decides. All tokens count, [CLS] and [SEP] too, as sentence-transformers has it by
default and ColBERT but for the punctuation of documents. Nothing is padded in the encoder.

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
    """Return the texts a, b, a, b, ... as n pairs `[CLS] a [SEP] [CLS] b [SEP]`, not to be read so.

    Batches are made of pairs; `apart` makes texts of them again.
    """
    # A pair begins where its first text does and ends where the next one begins: of the borders
    # 0, a, a + b, ... every second one stays.
    firsts = texts.lengths[::2].astype(np.int32)  # (n,)
    return TokenSequences(texts.ids, texts.offsets[::2], firsts, second_type=0)


def apart(pairs: PackedBatch) -> tuple[PackedBatch, Tensor]:
    """Return the 2n texts of n pairs that lie end to end, by length, and the place of each, (2n,).

    The places are those of a, b, a, b, ...; equal lengths lie side by side, which is fast.
    """
    assert pairs.first_lengths is not None, "a batch of pairs knows where the first text ends"
    firsts = pairs.first_lengths.numpy()
    # (n, 2) -> (2n,): the lengths of a, b, a, b, ...
    lengths = np.stack([firsts, np.array(pairs.lengths) - firsts], axis=1).ravel()
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    order = np.argsort(lengths, kind="stable")
    texts = TokenSequences(pairs.input_ids.numpy(), offsets, lengths, second_type=0)
    # The inverse of a permutation is what sorts it: where in the batch each text has gone.
    return texts.pack(order), torch.from_numpy(np.argsort(order))


def best_matches(tokens: Tensor, borders: Tensor, places: Tensor) -> Tensor:
    """Return for each token which token of the other text has the largest cosine with it, (T,).

    Args:
        tokens: of all texts, (T, H), all of the same norm.
        borders, places: as for `matched`.
    """
    # Of both texts of each pair: how many tokens, and which is the first.
    lengths = borders.diff()[places].view(-1, 2, 1)  # (n, 2, 1)
    starts = borders[places].view(-1, 2, 1)  # (n, 2, 1)
    numbers = torch.arange(int(lengths.max()), device=tokens.device)
    best = torch.empty(len(tokens), dtype=torch.long, device=tokens.device)
    # The choice has no gradient; what is chosen has.
    with torch.no_grad():
        # Padded to one width, all pairs are one product; padding is the first token, masked below.
        real = numbers < lengths  # (n, 2, longest)
        rows = (starts + numbers).where(real, starts)  # (n, 2, longest)
        # The first texts are as wide as the longest of them, so are the second: (n, A) and (n, B).
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
    """Return of n pairs u, v, |x - y| and x * y as means over tokens, (n, 4, H) float32.

    x are the tokens at root mean square 1, y the best match of each in the other text; u and v are
    the means over the tokens of either text, the others those over both directions. The mean of
    x * y over H is the symmetrised MaxSim.

    Args:
        states: of all texts' tokens, (T, H).
        borders: where each text begins, and the end of the last one, (2n + 1,).
        places: which text is the first of pair 1, its second, the first of pair 2, ...: (2n,).
    """
    # Unit length is too short by sqrt(H) for a mean square of 1.
    x = torch.nn.functional.normalize(states.float(), dim=-1) * states.shape[-1] ** 0.5
    y = x[best_matches(x, borders, places)]
    blocks = torch.stack([x, (x - y).abs(), x * y], dim=1)  # (T, 3, H)
    # The mean over each text's tokens, then from the batch's order to a, b, a, b, ...
    # (2n, 3, H)
    means = torch.segment_reduce(blocks, "mean", lengths=borders.diff(), axis=0)[places]
    first, second = means[0::2], means[1::2]  # (n, 3, H) each
    # Of |x - y| and x * y the mean of both directions: it does not matter which text is first.
    both = (first + second)[:, 1:] / 2  # (n, 2, H)
    return torch.cat([first[:, :1], second[:, :1], both], dim=1)


# What an index of token states would hold, and how its texts are compared.


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
    """Return what `matched` makes of the token states of n pairs, (n, 4, H) float32."""
    blocks = []
    for start in range(0, len(first), PAIRS):
        both = zip(first[start : start + PAIRS], second[start : start + PAIRS], strict=True)
        texts = [torch.from_numpy(text) for pair in both for text in pair]  # a, b, a, b, ...
        borders = torch.tensor([0, *(len(text) for text in texts)]).cumsum(0)
        blocks.append(matched(torch.cat(texts), borders, torch.arange(len(texts))).numpy())
    return np.concatenate(blocks)
