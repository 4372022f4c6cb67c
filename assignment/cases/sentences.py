"""Cases of the parts "pooling" and "simcse"."""

from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

POOLINGS = ("cls_before_pooler", "avg", "avg_top2", "avg_first_last")
VIEWS = ("anchors", "positives", "hard_negatives", "fourth")


# ---------------------------------------------------------------------------------------- pooling


def draw_poolings(draw: Any) -> dict[str, Any]:
    """Return the states of five depths of three sequences."""
    lengths, size = draw.sizes(3, 2, 7), draw.size(5, 8)
    shape = (lengths.sum(), size)
    states = {f"states {i}": draw.floats(*shape) for i in range(5)}
    return {"lengths": lengths, "first_lengths": lengths // 2, **states}  # the sequences are pairs


def poolings(given: Any) -> dict[str, Tensor]:
    """The four poolings that need no pooler."""
    output_of = import_module("minbert.model").BertOutput
    pool = import_module("minbert.pooling").pool
    states, batch = tuple(given[f"states {i}"] for i in range(5)), given.batch()
    halves = tuple(state.half() for state in states)
    answers = {name: pool(output_of(states[-1], None, states), batch, name) for name in POOLINGS}
    for name in POOLINGS:
        of_halves = pool(output_of(halves[-1], None, halves), batch, name)
        answers[f"{name} of float16 is float32"] = torch.tensor(of_halves.dtype == torch.float32)
    return answers


def draw_mean_of_tokens(draw: Any) -> dict[str, Any]:
    """Return states of three sequences."""
    lengths = draw.sizes(3, 2, 7)
    states = draw.floats(lengths.sum(), draw.size(5, 8))
    return {"lengths": lengths, "first_lengths": lengths // 2, "states": states}


def mean_of_tokens(given: Any) -> dict[str, Tensor]:
    """Each sequence's mean token."""
    mean_of_tokens = import_module("minbert.pooling").mean_of_tokens
    states, batch = given["states"], given.batch()
    return {
        "means": mean_of_tokens(states, batch),
        **given.gradients(lambda x: mean_of_tokens(x, batch), "states"),
        "means of float16": mean_of_tokens(states.half(), batch),
    }


def draw_segments(draw: Any) -> dict[str, Any]:
    """Return states of three pairs, and where their first texts end."""
    lengths = draw.sizes(3, 7, 11)
    firsts = np.array([draw.size(2, length - 3) for length in lengths])
    firsts[0] = lengths[0] - 2  # far from the middle, so that a cut there shows
    states = draw.floats(lengths.sum(), draw.size(5, 8))
    return {"lengths": lengths, "first_lengths": firsts, "states": states}


def segments(given: Any) -> dict[str, Tensor]:
    """The mean tokens of both texts of each pair."""
    mean_of_segments = import_module("minbert.pooling").mean_of_segments
    batch = given.batch()
    first, second = mean_of_segments(given["states"], batch)
    halves = mean_of_segments(given["states"].half(), batch)
    return {
        "first": first,
        "second": second,
        **given.gradients(lambda x: torch.cat(mean_of_segments(x, batch)), "states"),
        "first of float16": halves[0],
        "second of float16": halves[1],
    }


# ----------------------------------------------------------------------------------------- simcse


def _loss() -> Any:
    return import_module("simcse.loss")


def _loop() -> Any:
    return import_module("assignment.starter.contrastive")


def _views(given: Any) -> dict[str, Tensor]:
    return {name: given[name].clone().requires_grad_() for name in VIEWS if name in given}


def _with_gradients(loss: Tensor, views: dict[str, Tensor]) -> dict[str, Tensor]:
    if loss.requires_grad:
        loss.sum().backward()
    return {"loss": loss} | {
        f"gradient of {name}": torch.zeros(()) if view.grad is None else view.grad
        for name, view in views.items()
    }


def draw_cosines(draw: Any) -> dict[str, Any]:
    """Return two sets of vectors of different numbers and lengths."""
    rows, others = draw.sizes(2, 3, 6)
    size = draw.size(5, 8)
    scale = 1 + np.arange(rows, dtype=np.float32)[:, None]
    return {"left": scale * draw.floats(rows, size), "right": 3 * draw.floats(others, size)}


def cosines(given: Any) -> dict[str, Tensor]:
    """All cosines between two sets of vectors."""
    cosine_matrix = _loss().cosine_matrix
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
    views = _views(given)
    loss = _loss().info_nce(*views.values(), temperature=given.number("temperature"))
    return _with_gradients(loss, views)


def draw_supervised(draw: Any) -> dict[str, Any]:
    """Return three views and, besides the temperature, a logit of the own hard negative."""
    views = draw_unsupervised(draw)
    rows, size = views["anchors"].shape
    logit = draw.size(2, 6) / 4
    return {**views, "hard_negatives": draw.floats(rows, size), "logit": logit}


def supervised(given: Any) -> dict[str, Tensor]:
    """The loss with hard negatives, whose own one has a weight, and its gradients."""
    views = _views(given)
    settings = given.number("temperature"), given.number("logit")
    return _with_gradients(_loss().info_nce(*views.values(), *settings), views)


draw_symmetric = draw_supervised


def symmetric(given: Any) -> dict[str, Tensor]:
    """The symmetric loss, without and with hard negatives."""
    views = _views(given)
    first, second, hard = views.values()
    settings = given.number("temperature"), given.number("logit")
    plain = _loss().nt_xent(first, second, temperature=settings[0])
    loss = _loss().nt_xent(first, second, hard, *settings)
    return {"loss without hard negatives": plain, **_with_gradients(loss, views)}


def draw_in_batch_accuracy(draw: Any) -> dict[str, Any]:
    """Return views of which some anchors are nearest to a wrong candidate."""
    rows, size = draw.size(60, 90), 4
    anchors = draw.floats(rows, size)
    views = {"anchors": anchors}
    # Of each further view some rows are near to their anchors, and it matters which others are.
    for name, scale in zip(VIEWS[1:], (0.4, 0.8, 1.0), strict=True):
        # Lengths do not count: by products, which grow with them, the longest would be nearest.
        lengths = 0.2 + 3 * draw.random.random((rows, 1))
        views[name] = (lengths * (anchors + draw.floats(rows, size, scale=scale))).astype("f4")
    return views


def in_batch_accuracy(given: Any) -> dict[str, Tensor]:
    """The share of anchors that find their positive among those of one, two and three views."""
    views, accuracy = [given[name] for name in VIEWS], _loss().in_batch_accuracy
    of = {"two": 2, "three": 3, "four": 4}
    return {f"of {word} views": accuracy(views[:count]) for word, count in of.items()}


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
    weight = draw.floats(width, size, scale=0.1)  # small ones have large gradients
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
    model = _Model(given).eval()
    views = _loop().unsupervised_views(model, given["batch 0"])
    # Either may have been computed first.
    first, second = sorted(views, key=lambda view: view[0, 0].item())
    # Masks of PyTorch's own differ unless somebody sets its seed in between.
    drawn = _loop().unsupervised_views(nn.Dropout().eval(), torch.ones(100))
    differ = {"views differ by their dropout": torch.tensor(not torch.equal(*drawn))}
    return {"one view": first, "other view": second, **_as_left(model, views), **differ}


def _as_left(model: nn.Module, views: Any) -> dict[str, Tensor]:
    return {
        "the model is left in training mode": torch.tensor(model.training),
        "views have a graph": torch.tensor([view.requires_grad for view in views]),
    }


draw_three_views = draw_steps = draw_embedded = draw_two_views


def three_views(given: Any) -> dict[str, Tensor]:
    """Anchors, positives and hard negatives by a model that was in evaluation mode."""
    supervised_views = _loop().supervised_views
    model, batches = _Model(given).eval(), [given[f"batch {i}"] for i in range(3)]
    views = supervised_views(model, batches)
    answers = {f"view {number}": view for number, view in enumerate(views, start=1)}
    answers |= _as_left(model, views)
    pair = supervised_views(_Model(given).eval(), batches[:2])
    without = {f"view {number} of two": view for number, view in enumerate(pair, start=1)}
    return {**answers, **without}


def steps(given: Any) -> dict[str, Tensor]:
    """The weights after steps of gradient descent on two views, then on three."""
    training_step = _loop().training_step
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
    batches = [given["batch 0"], given["batch 1"][:1], given["batch 2"]]
    embeddings = _loop().embed_all(_Model(given).train(), iter(batches))
    return {"embeddings": embeddings, "has a graph": torch.tensor(embeddings.requires_grad)}
