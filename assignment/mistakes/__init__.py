"""The library of known mistakes: part -> what is often done wrong there. Feeds: suites."""

from assignment.mistakes import (
    adamw,
    attention,
    embeddings,
    layer,
    metrics,
    pairs,
    pooling,
    sentiment,
    simcse,
    weights,
)
from assignment.mistakes.mistake import Mistake

MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "attention": attention.MISTAKES,
    "layer": layer.MISTAKES,
    "embeddings": embeddings.MISTAKES,
    "pooling": pooling.MISTAKES,
    "weights": weights.MISTAKES,
    "adamw": adamw.MISTAKES,
    "sentiment": sentiment.MISTAKES,
    "simcse": simcse.MISTAKES,
    "pairs": pairs.MISTAKES,
    "metrics": metrics.MISTAKES,
}
