"""Cases of the part "simcse"."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


def _with_gradients(loss: Tensor, views: dict[str, Tensor]) -> dict[str, Tensor]:
    if loss.requires_grad:
        loss.sum().backward()
    return {"loss": loss} | {
        f"gradient of {name}": torch.zeros(()) if view.grad is None else view.grad
        for name, view in views.items()
    }


def _views(given: Any) -> dict[str, Tensor]:
    names = ("anchors", "positives", "hard_negatives")
    return {name: given[name].clone().requires_grad_() for name in names if name in given}


def draw_cosines(draw: Any) -> dict[str, Any]:
    """Return two sets of vectors of different numbers and lengths."""
    rows, others = draw.sizes(2, 3, 6)
    size = draw.size(5, 8)
    scale = 1 + np.arange(rows, dtype=np.float32)[:, None]
    return {"left": scale * draw.floats(rows, size), "right": 3 * draw.floats(others, size)}


def cosines(given: Any) -> dict[str, Tensor]:
    """All cosines between two sets of vectors."""
    from simcse.loss import cosine_matrix

    cosines = cosine_matrix(given["left"], given["right"])
    return {"cosines": cosines, **given.gradients(cosine_matrix, "left", "right")}


def draw_unsupervised(draw: Any) -> dict[str, Any]:
    """Return two views of a batch, near one another, and a temperature."""
    rows, size = draw.size(4, 6), draw.size(7, 9)
    anchors = draw.floats(rows, size)
    return {
        "anchors": anchors,
        "positives": 2 * (anchors + draw.floats(rows, size, scale=0.8)),
        "temperature": draw.size(3, 9) / 20,
    }


def unsupervised(given: Any) -> dict[str, Tensor]:
    """The loss of two views, and its gradients."""
    from simcse.loss import info_nce

    views = _views(given)
    first, second = views.values()
    loss = info_nce(first, second, temperature=given.number("temperature"))
    return _with_gradients(loss, views)


def draw_supervised(draw: Any) -> dict[str, Any]:
    """Return three views and, besides the temperature, a logit of the own hard negative."""
    views = draw_unsupervised(draw)
    rows, size = views["anchors"].shape
    logit = draw.size(2, 6) / 4
    return {**views, "hard_negatives": draw.floats(rows, size), "logit": logit}


def supervised(given: Any) -> dict[str, Tensor]:
    """The loss with hard negatives, whose own one has a weight, and its gradients."""
    from simcse.loss import info_nce

    views = _views(given)
    first, second, hard = views.values()
    loss = info_nce(first, second, hard, given.number("temperature"), given.number("logit"))
    return _with_gradients(loss, views)


draw_symmetric = draw_supervised


def symmetric(given: Any) -> dict[str, Tensor]:
    """The symmetric loss, without and with hard negatives."""
    from simcse.loss import nt_xent

    views = _views(given)
    first, second, hard = views.values()
    plain = nt_xent(first, second, temperature=given.number("temperature"))
    loss = nt_xent(first, second, hard, given.number("temperature"), given.number("logit"))
    return {"loss without hard negatives": plain, **_with_gradients(loss, views)}


def draw_in_batch_accuracy(draw: Any) -> dict[str, Any]:
    """Return views of which some anchors are nearest to a wrong candidate."""
    rows, size = draw.size(60, 90), 4
    anchors = draw.floats(rows, size)
    views = {"anchors": anchors}
    # Of each further view some rows are near to their anchors, and it matters which others are.
    for name, scale in (("positives", 0.4), ("hard_negatives", 0.8), ("fourth", 1.0)):
        # Lengths do not count: by products, which grow with them, the longest would be nearest.
        lengths = 0.2 + 3 * draw.random.random((rows, 1))
        views[name] = (lengths * (anchors + draw.floats(rows, size, scale=scale))).astype("f4")
    return views


def in_batch_accuracy(given: Any) -> dict[str, Tensor]:
    """The share of anchors that find their positive among those of one, two and three views."""
    from simcse.loss import in_batch_accuracy

    views = [given[name] for name in ("anchors", "positives", "hard_negatives", "fourth")]
    of = {"two": 2, "three": 3, "four": 4}
    return {f"of {word} views": in_batch_accuracy(views[:count]) for word, count in of.items()}


class _Model(nn.Module):
    """A dense layer under dropout: a row has its own masks, the next one whenever it comes again.

    So it does not matter in which order, and in how many batches, rows pass.
    """

    def __init__(self, given: Any):
        super().__init__()
        self.weight = nn.Parameter(given["weights.weight"].clone())
        self.masks = given["masks"]  # (12 B, size) for the 3 B rows
        self.rows = torch.cat([given[f"batch {number}"] for number in range(3)])
        self.passes = [0] * len(self.rows)

    def forward(self, batch: Tensor) -> Tensor:
        if self.training:
            batch = torch.stack([row * self._mask(row) for row in batch])
        return batch @ self.weight.T

    def _mask(self, row: Tensor) -> Tensor:
        number = int((self.rows == row).all(dim=1).long().argmax())
        self.passes[number] += 1
        return self.masks[(number + len(self.rows) * self.passes[number]) % len(self.masks)]


def draw_two_views(draw: Any) -> dict[str, Any]:
    """Return the weights, masks and batches of a small model."""
    rows, size, width = draw.size(3, 5), draw.size(4, 6), draw.size(7, 9)
    weight = draw.floats(width, size)
    masks = (draw.random.random((12 * rows, size)) < 0.7).astype(np.float32)
    # The first view differs from the second, and from one without dropout.
    masks[3 * rows, 0], masks[6 * rows, 0] = 0, 1
    return {
        "weights.weight": weight,
        "masks": masks,
        **{f"batch {i}": draw.floats(rows, size) for i in range(3)},
        "temperature": draw.size(3, 9) / 20,
    }


def two_views(given: Any) -> dict[str, Tensor]:
    """Two views of one batch by a model with dropout that was in evaluation mode."""
    from assignment.starter.contrastive import unsupervised_views

    model = _Model(given).eval()
    views = unsupervised_views(model, given["batch 0"])
    # Either may have been computed first.
    first, second = sorted(views, key=lambda view: view[0, 0].item())
    return {"one view": first, "other view": second, **_as_left(model, views)}


def _as_left(model: nn.Module, views: Any) -> dict[str, Tensor]:
    return {
        "the model is left in training mode": torch.tensor(model.training),
        "views have a graph": torch.tensor([view.requires_grad for view in views]),
    }


draw_three_views = draw_steps = draw_embedded = draw_two_views


def three_views(given: Any) -> dict[str, Tensor]:
    """Anchors, positives and hard negatives by a model that was in evaluation mode."""
    from assignment.starter.contrastive import supervised_views

    model, batches = _Model(given).eval(), [given[f"batch {i}"] for i in range(3)]
    views = supervised_views(model, batches)
    answers = {f"view {number}": view for number, view in enumerate(views, start=1)}
    answers |= _as_left(model, views)
    pair = supervised_views(_Model(given).eval(), batches[:2])
    without = {f"view {number} of two": view for number, view in enumerate(pair, start=1)}
    return {**answers, **without}


def steps(given: Any) -> dict[str, Tensor]:
    """The weights after steps of gradient descent on two views, then on three."""
    from assignment.starter.contrastive import training_step

    model = _Model(given).eval()
    model.weight.grad = torch.ones_like(model.weight)  # of an older step
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    answers: dict[str, Tensor] = {}
    for number, count in enumerate((2, 2, 3), start=1):
        views = [model(given[f"batch {i}"]) for i in range(count)]
        loss = training_step(optimizer, views, given.number("temperature"))
        answers[f"loss {number}"] = torch.as_tensor(loss).detach()
        answers[f"loss {number} is a float"] = torch.tensor(isinstance(loss, float))
        answers[f"weights after step {number}"] = model.weight.detach().clone()
    return answers


def embedded(given: Any) -> dict[str, Tensor]:
    """The embeddings of three batches by a model that was in training mode."""
    from assignment.starter.contrastive import embed_all

    batches = [given["batch 0"], given["batch 1"][:1], given["batch 2"]]
    embeddings = embed_all(_Model(given).train(), iter(batches))
    return {"embeddings": embeddings, "has a graph": torch.tensor(embeddings.requires_grad)}


# Case -> an easier one of the same function, and what that does without.
BEYOND = {
    "supervised": ("unsupervised", "hard negatives"),
}
