"""SentenceEncoder: texts in, one embedding per text out.

`encode` takes the keywords of sentence-transformers' `SentenceTransformer`.

Legend: N, M texts, B sequences of a batch, H hidden_size, E dimensions of an embedding, which are H
unless a Dense follows the pooling, D dimensions that are kept.
"""

import copy
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from minbert.checkpoint import read_tensors, tensors_digest, whole_checkpoint, write_tensors
from minbert.classifier import BertClassifier, read_classifier
from minbert.config import POOLINGS, CheckpointError
from minbert.fast.int8 import METHOD, Int8, check_int8, int8_in_words
from minbert.fast.linear import kept_weights
from minbert.fast.products import first_token_embeddings, first_tokens_suffice
from minbert.fast.side_by_side import batches_at_once, batches_for_cores, embed_batches
from minbert.fast.switch import accelerate
from minbert.folder import CheckpointFolder, write_json
from minbert.model import BertModel
from minbert.packing import PackedBatch, TokenSequences
from minbert.pooling import choose_pooling, pool
from minbert.prompts import Prompts
from minbert.sentence_format import read_pooling, write_modules
from minbert.steps import width_after
from minbert.tokenizer import BertTokenizer, check_texts
from runtime.cut import CUT
from runtime.device import (
    ONE_AT_A_TIME,
    RELEASE_STEPS,
    autocast,
    choose_device,
    choose_precision,
    keep_memory,
    release_memory,
)
from runtime.errors import UserError
from runtime.files import digest
from runtime.progress import progress

logger = logging.getLogger(__name__)

FORMAT = 1  # of fingerprints: raised when the same fingerprint would stand for other embeddings

# Tokens per forward pass when encoding: chosen by measurement on two cores (docs/log.md);
# on a GPU enough that computing takes longer than launching (an estimate, not measured).
BATCH_TOKENS, GPU_BATCH_TOKENS = 4096, 65536
# From this many tokens on, `kept_weights` saves more time than its checks cost.
KEEP_FROM = 1024
PRECISIONS = ("float32", "binary", "ubinary")  # of the embeddings that `encode` returns


class SentenceEncoder:
    """A BertModel with its tokenizer and pooling, on a device, in a precision.

    From here on the model computes in its fast forms: `accelerate` gives its modules subclasses of
    `minbert.fast`. With `fast=False` they stay the classes that one reads in `minbert.model`.

    Attributes:
        model, tokenizer: the two halves of the checkpoint.
        pooling: one of `minbert.config.POOLINGS`.
        stated_pooling: the pooling that the checkpoint states, or None.
        steps: modules after the pooling (`minbert.steps`); their weights are never trained.
        prompts: prefixes for texts.
        normalize: whether `encode` scales to unit length (as the checkpoint says).
        max_length: longest input in tokens; longer texts are cut.
        batch_tokens: tokens of a forward pass when encoding.
        int8: the weights that encode in int8, None in another precision.
        fast: whether the model has its fast forms.
        classifier: the checkpoint's classification head on [CLS], or None.
        similarity_fn_name: what `similarity` computes, for sentence-transformers.
    """

    similarity_fn_name = "cosine"

    def __init__(
        self,
        model: BertModel,
        tokenizer: BertTokenizer,
        pooling: str = "cls_before_pooler",
        device: str = "auto",
        precision: str = "auto",
        normalize: bool = False,
        fast: bool = True,
    ):
        # Every id must have a row of the embedding matrix; a matrix may have rows to spare.
        if tokenizer.vocab_size > model.config.vocab_size:
            raise CheckpointError(
                f"the tokenizer has {tokenizer.vocab_size} pieces, the model "
                f"{model.config.vocab_size}; they are not of one checkpoint"
            )
        self.device = choose_device(device)
        self.int8: Int8 | None = None
        if precision == "int8":
            if not fast:
                raise UserError("precision int8: only the fast forms have it; leave out fast=False")
            largest_byte = check_int8(self.device)
            self.int8 = Int8(largest_byte)
            logger.warning("precision int8: %s", int8_in_words(largest_byte))
        # Only products without gradient are computed in int8.
        self.dtype = choose_precision("auto" if self.int8 else precision, self.device)
        self.fast = fast
        self.model = (accelerate(model) if fast else model).to(self.device).eval()
        self.tokenizer = tokenizer
        # A model with one token type distinguishes a pair's texts only by the separator.
        tokenizer.second_type = min(tokenizer.second_type, model.config.type_vocab_size - 1)
        self.steps, self.pooling, self.prompts = nn.Sequential(), pooling, Prompts()
        self.pool_by(pooling)
        self.stated_pooling: str | None = None
        self.classifier: BertClassifier | None = None
        self.normalize = normalize
        self.max_length = model.config.num_positions
        self.batch_tokens = GPU_BATCH_TOKENS if self.device.type == "cuda" else BATCH_TOKENS

    @classmethod
    def from_pretrained(
        cls,
        path_or_name: str | Path | CheckpointFolder,
        pooling: str | None = None,
        device: str = "auto",
        precision: str = "auto",
        tuning: bool = False,
        fast: bool = True,
    ) -> "SentenceEncoder":
        """Load a checkpoint from a folder, the local Hugging Face cache, or the hub.

        Args:
            path_or_name: e.g. `bert-base-uncased`; or an open CheckpointFolder.
            pooling: None uses the pooling that the checkpoint states (as a sentence-transformers
                folder does), else the raw [CLS] state. A different one gives a warning.
            device: `auto`, `cpu` or `cuda`.
            precision: `auto`, `float32`, `bfloat16`, or `int8` to encode on a CPU.
            tuning: the encoder will be tuned next. Tuning adds the pooler that `pooling` may need;
                until then the encoder uses the raw [CLS] state if `pooling` is given.
            fast: whether the model computes in its fast forms.

        Raises:
            CheckpointError: not found, damaged, or not a BERT encoder.
        """
        # The folder is opened once and passed on; no file is read twice.
        folder = CheckpointFolder.find(path_or_name)
        config = folder.bert_config
        stated = read_pooling(folder, pooling)
        keeps = pooling in (None, stated.pooling)
        if pooling and stated.pooling and not keeps:
            dropped = "; the steps behind it are left out" if len(stated.steps) else ""
            logger.warning(
                "%s: states the pooling %s; %s is used, as asked%s",
                *(folder, stated.pooling, pooling, dropped),
            )
        # Later steps were trained with the stated pooling; another pooling omits them.
        steps = stated.steps if keeps else nn.Sequential()
        now = "cls_before_pooler" if pooling and tuning and not len(steps) else pooling
        tensors = read_tensors(folder, config)
        model = BertModel.from_tensors(config, tensors | (stated.pooler or {}), folder)
        tokenizer = BertTokenizer.from_pretrained(folder)
        try:
            encoder = cls(
                model,
                tokenizer,
                choose_pooling(now, stated.pooling),
                device,
                precision,
                normalize=stated.normalize,
                fast=fast,
            )
        except CheckpointError as error:  # the message does not name the folder
            raise CheckpointError(f"{folder}: {error}") from None
        encoder.steps, encoder.prompts = steps.to(encoder.device), stated.prompts
        encoder.stated_pooling = stated.pooling
        encoder.classifier = read_classifier(folder, tensors)
        # As sentence-transformers does: its own settings first, then the tokenizer's.
        length = stated.max_length or encoder.tokenizer.stated_length
        encoder.max_length = min(encoder.max_length, length or encoder.max_length)
        return encoder

    def pool_by(self, pooling: str) -> None:
        """Change the pooling from now on; CheckpointError for `cls` without a pooler.

        The steps after the old pooling were trained with it; a different pooling omits them.
        """
        if pooling not in POOLINGS:
            raise ValueError(f"unknown pooling {pooling!r}; expected one of {', '.join(POOLINGS)}")
        if pooling == "cls" and self.model.pooler is None:
            raise CheckpointError("pooling 'cls' needs a pooler, which this checkpoint lacks")
        if pooling != self.pooling:
            self.steps = nn.Sequential()
        self.pooling = pooling

    @property
    def embedding_size(self) -> int:
        """E, the dimensions of an embedding."""
        return width_after(self.steps, self.model.config.hidden_size)

    def __repr__(self) -> str:
        config = self.model.config
        layers = f"{config.num_hidden_layers} layers of {config.hidden_size}"
        return f"SentenceEncoder({layers}, pooling {self.pooling}, {self.device})"

    # The name of sentence-transformers.
    def get_sentence_embedding_dimension(self) -> int:
        """Return the size of an embedding."""
        return self.embedding_size

    def tokenize(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None = None,
        max_length: int | None = None,
    ) -> TokenSequences:
        """Tokenize texts or pairs, cut to `max_length` tokens (None: the encoder's `max_length`).

        Raises:
            UserError: no texts, or a length beyond the model's positions.
        """
        length = self.max_length if max_length is None else max_length
        positions = self.model.config.num_positions
        if not isinstance(length, int | np.integer) or not 3 <= length <= positions:
            raise UserError(
                f"max_length is {length!r}; expected an integer from 3 to {positions}, the number "
                "of this encoder's positions"
            )
        when_cut = partial(CUT.add, max_length=int(length))
        return self.tokenizer(texts, text_pairs, int(length), when_cut)

    def embed(self, batch: PackedBatch) -> Tensor:
        """Return float32 embeddings (B, E) in the current mode, with gradient, unscaled."""
        # Under autocast the products are in `dtype`; the steps are computed in float32.
        embeddings: Tensor = self.steps(self._pooled(batch.to(self.device)))
        return embeddings

    def _pooled(self, batch: PackedBatch) -> Tensor:
        # (total_tokens,) token ids -> (total_tokens, H) states -> (B, H) embeddings. Sums, norms
        # and results stay float32.
        with autocast(self.device, self.dtype):
            if self.fast and first_tokens_suffice(self.model, batch, self.pooling):
                return first_token_embeddings(self.model, batch, self.pooling)
            output = self.model.packed(batch)
        return pool(output, batch, self.pooling)

    @property
    def averages(self) -> bool:
        """Whether an embedding is a mean of token states."""
        return self.pooling.startswith("avg") and not len(self.steps)

    def embed_beside_cls(self, batch: PackedBatch) -> Tensor:
        """Return embeddings and last [CLS] states from one forward pass: (B, 2, H)."""
        batch = batch.to(self.device)
        with autocast(self.device, self.dtype):
            output = self.model.packed(batch)
        poolings = (self.pooling, "cls_before_pooler")
        return torch.stack([pool(output, batch, pooling) for pooling in poolings], dim=1)

    @contextmanager
    def reading(self, sequences: TokenSequences) -> Iterator[None]:
        """Put the model into evaluation mode and switch gradients off, both for the block.

        If `sequences`, which the block will read, are long enough, products use kept weights
        (`minbert.fast.linear`): nothing may write to the model's weights inside the block.
        """
        if self.device.type == "cpu":
            keep_memory()
        with ONE_AT_A_TIME, self._evaluating(sequences):
            yield

    @contextmanager
    def _evaluating(self, sequences: TokenSequences) -> Iterator[None]:
        # The mode of every part is saved, since a caller may train only some of them.
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

    def embed_all(
        self,
        sequences: TokenSequences,
        into: np.ndarray,
        embed: Callable[[PackedBatch], Tensor] | None = None,
        *,
        batch_tokens: int | None = None,
        label: str = "encode",
        show_progress: bool | None = False,
    ) -> None:
        """Embed all sequences in evaluation mode without gradient, small models on all cores.

        Args:
            sequences: N texts or pairs.
            into: float32 array (N, ...) that is filled.
            embed: packed sequences to (B, ...); None is `self.embed`.
            batch_tokens, show_progress: as of `encode`.
            label: text of the progress bar.
        """
        most_tokens = batch_tokens or self.batch_tokens
        with self.reading(sequences), progress(label, len(sequences), "text", show_progress) as bar:
            # PyTorch's number of threads, which is smaller while another call reads.
            at_once = batches_at_once(self.device, self.model.config.hidden_size)
            # Batches of similar lengths, longest first.
            batches = batches_for_cores(sequences.lengths, most_tokens, at_once)
            # Closed, so that nothing is encoded any more after an error.
            with closing(embed_batches(sequences, batches, embed or self.embed, at_once)) as parts:
                for step, (rows, part) in enumerate(parts, start=1):
                    # Row numbers put every embedding at the position of its text.
                    into[rows] = part
                    bar.update(len(rows))
                    # Counted from the end, so that nothing stays behind; small calls need none.
                    if len(batches) >= RELEASE_STEPS and (len(batches) - step) % RELEASE_STEPS == 0:
                        release_memory()

    def encode_texts(
        self, texts: Sequence[str], batch_tokens: int, show_progress: bool | None
    ) -> np.ndarray:
        """Return float32 embeddings (N, E) for `encode`, each distinct text computed once."""
        # {text: its row among the distinct texts}, of which there may be many fewer than N.
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        sequences = self.tokenize(list(distinct))
        embeddings = np.empty((len(distinct), self.embedding_size), np.float32)
        self.embed_all(
            sequences, embeddings, batch_tokens=batch_tokens, show_progress=show_progress
        )
        if self.normalize:
            _scale(embeddings)
        if len(distinct) == len(texts):
            return embeddings  # a copy would double the memory of a million sentences
        return embeddings[[distinct[text] for text in texts]]

    @property
    def _device_names(self) -> tuple[str, str]:
        return self.device.type, f"{self.device.type}:{self.device.index or 0}"

    def encode(
        self,
        texts: str | Iterable[str],
        batch_tokens: int | None = None,
        show_progress: bool | None = None,
        *,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        precision: str | None = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        **others: Any,
    ) -> Any:
        """Encode one text or many in evaluation mode, each distinct text once.

        Args:
            texts: one text, or N in a list, array, column or generator; pairs are not accepted.
            batch_tokens: real tokens in one forward pass; None uses the encoder's `batch_tokens`.
            show_progress, show_progress_bar: None shows a bar where stderr is a terminal.
            batch_size: no pass holds more tokens than this many texts of `max_length`.
            prompt: put before every text, in place of the default one; "" for none.
            prompt_name: the same, by its name in the checkpoint (`prompts.by_name`).
            precision: `float32`, or `binary` and `ubinary`: one bit per dimension, eight to a byte.
            convert_to_numpy, convert_to_tensor: an array; a tensor; neither, a list of tensors.
            normalize_embeddings: to unit length, after cutting them to `truncate_dim`.
            truncate_dim: D, dimensions that are kept; None keeps all E.
            others: further keywords of sentence-transformers; each must be None or equal the
                encoder's setting.

        Returns:
            float32 array (N, D), for one text (D,); unit rows also if the checkpoint says so.

        Raises:
            UserError: an item that is not a text, or an unsupported keyword or value.
        """
        # Values that equal the encoder's settings are allowed.
        states = {"output_value": ("sentence_embedding",), "device": self._device_names}
        for name, value in others.items():
            if value is not None and str(value) not in states.get(name, ()):
                raise UserError(f"encode: {name}={value!r:.60} is not supported; leave it out")
        if precision not in (None, *PRECISIONS):
            raise UserError(
                f"encode: precision is {precision!r}; expected one of {', '.join(PRECISIONS)}"
            )
        for name, number in (("batch_size", batch_size), ("truncate_dim", truncate_dim)):
            if number is not None and number < 1:
                raise UserError(f"encode: {name} is {number}; give 1 or more")
        tokens = batch_tokens or self.batch_tokens
        if batch_size is not None:
            # `batch_size` limits memory. Packed short texts need little, so more of them fit.
            tokens = min(tokens, batch_size * self.max_length)
        show = show_progress if show_progress_bar is None else show_progress_bar

        # A generator of texts may wait for other threads, so it is read before locking.
        listed = _listed(texts, self.prompts.choose(prompt, prompt_name))
        with ONE_AT_A_TIME:
            embeddings = self.encode_texts(listed, tokens, show)
        embeddings = embeddings[:, :truncate_dim]  # (N, D)
        if normalize_embeddings:
            _scale(embeddings)
        if precision in ("binary", "ubinary"):
            embeddings = _signs(embeddings, np.int8 if precision == "binary" else np.uint8)

        result = embeddings[0] if isinstance(texts, str) else embeddings
        if convert_to_numpy and not convert_to_tensor:
            return result
        tensor = torch.from_numpy(result).to(self.device)
        return tensor if convert_to_tensor or isinstance(texts, str) else list(tensor)

    def encode_query(self, texts: str | Iterable[str], *args: Any, **keywords: Any) -> Any:
        """Encode queries: as `encode`, with the checkpoint's prompt "query" unless one is given."""
        return self._encode_as("query", texts, *args, **keywords)

    def encode_document(self, texts: str | Iterable[str], *args: Any, **keywords: Any) -> Any:
        """Encode documents: as `encode`, with the prompt "document" unless one is given."""
        return self._encode_as("document", texts, *args, **keywords)

    def _encode_as(self, name: str, texts: str | Iterable[str], *args: Any, **keywords: Any) -> Any:
        if keywords.get("prompt") is None and keywords.get("prompt_name") is None:
            keywords["prompt_name"] = name
        return self.encode(texts, *args, **keywords)

    def encode_quietly(self, texts: Sequence[str]) -> np.ndarray:
        """Return `encode(texts)` without a progress bar, for use inside other loops."""
        return np.asarray(self.encode(texts, show_progress=False))

    def similarity(self, first: Any, second: Any) -> Tensor:
        """Return the cosine of each of N embeddings with each of M, (N, M) float32."""
        # (N, H) x (H, M) -> (N, M): of unit vectors the dot product is the cosine.
        return _unit_rows(first) @ _unit_rows(second).T

    def similarity_pairwise(self, first: Any, second: Any) -> Tensor:
        """Return the cosines of the N embeddings of `first` with those of `second`, (N,)."""
        return (_unit_rows(first) * _unit_rows(second)).sum(dim=1)

    def freeze(self) -> "SentenceEncoder":
        """Put the model into evaluation mode and stop all its gradients; return self."""
        self.model.eval().requires_grad_(False)
        return self

    def clone(self) -> "SentenceEncoder":
        """Return a copy with separate, trainable weights, even if this encoder is frozen."""
        # Copies of weights that `reading` keeps do not follow; the twin makes its own.
        twin = copy.deepcopy(self)
        twin.model.requires_grad_(True)
        return twin

    def save(self, path: str | Path, notes: dict[str, Any] | None = None) -> None:
        """Write a checkpoint that transformers and sentence-transformers load unchanged.

        The folder appears whole or not at all, and replaces an older one.

        Args:
            path: the folder.
            notes: how the weights were made; saved with them as `training.json`.
        """
        with whole_checkpoint(Path(path)) as folder:
            config: dict[str, Any] = self.model.config.to_dict()
            if self.pooling in ("avg_top2", "avg_first_last"):
                config["output_hidden_states"] = True  # sentence-transformers averages layers
            write_json(folder / "config.json", config)
            write_tensors(self.model.state_dict(), folder / "model.safetensors")
            self.tokenizer.save(folder, self.model.config.num_positions)
            if notes is not None:
                write_json(folder / "training.json", notes)
            write_modules(
                folder,
                self.model,
                self.pooling,
                self.normalize,
                self.max_length,
                self.steps,
                self.prompts,
            )

    # The name of Hugging Face.
    save_pretrained = save

    def fingerprint(self, weights: str | None = None) -> str:
        """Return a SHA-256 of all that affects the embeddings: weights, tokenizer, pooling, dtype.

        `weights` is the digest of the model's weights, if known: hashing them takes a moment.
        """
        # Whatever is not listed may change without a cached embedding becoming wrong.
        config = self.model.config
        made_of = {
            "format": FORMAT,
            "weights": weights or tensors_digest(self.model.state_dict()),
            "tokenizer": self.tokenizer.fingerprint(),
            "attention heads": config.num_attention_heads,
            "layer norm": config.layer_norm_eps,
            "activation": config.hidden_act,
            "first position": config.first_position,
            "pooling": self.pooling,
            "max length": int(self.max_length),
            "dtype": str(self.dtype),
            "int8": self.int8 is not None and (self.int8.largest_byte, METHOD),
            "device": self.device.type,
        }
        # Most encoders have neither.
        if len(self.steps):
            made_of["steps"] = [str(self.steps), tensors_digest(self.steps.state_dict())]
        if self.prompts.stated:
            made_of["prompts"] = self.prompts.stated
        return digest(made_of)


def _scale(embeddings: np.ndarray) -> None:
    """Scale the rows of (N, D) to unit length, in place."""
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True).clip(1e-12)


def _signs(embeddings: np.ndarray, dtype: type[np.integer]) -> np.ndarray:
    """Return the signs of (N, D) as bits, (N, ceil(D / 8)) bytes, the first bit the highest."""
    packed = np.packbits(embeddings > 0, axis=1)
    # int8 has less by 128 than uint8: from -128 to 127 instead of 0 to 255.
    return (packed.astype(np.int16) + np.iinfo(dtype).min).astype(dtype)


def _listed(texts: str | Iterable[str], prompt: str) -> list[str]:
    """Return the texts with prompts as a list; UserError for an item that is not a text."""
    if isinstance(texts, str):
        texts = [texts]
    no_column = getattr(texts, "ndim", 1) != 1 or isinstance(texts, bytes | bytearray | Mapping)
    if no_column or not isinstance(texts, Iterable):
        raise UserError(
            f"encode: got a {type(texts).__name__}; expected a text, or a list, array, column or "
            "generator of texts"
        )
    texts = list(texts)
    check_texts(texts)
    return [prompt + text for text in texts] if prompt else texts


def _unit_rows(embeddings: Any) -> Tensor:
    """Return (N, H) float32 rows of unit length of an array, a tensor, or a list of either."""
    if isinstance(embeddings, list):
        embeddings = torch.stack([torch.as_tensor(row) for row in embeddings])
    rows = torch.atleast_2d(torch.as_tensor(embeddings)).float()
    return torch.nn.functional.normalize(rows, dim=1)
