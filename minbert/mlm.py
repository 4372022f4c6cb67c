"""Masked-language modelling: the masking, and BERT's prediction head (Devlin et al. 2019, 3.1).

Legend: H hidden_size, V vocab_size, M masked positions.
"""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minbert.activations import ACTIVATIONS
from minbert.checkpoint import HEAD, Tensors, load_module, read_tensors, tensors_digest
from minbert.config import BertConfig, CheckpointError
from minbert.folder import CheckpointFolder
from minbert.model import BertModel
from minbert.packing import PackedBatch

logger = logging.getLogger(__name__)


class BertPredictionTransform(nn.Module):
    """Dense, GELU and layer norm before the vocabulary."""

    def __init__(self, config: BertConfig):
        super().__init__()
        # (M, H) -> (M, H): from "what stands here" to "what is missing here".
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        # RoBERTa's head has GELU whatever its encoder has.
        self.activation = ACTIVATIONS[config.hidden_act if config.model_type == "bert" else "gelu"]

    def forward(self, hidden_states: Tensor) -> Tensor:
        return self.LayerNorm(self.activation(self.dense(hidden_states)))


class BertMLMHead(nn.Module):
    """Logits over the vocabulary; the output matrix *is* the word embedding matrix.

    Named as the checkpoint's `cls.predictions`.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        # No separate matrix (V, H): the word embeddings are also the output weights.
        self.transform = BertPredictionTransform(config)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, hidden_states: Tensor, word_embeddings: Tensor) -> Tensor:
        """Return logits.

        Args:
            hidden_states: (M, H), usually of the masked positions only.
            word_embeddings: (V, H).
        """
        # (M, H) x (H, V) -> (M, V): how well each piece's embedding matches the state.
        return F.linear(self.transform(hidden_states), word_embeddings, self.bias)


class BertForMaskedLM(nn.Module):
    """An encoder with its prediction head."""

    def __init__(self, bert: BertModel):
        super().__init__()
        # The head uses BERT's word embeddings, so both are trained together.
        self.bert = bert
        self.head = BertMLMHead(bert.config)
        self.head.apply(bert.init_weights)

    @classmethod
    def from_pretrained(
        cls, path_or_name: str | Path | CheckpointFolder, **changes: Any
    ) -> "BertForMaskedLM":
        """Load encoder and prediction head from a checkpoint; arguments as for BertModel.

        Raises:
            CheckpointError: as for BertModel.from_pretrained; also if there is no prediction head,
                or one with a separate output matrix.
        """
        folder = CheckpointFolder.find(path_or_name)
        config = replace(folder.bert_config, **changes)
        tensors = read_tensors(folder, config)
        model = cls(BertModel.from_tensors(config, tensors, folder))
        load_module(model.head, _head_tensors(tensors, folder), folder.path)
        return model.eval()

    @classmethod
    def around(
        cls, bert: BertModel, source: Path | None, required: bool = False
    ) -> "BertForMaskedLM":
        """Put a prediction head on an encoder: the one in folder `source`, or a fresh one.

        Raises:
            CheckpointError: the folder has none, and one is required.
        """
        model = cls(bert)
        if source and (tensors := _head_of(source)):
            load_module(model.head, tensors, source)
        elif required:
            raise CheckpointError(
                f"{source}: has no masked-language-model head; name a --backbone that has "
                "one, such as mini or bert-base-uncased"
            )
        else:
            # Sentence encoders are published without it; then it must be learnt during training.
            logger.warning("%s: no masked-language-model head; it starts untrained", source)
        # The encoder may be on a GPU already.
        model.head.to(bert.embeddings.word_embeddings.weight.device)
        return model

    def forward(self, batch: PackedBatch, positions: Tensor) -> Tensor:
        """Return logits (M, V) at `positions` (M,) of the packed batch."""
        # (total_tokens,) tokens in, (M, H) states out, (M, V) logits.
        states = states_at(self.bert, batch, positions)
        return self.head(states, self.bert.embeddings.word_embeddings.weight)

    def loss(self, batch: PackedBatch, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy where the labels (total_tokens,) are not -100."""
        # -100 marks what is not predicted, PyTorch's convention for cross-entropy.
        positions = (labels != -100).nonzero().squeeze(1)  # (M,)
        return masked_loss(self(batch, positions), labels[positions])


def states_at(bert: BertModel, batch: PackedBatch, positions: Tensor) -> Tensor:
    """Return the last states (M, H) at `positions` (M,) of a packed batch, computing no others.

    Six of seven tokens are not masked, and their last states are not needed.
    """
    # The layers need them all: (total_tokens, H).
    bert.check_length(batch)
    return last_states_at(bert, bert.embeddings(batch), batch, positions)


def last_states_at(
    bert: BertModel, states: Tensor, batch: PackedBatch, positions: Tensor
) -> Tensor:
    """Return the last states (M, H) at `positions` from the embedded tokens (total_tokens, H)."""
    layers: list[Any] = list(bert.encoder.layer)
    for layer in layers[:-1]:
        states = layer(states, batch)  # (total_tokens, H)
    last = layers[-1]
    # Attention needs the keys and values of all tokens; the rest works on each separately.
    context = last.attention.self(states, batch)[positions]  # (M, H)
    # The residuals are taken at the same positions.
    attended = last.attention.output(context, states[positions])  # (M, H)
    states = last.output(last.intermediate(attended), attended)
    return states  # (M, H)


def masked_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy of logits (M, V) and labels (M,) in float32, 0 if M is 0."""
    # Summed and divided by hand: the mean of no labels would be 0 / 0.
    return F.cross_entropy(logits.float(), labels, reduction="sum") / max(1, len(labels))


def head_digest(folder: Path) -> str:
    """Return a SHA-256 of the prediction head in a checkpoint, defined even if there is none."""
    return tensors_digest(_head_of(folder))


def _head_of(path: Path) -> Tensors:
    folder = CheckpointFolder(path)
    return _head_tensors(read_tensors(folder), folder)


def _head_tensors(checkpoint: Tensors, folder: CheckpointFolder) -> Tensors:
    """Return the tensors of the prediction head among a checkpoint's, {} if there is none."""
    tensors = {
        key.removeprefix(HEAD): tensor for key, tensor in checkpoint.items() if key.startswith(HEAD)
    }
    # Newer releases of transformers store the bias twice, older ones once, under this name.
    if "decoder.bias" in tensors:
        tensors.setdefault("bias", tensors["decoder.bias"])
    if tensors and folder.config.get("tie_word_embeddings") is False:
        raise CheckpointError(
            f"{folder}/config.json: tie_word_embeddings is false; a prediction head with a "
            "separate output matrix is not supported; it must share the word embeddings"
        )
    return tensors


def mask_tokens(
    batch: PackedBatch,
    special_ids: tuple[int, ...],
    mask_id: int,
    vocab_size: int,
    probability: float = 0.15,
) -> tuple[PackedBatch, Tensor]:
    """Choose tokens to predict: 80% of them become [MASK], 10% a random piece, 10% stay.

    Devlin et al. 2019, section A.1. Random numbers come from torch's global generator on the host.

    Returns:
        The batch with masked input_ids, and labels (total_tokens,): the original id, or -100.
    """
    input_ids = batch.input_ids  # (total_tokens,)
    # Which tokens to predict; [CLS], [SEP] and [PAD] never.
    special = torch.isin(input_ids, torch.tensor(special_ids))
    # Every token is drawn independently: 15% is the mean, not the share in each sentence.
    chosen = (torch.rand(input_ids.shape) < probability) & ~special
    labels = torch.where(chosen, input_ids, -100)
    # What the encoder sees there: below 0.8 [MASK], from 0.9 on a random piece, else the token
    # itself, so that it must represent every token well and not only [MASK].
    action = torch.rand(input_ids.shape)
    masked = torch.where(chosen & (action < 0.8), mask_id, input_ids)
    pieces = torch.randint(vocab_size, input_ids.shape)
    masked = torch.where(chosen & (action >= 0.9), pieces, masked)
    return replace(batch, input_ids=masked), labels
