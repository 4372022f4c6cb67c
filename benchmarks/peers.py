"""The peers, called as their own users call them: sentence-transformers and transformers.

Nothing here is part of the product; this file is what it is compared with.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from logging import ERROR, getLogger
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from runtime.device import autocast

PADDED = dict[str, Tensor]
NOISY = ("sentence_transformers", "optimum", "nncf")  # they advise, where all is as it should be


def quieten() -> None:
    """Keep the peers' progress bars and load reports off the table."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    for name in NOISY:
        getLogger(name).setLevel(ERROR)


def sentence_transformer(
    folder: Path,
    device: torch.device,
    dtype: torch.dtype | None = None,
    backend: str = "torch",
    **model_kwargs: Any,
) -> Any:
    """Return a SentenceTransformer; its own default is PyTorch in float32."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(
        str(folder),
        device=str(device),
        backend=backend,
        model_kwargs=model_kwargs if dtype is None else model_kwargs | {"dtype": dtype},
    )


def cross_encoder(
    folder: Path,
    device: torch.device,
    dtype: torch.dtype | None = None,
    backend: str = "torch",
    **model_kwargs: Any,
) -> Any:
    """Return a CrossEncoder with one logit, read without a sigmoid."""
    from sentence_transformers import CrossEncoder

    return CrossEncoder(
        str(folder),
        num_labels=1,
        device=str(device),
        activation_fn=nn.Identity(),
        backend=backend,
        model_kwargs=model_kwargs if dtype is None else model_kwargs | {"dtype": dtype},
    )


def padded(tokenizer: Any, texts: Sequence[str], max_length: int, device: torch.device) -> PADDED:
    """Return a batch padded to its longest text, as the usual collators do."""
    batch = tokenizer(
        list(texts), padding=True, truncation=True, max_length=max_length, return_tensors="pt"
    )
    return {key: value.to(device) for key, value in batch.items()}


def contrastive_loss(model: nn.Module, views: Sequence[PADDED], temperature: float) -> Tensor:
    """Return SimCSE's loss by a plain loop's means: views joined, padded, [CLS] and pooler."""
    length = max(view["input_ids"].shape[1] for view in views)
    joined = {
        key: torch.cat([nn.functional.pad(v[key], (0, length - v[key].shape[1])) for v in views])
        for key in views[0]
    }
    embeddings = model(**joined).pooler_output.float().chunk(len(views))
    anchors, others = embeddings[0], torch.cat(embeddings[1:])
    anchors, others = (nn.functional.normalize(x, dim=-1) for x in (anchors, others))
    scores = anchors @ others.T / temperature
    return nn.functional.cross_entropy(scores, torch.arange(len(anchors), device=scores.device))


def ranking_loss(model: Any, views: Sequence[PADDED], temperature: float) -> Tensor:
    """Return sentence-transformers' MultipleNegativesRankingLoss, with the same temperature."""
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    loss: Tensor = MultipleNegativesRankingLoss(model, scale=1 / temperature)(list(views), None)
    return loss


def training_step(
    model: nn.Module, loss: Callable[[Any], Tensor], learning_rate: float, dtype: torch.dtype
) -> Callable[[Any], float]:
    """Return a step on a batch, as plain loops have it: autocast, backward, clip, AdamW."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=learning_rate, weight_decay=0.0, fused=True
    )

    def step(batch: Any) -> float:
        model.train()
        with autocast(next(model.parameters()).device, dtype):
            value = loss(batch)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return value.item()

    return step


class ClassroomInputs:
    """A head's inputs as course code computes them: tokenizer and encoder again in every epoch."""

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Any,
        texts: Sequence[Sequence[str]],
        combine: Callable[[Sequence[Tensor]], Tensor],
        device: torch.device,
    ):
        """Wrap a frozen transformers encoder.

        Args:
            model, tokenizer: of transformers.
            texts: one or two lists of N texts.
            combine: mean token states of the one or two texts -> features (B, F).
            device: of the model.
        """
        self.model, self.tokenizer, self.texts = model.eval(), tokenizer, texts
        self.combine, self.device = combine, device

    def __len__(self) -> int:
        return len(self.texts[0])

    def batch(self, rows: np.ndarray) -> Tensor:
        """Return features (B, F) of the examples `rows`."""
        embeddings = []
        for texts in self.texts:
            batch = padded(self.tokenizer, [texts[row] for row in rows], 512, self.device)
            with torch.no_grad():
                states = self.model(**batch).last_hidden_state  # (B, T, H)
            mask = batch["attention_mask"].unsqueeze(-1)  # (B, T, 1)
            embeddings.append((states * mask).sum(1) / mask.sum(1))
        return self.combine(embeddings)

    def batches(self) -> list[np.ndarray]:
        """Return the rows of all examples in batches of 64."""
        return np.array_split(np.arange(len(self)), range(64, len(self), 64))

    def reading(self) -> AbstractContextManager[Any]:
        """Return the context in which predictions are made."""
        return torch.inference_mode()
