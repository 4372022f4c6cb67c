"""Inputs of the part "weights"."""

from assignment.drawing import Arrays, Draw


def renamed(draw: Draw) -> Arrays:
    """Return tensors under the names of old and new checkpoints."""
    size = draw.size(3, 6)
    return {
        "bert.embeddings.LayerNorm.gamma": draw.floats(size),
        "bert.embeddings.LayerNorm.beta": draw.floats(size),
        "embeddings.position_ids": draw.ints(9, size),
        "bert.encoder.layer.0.output.dense.weight": draw.floats(size, size),
        "encoder.layer.1.output.LayerNorm.weight": draw.floats(size),
        "cls.predictions.bias": draw.floats(size),
        "lm_head.layer_norm.weight": draw.floats(size),
    }


def loaded(draw: Draw) -> Arrays:
    """Return the weights of a small module, and one tensor too many."""
    rows, columns = draw.sizes(2, 3, 6)
    return {
        "weight": draw.floats(rows, columns),
        "bias": draw.floats(rows),
        "other.weight": draw.floats(2),
    }


missing = loaded
other_shape = loaded
