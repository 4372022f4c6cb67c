"""One temperature per head: the best of a fine grid, the same predictions, less confidence."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss

from data.examples import SentencePair
from data.tasks import OWN
from heads.choice import Choice, Chosen
from heads.heads import build_head
from heads.temperature import LIMITS, calibrated, temperature_of
from heads.train import FittedHead, predicted, soft_of

DRAW = np.random.default_rng(0)


def too_sure(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities whose logits are three times too large, and labels, of 500 rows."""
    logits = DRAW.normal(0, 1.5, (500, classes))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([DRAW.choice(classes, p=share) for share in shares])
    sure = np.exp(3 * logits) / np.exp(3 * logits).sum(axis=1, keepdims=True)
    return (sure[:, 1] if classes == 2 else sure), labels


@pytest.mark.parametrize("classes", [2, 4])
def test_the_temperature_has_the_smallest_log_loss(classes):
    soft, labels = too_sure(classes)
    found = temperature_of(soft, labels)
    assert found == pytest.approx(3, rel=0.3)
    logits = np.log(soft / (1 - soft)) if classes == 2 else np.log(soft)

    def loss(temperature: float) -> float:
        if classes == 2:
            return log_loss(labels, 1 / (1 + np.exp(-logits / temperature)))
        powers = np.exp(logits / temperature)
        return log_loss(labels, powers / powers.sum(axis=1, keepdims=True))

    grid = np.linspace(1, 6, 501)
    assert found == pytest.approx(grid[np.argmin([loss(one) for one in grid])], abs=0.02)


def test_rows_that_are_all_right_have_the_lowest_temperature():
    assert temperature_of(np.array([0.9, 0.2]), np.array([1, 0])) == pytest.approx(LIMITS[0], 0.01)


@pytest.mark.parametrize("task", ["paraphrase", "classes"])
def test_no_prediction_changes_and_the_saved_layer_is_calibrated(task):
    torch.manual_seed(0)
    head = build_head(OWN[task], "bi", 8).eval()
    features = torch.randn(50, head.layers[0].in_features)
    before = head(features).detach().numpy()
    soft, labels = too_sure(2 if task == "paraphrase" else head.num_outputs)
    held_out = [SentencePair(str(n), "a", "b", float(label)) for n, label in enumerate(labels)]
    chosen = Chosen(Choice(0.0, 1, None, [], 1, len(labels), 0.0), held_out, soft)
    of_test = {"test": before}
    fitted = FittedHead(head, of_test, {"test": predicted(head, before)}, {}, {}, [], 1, 0.0, {})
    after, choice = calibrated(fitted, chosen)
    temperature = temperature_of(soft, labels)
    assert np.allclose(after.logits["test"], before / temperature, atol=1e-6)
    assert np.allclose(head(features).detach().numpy(), after.logits["test"], atol=1e-5)
    assert (predicted(head, after.logits["test"]) == fitted.predictions["test"]).all()
    assert np.allclose(after.soft["test"], soft_of(head, after.logits["test"]))
    assert temperature_of(choice.soft, labels) == pytest.approx(1, abs=0.01)
    few = replace(chosen, held_out=held_out[:-1])
    assert calibrated(fitted, few) == (fitted, few)
