"""SentenceEncoder: texts in, one embedding per text out. Reads: all of minbert. Feeds: all stages.

Legend: N texts, B sequences of a batch, H hidden_size.
"""

import copy
import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from minbert.checkpoint import tensors_digest, whole_checkpoint, write_tensors
from minbert.config import POOLINGS, CheckpointError
from minbert.fast.first_tokens import first_token_embeddings, first_tokens_suffice
from minbert.fast.int8 import Int8
from minbert.fast.linear import kept_weights
from minbert.fast.side_by_side import batches_at_once, batches_for_cores, embed_batches
from minbert.fast.switch import accelerate
from minbert.hub import find_checkpoint
from minbert.model import BertModel
from minbert.packing import PackedBatch, TokenSequences
from minbert.pooling import choose_pooling, pool
from minbert.sentence_calls import SentenceCalls
from minbert.sentence_format import load_dense, read_pooling, write_modules
from minbert.tokenizer import BertTokenizer
from runtime.device import (
    RELEASE_STEPS,
    autocast,
    choose_device,
    choose_precision,
    keep_memory,
    release_memory,
)
from runtime.errors import UserError
from runtime.processes import share, sum_over_ranks
from runtime.progress import progress

logger = logging.getLogger(__name__)

# Tokens per forward pass when encoding: chosen by measurement on two cores (docs/performance.md);
# on a GPU enough that computing takes longer than launching (an estimate, not measured).
BATCH_TOKENS, GPU_BATCH_TOKENS = 4096, 65536
# From this many tokens on, `kept_weights` saves more time than its checks cost (same page).
KEEP_FROM = 1024


class SentenceEncoder(SentenceCalls):
    """A BertModel with its tokenizer and pooling, on a device, in a precision.

    From here on the model computes in its fast forms (`minbert.fast`).

    Attributes:
        model, tokenizer: the two halves of the checkpoint.
        pooling: one of `minbert.config.POOLINGS`.
        stated_pooling: the pooling that the checkpoint states, or None.
        normalize: whether `encode` scales to unit length (as the checkpoint says).
        max_length: longest input in tokens; longer texts are cut.
        batch_tokens: tokens of a forward pass when encoding.
        int8: the weights that encode in int8, None in another precision.
    """

    def __init__(
        self,
        model: BertModel,
        tokenizer: BertTokenizer,
        pooling: str = "cls_before_pooler",
        device: str = "auto",
        precision: str = "auto",
        normalize: bool = False,
    ):
        if tokenizer.vocab_size > model.config.vocab_size:
            raise CheckpointError(
                f"the tokenizer has {tokenizer.vocab_size} pieces, the model "
                f"{model.config.vocab_size}; they are not of one checkpoint"
            )
        self.device = choose_device(device)
        self.int8 = Int8.on(self.device) if precision == "int8" else None
        # In int8 are only products that need no gradient.
        self.dtype = choose_precision("auto" if self.int8 else precision, self.device)
        self.model = accelerate(model).to(self.device).eval()
        self.tokenizer = tokenizer
        self.pool_by(pooling)
        self.stated_pooling: str | None = None
        self.normalize = normalize
        self.max_length = model.config.num_positions
        self.batch_tokens = GPU_BATCH_TOKENS if self.device.type == "cuda" else BATCH_TOKENS

    @classmethod
    def from_pretrained(
        cls,
        path_or_name: str,
        pooling: str | None = None,
        device: str = "auto",
        precision: str = "auto",
        tuning: bool = False,
    ) -> "SentenceEncoder":
        """Load a checkpoint from a folder, the local Hugging Face cache, or the hub.

        Args:
            path_or_name: e.g. `bert-base-uncased`.
            pooling: None uses the pooling that the checkpoint states (as a sentence-transformers
                folder does), else the raw [CLS] state. Another than the stated one is warned of.
            device: `auto`, `cpu` or `cuda`.
            precision: `auto`, `float32`, `bfloat16`, or `int8` to encode on a CPU.
            tuning: the encoder is about to be tuned, which adds the pooler that `pooling` may need;
                until then a chosen pooling leaves it with the raw [CLS] state.

        Raises:
            CheckpointError: not found, damaged, or not a BERT encoder.
        """
        folder = find_checkpoint(path_or_name)
        stated = read_pooling(folder, pooling)
        if pooling and stated.pooling and pooling != stated.pooling:
            logger.warning(
                "%s: states the pooling %s; %s is used, as asked", folder, stated.pooling, pooling
            )
        now = "cls_before_pooler" if pooling and tuning else pooling
        encoder = cls(
            BertModel.from_pretrained(str(folder)),
            BertTokenizer.from_pretrained(folder),
            choose_pooling(now, stated.pooling),
            device,
            precision,
            stated.normalize,
        )
        load_dense(folder, encoder.model)
        encoder.stated_pooling = stated.pooling
        # As sentence-transformers does: its own settings first, then the tokenizer's.
        length = stated.max_length or encoder.tokenizer.stated_length
        encoder.max_length = min(encoder.max_length, length or encoder.max_length)
        return encoder

    def pool_by(self, pooling: str) -> None:
        """Change the pooling from now on.

        Raises:
            ValueError: an unknown pooling.
            CheckpointError: `cls` for a model without a pooler.
        """
        if pooling not in POOLINGS:
            raise ValueError(f"unknown pooling {pooling!r}; expected one of {', '.join(POOLINGS)}")
        if pooling == "cls" and self.model.pooler is None:
            raise CheckpointError("pooling 'cls' needs a pooler, which this checkpoint lacks")
        self.pooling = pooling

    def tokenize(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None = None,
        max_length: int | None = None,
    ) -> TokenSequences:
        """Tokenize texts or pairs, cut to `max_length` tokens (the encoder's own when None).

        Raises:
            CheckpointError: pairs for a model with one segment only.
            UserError: no texts, or a length that the model has no positions for.
        """
        length = self.max_length if max_length is None else max_length
        positions = self.model.config.num_positions
        if not isinstance(length, int | np.integer) or not 3 <= length <= positions:
            raise UserError(
                f"max_length is {length!r}; expected an integer from 3 to {positions}, the number "
                "of this encoder's positions"
            )
        if (
            text_pairs is not None
            and self.model.config.type_vocab_size <= self.tokenizer.second_type
        ):
            raise CheckpointError("this backbone has one segment only and cannot read pairs")
        return self.tokenizer(texts, text_pairs, int(length))

    def embed(self, batch: PackedBatch) -> Tensor:
        """Return pooled float32 embeddings (B, H) in the current mode, with gradient, unscaled."""
        batch = batch.to(self.device)
        with autocast(self.device, self.dtype):
            if first_tokens_suffice(self.model, batch, self.pooling):
                return first_token_embeddings(self.model, batch, self.pooling)
            output = self.model.packed(batch)
        return pool(output, batch, self.pooling)

    @contextmanager
    def reading(self, sequences: TokenSequences) -> Iterator[None]:
        """Put the model into evaluation mode and switch gradients off, both for the block.

        If `sequences`, which the block will read, are long enough, products use kept weights
        (`minbert.fast.linear`): nothing may write to the model's weights inside the block.
        """
        if self.device.type == "cpu":
            keep_memory()
        modes = [(module, module.training) for module in self.model.modules()]
        self.model.eval()
        if self.int8:
            kept = self.int8.kept(self.model, self.tokenizer, self.dtype)
        else:
            lasting = len(sequences.ids) >= KEEP_FROM
            kept = kept_weights(self.model, self.device, self.dtype, lasting)
        try:
            with torch.inference_mode(), kept:
                yield
        finally:
            # Parents come first, so that a part in another mode than its parent gets it back.
            for module, training in modes:
                if module.training != training:
                    module.train(training)

    def encode_texts(
        self, texts: Sequence[str], batch_tokens: int, show_progress: bool | None
    ) -> np.ndarray:
        """Encode texts in evaluation mode, each distinct text once; `encode` is how to ask for it.

        Args:
            texts: N texts.
            batch_tokens: real tokens in one forward pass.
            show_progress: None shows a bar where stderr is a terminal.

        Returns:
            float32 array (N, H); rows of unit length if the checkpoint says so.
        """
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        sequences = self.tokenize(list(distinct))
        embeddings = np.zeros((len(distinct), self.model.config.hidden_size), np.float32)
        at_once = batches_at_once(self.device, self.model.config.hidden_size)
        batches = share(batches_for_cores(sequences.lengths, batch_tokens, at_once))
        with (
            self.reading(sequences),
            progress("encode", len(distinct), "text", show_progress) as bar,
        ):
            found = embed_batches(sequences, batches, self.embed, at_once)
            for step, (rows, part) in enumerate(found, start=1):
                embeddings[rows] = part
                bar.update(len(rows))
                # Counted from the end, so that nothing stays behind; small calls need none.
                if len(batches) >= RELEASE_STEPS and (len(batches) - step) % RELEASE_STEPS == 0:
                    release_memory()
        # Each process has filled its own rows; those of the others are zeros so far.
        sum_over_ranks(torch.from_numpy(embeddings))
        if self.normalize:
            embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True).clip(1e-12)
        if len(distinct) == len(texts):
            return embeddings  # a copy would double the memory of a million sentences
        return embeddings[[distinct[text] for text in texts]]

    def encode_quietly(self, texts: Sequence[str]) -> np.ndarray:
        """Return `encode(texts)` without a progress bar, for use inside other loops."""
        return np.asarray(self.encode(texts, show_progress=False))

    def freeze(self) -> "SentenceEncoder":
        """Put the model into evaluation mode and stop all its gradients; return self."""
        self.model.eval().requires_grad_(False)
        return self

    def clone(self) -> "SentenceEncoder":
        """Return a copy with its own trainable weights, even if this encoder is frozen."""
        twin = copy.deepcopy(self)
        twin.model.requires_grad_(True)
        return twin

    def save(self, path: str | Path, notes: dict[str, Any] | None = None) -> None:
        """Write a checkpoint that transformers and sentence-transformers load unchanged.

        The folder appears whole or not at all, and replaces an older one.

        Args:
            path: the folder.
            notes: how the weights were made; saved beside them as `training.json`.
        """
        with whole_checkpoint(Path(path)) as folder:
            config: dict[str, Any] = self.model.config.to_dict()
            if self.pooling in ("avg_top2", "avg_first_last"):
                config["output_hidden_states"] = True  # sentence-transformers averages layers
            (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
            write_tensors(self.model.state_dict(), folder / "model.safetensors")
            self.tokenizer.save(folder, self.model.config.num_positions)
            if notes is not None:
                (folder / "training.json").write_text(json.dumps(notes, indent=2) + "\n", "utf-8")
            write_modules(folder, self.model, self.pooling, self.normalize, self.max_length)

    def fingerprint(self, weights: str | None = None) -> str:
        """Return a SHA-256 of what decides the embeddings: weights, tokenizer, pooling, dtype.

        Args:
            weights: the digest of the model's weights, if known: hashing them takes a moment.
        """
        config = self.model.config
        made_of = (
            *(weights or tensors_digest(self.model.state_dict()), self.tokenizer.fingerprint()),
            *(config.num_attention_heads, config.layer_norm_eps),
            *(self.pooling, self.max_length, str(self.dtype), self.device.type),
            *(["int8"] if self.int8 else []),
            *([config.first_position] if config.first_position else []),
            *([config.hidden_act] if config.hidden_act != "gelu" else []),
        )
        return hashlib.sha256(str(made_of).encode()).hexdigest()
