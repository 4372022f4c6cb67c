"""Inputs of the part "simcse"."""

import numpy as np

from assignment.drawing import Arrays, Draw


def cosines(draw: Draw) -> Arrays:
    """Return two sets of vectors of different numbers and lengths."""
    rows, others = draw.sizes(2, 3, 6)
    size = draw.size(5, 8)
    scale = 1 + np.arange(rows, dtype=np.float32)[:, None]
    return {"left": scale * draw.floats(rows, size), "right": 3 * draw.floats(others, size)}


def unsupervised(draw: Draw) -> Arrays:
    """Return two views of a batch, near one another, and a temperature."""
    rows, size = draw.size(4, 6), draw.size(7, 9)
    anchors = draw.floats(rows, size)
    return {
        "anchors": anchors,
        "positives": 2 * (anchors + draw.floats(rows, size, scale=0.8)),
        "temperature": np.array(draw.size(3, 9) / 20),
    }


def supervised(draw: Draw) -> Arrays:
    """Return three views and, besides the temperature, a logit of the own hard negative."""
    views = unsupervised(draw)
    rows, size = views["anchors"].shape
    logit = np.array(draw.size(2, 6) / 4)
    return {**views, "hard_negatives": draw.floats(rows, size), "logit": logit}


def symmetric(draw: Draw) -> Arrays:
    """Return the same for the symmetric loss."""
    return supervised(draw)


def in_batch_accuracy(draw: Draw) -> Arrays:
    """Return views of which some anchors are nearest to a wrong candidate."""
    views = supervised(draw)
    rows, size = views["anchors"].shape
    views["positives"] = views["anchors"] + draw.floats(rows, size, scale=0.1)
    # The first anchor's nearest is another's positive, the second's is its hard negative.
    views["positives"][[0, -1]] = views["positives"][[-1, 0]]
    views["hard_negatives"][1] = views["anchors"][1]
    return views


def two_views(draw: Draw) -> Arrays:
    """Return the weights, masks and batches of a small model."""
    rows, size, width = draw.size(3, 5), draw.size(4, 6), draw.size(7, 9)
    weight = draw.floats(width, size)
    masks = (draw.random.random((12 * rows, size)) < 0.7).astype(np.float32)
    # The first view differs from the second, and from one without dropout.
    masks[0, 0], masks[rows, 0] = 0, 1
    return {
        "weights.weight": weight,
        "masks": masks,
        **{f"batch {i}": draw.floats(rows, size) for i in range(3)},
        "temperature": np.array(draw.size(3, 9) / 20),
    }


three_views = two_views
steps = two_views
embedded = two_views
