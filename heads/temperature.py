"""Calibrated probabilities: one temperature for each head (Guo et al. 2017, section 4.2).

A head that trains on its rows several times is surer of itself than it is right. Its logits are
divided by a temperature, fitted on the held-out rows that chose its epochs. That changes no
prediction, and the division is part of the last layer, so that exports are calibrated too.

Legend: N rows, M held-out rows, C classes.
"""

from dataclasses import replace

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from torch import nn

from heads.choice import Chosen
from heads.train import FittedHead, soft_of

FEWEST = 500  # held-out rows; with 200 the log loss of new rows rose more often than it fell
LIMITS = 0.25, 10.0


def temperature_of(soft: np.ndarray, labels: np.ndarray) -> float:
    """Return the temperature with the smallest mean negative log-likelihood.

    Args:
        soft: probabilities (M, C) of the classes, or (M,) of the positive one of two.
        labels: (M,).
    """
    shares = np.stack([1 - soft, soft], axis=1) if soft.ndim == 1 else soft
    logits, rows = np.log(shares.clip(1e-12)), np.arange(len(labels))  # up to a constant per row

    def loss(log_temperature: float) -> float:
        likelihoods = log_softmax(logits / np.exp(log_temperature), axis=1)
        return -float(likelihoods[rows, labels.astype(int)].mean())

    found = minimize_scalar(loss, bounds=np.log(LIMITS), method="bounded")
    return float(np.exp(found.x))


def calibrated(fitted: FittedHead, chosen: Chosen) -> tuple[FittedHead, Chosen]:
    """Return a head that predicts classes with calibrated probabilities, also those held out.

    With fewer than FEWEST held-out rows both stay as they are.

    Args:
        fitted: the head, whose last layer is changed.
        chosen: the held-out rows and their probabilities.
    """
    if len(chosen.held_out) < FEWEST:
        return fitted, chosen
    labels = np.array([example.label for example in chosen.held_out])
    temperature = temperature_of(chosen.soft, labels)
    last = fitted.head.layers[-1]
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        last.weight.div_(temperature)
        last.bias.div_(temperature)
    logits = {split: values / temperature for split, values in fitted.logits.items()}
    soft = {split: soft_of(fitted.head, values) for split, values in logits.items()}
    held_out = soft_of(fitted.head, _logits(chosen.soft) / temperature)
    return replace(fitted, logits=logits, soft=soft), replace(chosen, soft=held_out)


def _logits(soft: np.ndarray) -> np.ndarray:
    """Return logits with these probabilities, (M, C) or (M,)."""
    kept = soft.clip(1e-12, 1 - 1e-12)
    return np.log(kept) - np.log1p(-kept) if soft.ndim == 1 else np.log(kept)
