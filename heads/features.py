"""What a head sees of one text, of two texts, or of a joined pair.

Legend: B examples, H hidden_size, u and v the pooled vectors of the two sentences.
Reads: minbert's output. Feeds: inputs.

`concat` is the report's choice and `interaction` ours. A linear map of [u; v] is f(u) + g(v): it
cannot see how u and v interact, which is why the report's single linear layer got stuck at a
Pearson of 0.36. |u-v| and u*v hand the head that interaction (InferSent, Conneau et al. 2017).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from minbert.encoder import SentenceEncoder
from minbert.packing import PackedBatch
from minbert.pooling import mean_of_segments
from minbert.runtime import autocast


def feature_size(hidden_size: int, encoder: str, features: str, num_texts: int) -> int:
    """Return the width of what `bi_features` or `cross_features` returns."""
    if num_texts == 1:
        return hidden_size
    if features == "concat":
        return hidden_size * (2 if encoder == "bi" else 1)
    return hidden_size * (4 if encoder == "bi" else 5)


def bi_features(first: Tensor, second: Tensor | None, features: str) -> Tensor:
    """Combine separately encoded texts.

    Args:
        first: (B, H) pooled vectors u.
        second: (B, H) pooled vectors v, or None for a task with one text.
        features: `concat`: u or [u; v] as they are; `interaction`: u or [u; v; |u-v|; u*v] of
            vectors scaled to unit root mean square.

    Returns:
        (B, H), (B, 2H) or (B, 4H).
    """
    if features == "concat":
        return first if second is None else torch.cat([first, second], dim=-1)
    u = unit_rms(first)
    return u if second is None else _interaction(u, unit_rms(second))


def cross_features(parts: Tensor, features: str) -> Tensor:
    """Combine the parts (B, 3, H) of jointly encoded pairs: [CLS], mean of a, mean of b.

    `concat` is the report's [CLS] alone, (B, H). `interaction` reads all token states:
    [CLS; a; b; |a-b|; a*b], (B, 5H), as the encoder was never tuned to gather a pair in its [CLS].
    """
    cls, first, second = parts.unbind(dim=1)
    if features == "concat":
        return cls
    return torch.cat([unit_rms(cls), _interaction(unit_rms(first), unit_rms(second))], dim=-1)


def embed_pairs(encoder: SentenceEncoder, batch: PackedBatch) -> Tensor:
    """Encode joined pairs; return their parts (B, 3, H), with gradient: [CLS], means of a and b."""
    batch = batch.to(encoder.device)
    with autocast(encoder.device, encoder.dtype):
        states = encoder.model.packed(batch).last_hidden_state  # (total_tokens, H)
    cls = states[batch.cu_seqlens[:-1]].float()
    return torch.stack([cls, *mean_of_segments(states, batch)], dim=1)


def unit_rms(vectors: Tensor) -> Tensor:
    """Scale rows to root mean square 1, so that all four blocks are of one size.

    Encoders differ in the length of their vectors, and contrastive tuning fixes directions only.
    The mean of u*v is then the cosine itself.
    """
    return F.normalize(vectors, dim=-1) * vectors.shape[-1] ** 0.5


def _interaction(u: Tensor, v: Tensor) -> Tensor:
    return torch.cat([u, v, (u - v).abs(), u * v], dim=-1)  # (B, 4H)
