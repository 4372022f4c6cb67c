"""What tuning did to an encoder: its drift from where it came from, and what it still predicts.

Legend: N texts, H hidden_size, V vocab_size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from evaluation.geometry import linear_cka, weight_drift
from minbert.encoder import SentenceEncoder
from minbert.mlm import BertForMaskedLM, mask_tokens, masked_loss
from minbert.packing import batches_by_tokens
from minbert.pooling import mean_of_tokens


@dataclass(frozen=True)
class Drift:
    """How far an encoder is from the one that it was tuned from.

    Attributes:
        weights: embeddings, layer 1, ... -> relative change.
        cka: embeddings, layer 1, ... -> likeness of the texts' mean states, 1 for the same.
        perplexity: of masked words, with the prediction head of the untuned encoder.
    """

    weights: dict[str, float]
    cka: dict[str, float]
    perplexity: float


def drift(
    untuned: SentenceEncoder, folder: Path, tuned: SentenceEncoder, texts: Sequence[str]
) -> Drift:
    """Return how far a tuned encoder is from an untuned one on texts that neither was tuned on.

    Args:
        untuned: the encoder.
        folder: its checkpoint, with BERT's prediction head.
        tuned: the other one.
        texts: N.
    """
    states = zip(layer_means(untuned, texts), layer_means(tuned, texts), strict=True)
    likeness = [linear_cka(before, after) for before, after in states]
    before, after = (
        {name: tensor.cpu().numpy() for name, tensor in encoder.model.state_dict().items()}
        for encoder in (untuned, tuned)
    )
    places = ["embeddings", *(f"layer {n}" for n in range(1, len(likeness)))]
    weights = {p: value for p, value in weight_drift(before, after).items() if p in places}
    cka = dict(zip(places, likeness, strict=True))
    return Drift(weights, cka, perplexity(tuned, folder, texts))


def layer_means(encoder: SentenceEncoder, texts: Sequence[str]) -> list[np.ndarray]:
    """Return the texts' mean token states, (N, H): of the embeddings, then of every layer."""
    sequences = encoder.tokenize(texts)
    layers = encoder.model.config.num_hidden_layers + 1
    found = np.empty((layers, len(texts), encoder.model.config.hidden_size), np.float32)
    with encoder.reading(sequences):
        for rows in batches_by_tokens(sequences.lengths, encoder.batch_tokens):
            batch = sequences.pack(rows).to(encoder.device)
            states = encoder.model.packed(batch).hidden_states
            assert states is not None
            for layer, state in enumerate(states):
                found[layer, rows] = mean_of_tokens(state, batch).cpu().numpy()
    return list(found)


def perplexity(encoder: SentenceEncoder, folder: Path, texts: Sequence[str]) -> float:
    """Return exp(mean cross-entropy) of masked words, always with the same masks.

    Args:
        encoder: tuned or not.
        folder: the checkpoint whose prediction head is put on it.
        texts: N.
    """
    model = BertForMaskedLM.around(encoder.model, folder).to(encoder.device).eval()
    sequences, tokenizer = encoder.tokenize(texts), encoder.tokenizer
    drawn = (tokenizer.special_ids, tokenizer.mask_id, encoder.model.config.vocab_size)
    loss, count = 0.0, 0
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(0)
        for rows in batches_by_tokens(sequences.lengths, encoder.batch_tokens):
            batch, labels = mask_tokens(sequences.pack(rows), *drawn)
            positions = (labels != -100).nonzero().squeeze(1)  # (M,)
            batch, wanted = batch.to(encoder.device), labels[positions].to(encoder.device)
            logits = model(batch, positions.to(encoder.device))  # (M, V)
            loss += masked_loss(logits, wanted).item() * len(wanted)
            count += len(wanted)
    return math.exp(min(700.0, loss / max(1, count)))
