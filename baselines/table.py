"""The baselines that need no training of the encoder, in the order of the results table."""

from collections.abc import Callable
from pathlib import Path

from baselines.embedder import Embed, Embedder, of_encoder
from baselines.isotropy import flowed, whitened
from baselines.words import majority, static_file, tfidf, word_embeddings, word_overlap
from minbert.encoder import SentenceEncoder

# SimCSE's table of poolings (Gao et al. 2021, section 6.3): pooling -> the words of the row.
POOLED = {
    "cls_before_pooler": "[CLS]",
    "avg": "mean",
    "avg_first_last": "first-last",
    "avg_top2": "top-2",
}


def baselines(
    encoder: SentenceEncoder,
    name: str,
    glove: Path | None = None,
    reading: Callable[[SentenceEncoder], Embed] | None = None,
) -> list[Embedder]:
    """Return the baselines without training of the encoder, in table order; it is not changed.

    Args:
        name: of the encoder, the first word of its rows.
        glove: a file of static vectors in GloVe's text format, if there is one.
        reading: as for `of_encoder`.
    """
    rows = [majority(), word_overlap(), tfidf()]
    if glove is not None:
        rows.append(static_file(glove, f"{glove.stem}, mean"))
    rows.append(word_embeddings(encoder, f"{name}, word embeddings"))
    pooled = {
        key: of_encoder(encoder, f"{name}, {words}", key, reading) for key, words in POOLED.items()
    }
    # Both papers, and SimCSE's table 5, start from the first and the last layer.
    base = pooled["avg_first_last"]
    size = reduced_size(encoder.embedding_size)
    return [*rows, *pooled.values(), flowed(base), whitened(base), whitened(base, size)]


def reduced_size(hidden_size: int) -> int:
    """Return the number of dimensions after whitening: 256, as for bert-base in the paper.

    Small encoders, for which this is hardly a reduction, keep half of their dimensions.
    """
    return min(256, hidden_size // 2)
