"""BERT's encoder (Devlin et al. 2019), also RoBERTa's, one screen per class, on packed batches.

Legend: B sequences, T tokens, H hidden_size, I intermediate_size, N heads, D head size (N*D = H);
total_tokens is the number of real tokens of all sequences of a batch.
Every parameter is named as in the checkpoint (`encoder.layer.0.output.dense.weight`, ...):
the attribute names below *are* the file format.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minbert.activations import OtherIntermediate
from minbert.attention import attention
from minbert.checkpoint import Tensors, load_encoder, read_tensors
from minbert.config import BertConfig
from minbert.folder import CheckpointFolder
from minbert.packing import PackedBatch, pack_padded, positions_after_padding

# Weight decay would shrink embeddings of positions and token types that a corpus never uses.
UNDECAYED = ("position_embeddings", "token_type_embeddings")


class BertOutput(NamedTuple):
    """What the encoder returns; "tokens" is (total_tokens,) packed and (B, T) padded."""

    last_hidden_state: Tensor  # (tokens, H)
    pooler_output: Tensor | None  # (B, H), None for a checkpoint without a pooler
    hidden_states: tuple[Tensor, ...] | None  # embeddings, then every layer: each (tokens, H)


class BertEmbeddings(nn.Module):
    """Sum of word, position and token type embeddings, then layer norm and dropout."""

    def __init__(self, config: BertConfig):
        super().__init__()
        size = config.hidden_size
        # The padding row stays zero; packed batches hold no padding, but checkpoints have the row.
        self.word_embeddings = nn.Embedding(
            config.vocab_size, size, padding_idx=config.pad_token_id
        )
        # In RoBERTa row pad_token_id belongs to padding; it and the rows before it are unused.
        self.position_embeddings = nn.Embedding(
            config.max_position_embeddings,
            size,
            padding_idx=config.pad_token_id if config.first_position else None,
        )
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, size)
        self.LayerNorm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, batch: PackedBatch) -> Tensor:
        # A token's state begins as the sum of three table look-ups: which piece it is, where it
        # stands in its sequence, and whether it is in the first or second sentence of a pair.
        # (total_tokens,) -> (total_tokens, H), three times.
        embeddings = self.word_embeddings(batch.input_ids)
        embeddings = embeddings + self.position_embeddings(self.positions(batch))
        embeddings = embeddings + self.token_type_embeddings(batch.token_type_ids)
        # Attention itself knows no order: without the positions a sentence would be a bag of words.
        return self.dropout(self.LayerNorm(embeddings))  # (total_tokens, H)

    def positions(self, batch: PackedBatch) -> Tensor:
        """Return each token's row of the position table: from 0, or RoBERTa's after padding's."""
        padding_id = self.position_embeddings.padding_idx
        if padding_id is None:
            return batch.position_ids
        return positions_after_padding(batch, padding_id)


class BertSelfAttention(nn.Module):
    """Multi-head self-attention: every token gathers values from the tokens of its own sequence."""

    def __init__(self, config: BertConfig):
        super().__init__()
        # N heads of D numbers each: every head learns its own pattern of attention.
        self.head_shape = (config.num_attention_heads, config.head_size)
        # One matrix (H, H) computes the queries of all heads; keys and values likewise.
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        # On the attention probabilities: some tokens are randomly not attended to.
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, hidden_states: Tensor, batch: PackedBatch) -> Tensor:
        # What a token looks for, what it offers to others, and what it passes on to them,
        # each cut into heads: (total_tokens, H) -> (total_tokens, N, D).
        query = self.query(hidden_states).unflatten(-1, self.head_shape)
        key = self.key(hidden_states).unflatten(-1, self.head_shape)
        value = self.value(hidden_states).unflatten(-1, self.head_shape)
        context = self.attend(query, key, value, batch)  # (total_tokens, N, D)
        # The heads are side by side again; `BertResidual` mixes them with its dense layer.
        return context.flatten(-2)  # (total_tokens, H)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, batch: PackedBatch) -> Tensor:
        """Return softmax(Q K^T / sqrt(D)) V inside each sequence, (total_tokens, N, D)."""
        return attention(query, key, value, batch.lengths, self.dropout)


class BertResidual(nn.Module):
    """The end of both half-layers: project, drop out, add the half-layer's input, normalise."""

    def __init__(self, in_features: int, config: BertConfig):
        super().__init__()
        self.dense = nn.Linear(in_features, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, update: Tensor, residual: Tensor) -> Tensor:
        # (total_tokens, in_features) -> (total_tokens, H). The sum lets a layer begin as a small
        # correction of its input; BERT normalises after it ("post-norm"), later models before.
        return self.LayerNorm(residual + self.dropout(self.dense(update)))


class BertAttention(nn.Module):
    """First half-layer: self-attention with its residual."""

    def __init__(self, config: BertConfig):
        super().__init__()
        # `self.self` is an unfortunate name in Python, but it is the checkpoint's.
        self.self = BertSelfAttention(config)
        self.output = BertResidual(config.hidden_size, config)

    def forward(self, hidden_states: Tensor, batch: PackedBatch) -> Tensor:
        context = self.self(hidden_states, batch)
        return self.output(context, hidden_states)  # (total_tokens, H)


class BertIntermediate(nn.Module):
    """The feed-forward network's wide side: dense, then the exact (erf) GELU."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)

    def forward(self, hidden_states: Tensor) -> Tensor:
        # GELU(x) = x * P(X <= x) for a standard normal X, here by the error function; the usual
        # tanh approximation would give other numbers than those BERT was trained with.
        return F.gelu(self.dense(hidden_states))  # (total_tokens, I)


class BertLayer(nn.Module):
    """Tokens exchange information (attention), then each is processed separately (feed-forward)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.attention = BertAttention(config)
        wide = BertIntermediate if config.hidden_act == "gelu" else OtherIntermediate
        self.intermediate = wide(config)
        self.output = BertResidual(config.intermediate_size, config)

    def forward(self, hidden_states: Tensor, batch: PackedBatch) -> Tensor:
        attended = self.attention(hidden_states, batch)  # (total_tokens, H)
        # H -> I -> H with the residual around both, I = 4 H in every published BERT.
        return self.output(self.intermediate(attended), attended)  # (total_tokens, H)


class BertEncoder(nn.Module):
    """The stack of layers."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.layer = nn.ModuleList(BertLayer(config) for _ in range(config.num_hidden_layers))

    def forward(self, hidden_states: Tensor, batch: PackedBatch) -> list[Tensor]:
        """Return the states before the first layer and after each one, (total_tokens, H) each."""
        # All are kept, since poolings and probes read more than the last one.
        states = [hidden_states]
        for layer in self.layer:
            states.append(layer(states[-1], batch))
        return states


class BertPooler(nn.Module):
    """Dense and tanh on the [CLS] state: BERT's next-sentence pooler, and SimCSE's MLP."""

    def __init__(self, hidden_size: int):
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)

    def forward(self, cls_states: Tensor) -> Tensor:
        # BERT trained it on next-sentence prediction; SimCSE starts from new weights.
        return torch.tanh(self.dense(cls_states))  # (B, H)


class BertModel(nn.Module):
    """The encoder with its embeddings and pooler.

    `packed` is the real forward pass; calling the model takes and returns padded batches.
    """

    def __init__(self, config: BertConfig, add_pooling_layer: bool = True):
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config)
        self.encoder = BertEncoder(config)
        # Checkpoints trained only on masked words have no pooler.
        self.pooler = BertPooler(config.hidden_size) if add_pooling_layer else None
        self.apply(self.init_weights)

    def init_weights(self, module: nn.Module) -> None:
        """Draw matrices from Normal(0, initializer_range), zero biases and padding (BERT, A.2)."""
        # Layer norms keep PyTorch's weights of 1 and biases of 0, which are also BERT's.
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=self.config.initializer_range)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            with torch.no_grad():
                module.weight[module.padding_idx].zero_()

    @classmethod
    def from_pretrained(cls, path_or_name: str | Path, **changes: Any) -> "BertModel":
        """Load a checkpoint from a folder, the local Hugging Face cache, or the hub.

        A checkpoint without a pooler gives a model whose `pooler` is None.

        Args:
            path_or_name: the checkpoint.
            changes: fields of its configuration to override, such as hidden_dropout_prob.

        Raises:
            CheckpointError: not found, damaged, of another architecture, or incomplete.
        """
        folder = CheckpointFolder.find(path_or_name)
        config = replace(folder.bert_config, **changes)
        return cls.from_tensors(config, read_tensors(folder, config), folder)

    @classmethod
    def from_tensors(
        cls, config: BertConfig, tensors: Tensors, folder: CheckpointFolder
    ) -> "BertModel":
        """Build a model from the weights that `read_tensors` returned for a checkpoint's folder."""
        # In float32, whatever type a program has made its default.
        model = cls(config, add_pooling_layer="pooler.dense.weight" in tensors).float()
        load_encoder(model, tensors, folder)
        return model.eval()

    def packed(self, batch: PackedBatch) -> BertOutput:
        """Encode a packed batch; all states are packed too, (total_tokens, H)."""
        # Embeddings, then layer after layer: L + 1 states of (total_tokens, H).
        self.check_length(batch)
        states = self.encoder(self.embeddings(batch), batch)
        # [CLS] is the first token of every sequence: cu_seqlens holds where sequences begin.
        cls_states = states[-1][batch.cu_seqlens[:-1]]  # (B, H)
        pooler_output = None if self.pooler is None else self.pooler(cls_states)
        return BertOutput(states[-1], pooler_output, tuple(states))

    def check_length(self, batch: PackedBatch) -> None:
        """Raise ValueError if a sequence is longer than there are positions."""
        longest = max(batch.lengths)
        if longest > self.config.num_positions:
            raise ValueError(
                f"a sequence of {longest} tokens exceeds this encoder's "
                f"{self.config.num_positions} positions; truncate when tokenizing"
            )

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        output_hidden_states: bool = False,
    ) -> BertOutput:
        """Encode a padded batch, as `transformers`' BertModel does.

        Args:
            input_ids: (B, T) int64.
            attention_mask: (B, T), 1 = real token; all real when absent.
            token_type_ids: (B, T), 1 = second sentence of a pair; all 0 when absent.
            output_hidden_states: return the embeddings and every layer's states as well.

        Returns:
            States of shape (B, T, H), zero at padding; `pooler_output` (B, H).
        """
        # Padding is removed before the first product and restored after the last.
        padding_id = self.embeddings.position_embeddings.padding_idx
        batch, mask = pack_padded(input_ids, attention_mask, token_type_ids, padding_id)
        output = self.packed(batch)
        assert output.hidden_states is not None
        # Only requested states are unpacked: each is a copy of B * T * H numbers.
        states = output.hidden_states if output_hidden_states else output.hidden_states[-1:]
        padded = tuple(_pad(state, mask) for state in states)  # (B, T, H) each
        return BertOutput(
            padded[-1], output.pooler_output, padded if output_hidden_states else None
        )


def _pad(states: Tensor, mask: Tensor) -> Tensor:
    """Put packed states (total_tokens, H) back where mask (B, T) is true: (B, T, H)."""
    # Boolean indexing walks the mask row by row, the order in which `pack_padded` read it.
    padded = states.new_zeros(*mask.shape, states.shape[-1])
    padded[mask] = states
    return padded
