"""How callers of sentence-transformers ask an encoder: `encode`'s keywords, cosines, a model card.

Reads: nothing. Feeds: encoder, which adds how texts become embeddings. The names, their order of
effect and what they return are those of `SentenceTransformer`, so that its evaluators, and
programs written for it, take our encoder as it is.

Legend: N, M texts, H hidden_size, D dimensions that are kept.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from runtime.errors import UserError

# One call of the process computes at a time: kept weights and the model's mode belong to the
# encoder, not to a thread, and asynchronous callers encode from many threads.
ONE_AT_A_TIME = threading.RLock()
PRECISIONS = ("float32", "binary", "ubinary")


class ModelCardData:
    """What evaluators of sentence-transformers report, by the names that they give it."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}

    def set_evaluation_metrics(
        self, evaluator: Any, metrics: dict[str, float], epoch: int = 0, step: int = 0
    ) -> None:
        """Keep `metrics`; later ones of the same names replace them."""
        self.metrics.update(metrics)


class SentenceCalls:
    """The calls of a SentenceTransformer, for a class that has what is declared here."""

    device: torch.device
    max_length: int
    batch_tokens: int

    def encode_texts(
        self, texts: Sequence[str], batch_tokens: int, show_progress: bool | None
    ) -> np.ndarray:
        """Return float32 embeddings (N, H)."""
        # `SentenceEncoder` has it: these are its calls, kept in a file of their own.
        raise NotImplementedError

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
        output_value: str | None = "sentence_embedding",
        precision: str | None = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: str | torch.device | None = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
    ) -> Any:
        """Encode one text or many in evaluation mode, each distinct text once.

        Args:
            texts: one text, or N in a list, array, column or generator; pairs are not accepted.
            batch_tokens: real tokens in one forward pass; None uses the encoder's own number.
            show_progress, show_progress_bar: None shows a bar where stderr is a terminal.
            batch_size: no pass holds more tokens than this many texts of `max_length`.
            prompt: put before every text.
            precision: `float32`, or `binary` and `ubinary`: one bit per dimension, eight to a byte.
            convert_to_numpy, convert_to_tensor: an array; a tensor; neither, a list of tensors.
            normalize_embeddings: to unit length, after cutting them to `truncate_dim`.
            truncate_dim: D, dimensions that are kept; None keeps all H.
            prompt_name, output_value, device: only what the encoder has anyway.

        Returns:
            float32 array (N, D), for one text (D,); unit rows also if the checkpoint says so.

        Raises:
            UserError: something that is no text, or a value that is not supported.
        """
        self._refuse(prompt_name, output_value, precision, device)
        tokens = self._tokens_per_pass(batch_tokens, batch_size)
        show = show_progress if show_progress_bar is None else show_progress_bar
        with ONE_AT_A_TIME:
            embeddings = self.encode_texts(_checked(texts, prompt), tokens, show)
        embeddings = _quantized(_cut(embeddings, truncate_dim, normalize_embeddings), precision)
        found = embeddings[0] if isinstance(texts, str) else embeddings
        if convert_to_numpy and not convert_to_tensor:
            return found
        tensor = torch.from_numpy(found).to(self.device)
        return tensor if convert_to_tensor or isinstance(texts, str) else list(tensor)

    # Retrieval evaluators ask for these two; without prompts both sides are encoded alike.
    encode_query = encode_document = encode

    @property
    def similarity_fn_name(self) -> str:
        """Return the name of what `similarity` computes."""
        return "cosine"

    @cached_property
    def model_card_data(self) -> ModelCardData:
        """Return where evaluators leave their metrics."""
        return ModelCardData()

    def similarity(self, first: Any, second: Any) -> Tensor:
        """Return the cosine of each of N embeddings with each of M, (N, M) float32."""
        return _unit_rows(first) @ _unit_rows(second).T

    def similarity_pairwise(self, first: Any, second: Any) -> Tensor:
        """Return the cosines of the N embeddings of `first` with those of `second`, (N,)."""
        return (_unit_rows(first) * _unit_rows(second)).sum(dim=1)

    def _tokens_per_pass(self, batch_tokens: int | None, batch_size: int | None) -> int:
        tokens = batch_tokens or self.batch_tokens
        if batch_size is None:
            return tokens
        if batch_size < 1:
            raise UserError(f"encode: batch_size is {batch_size}; give 1 or more")
        # What `batch_size` bounds is memory. Packed, short texts need little, so more fit in.
        return min(tokens, batch_size * self.max_length)

    def _refuse(
        self, prompt_name: str | None, output_value: str | None, precision: str | None, device: Any
    ) -> None:
        """Raise UserError for what sentence-transformers has and this encoder has not."""
        if prompt_name is not None:
            raise UserError(f"encode: no prompt is named {prompt_name!r} here; give prompt=<text>")
        if output_value != "sentence_embedding":
            raise UserError(
                f"encode: output_value is {output_value!r}; only 'sentence_embedding' is supported"
            )
        if precision not in (None, *PRECISIONS):
            raise UserError(
                f"encode: precision is {precision!r}; expected one of {', '.join(PRECISIONS)}"
            )
        own = self.device.type, f"{self.device.type}:{self.device.index or 0}"
        if device is not None and str(device) not in own:
            raise UserError(
                f"encode: device is {device!r}, but the encoder is on {own[0]}; "
                "give the device to SentenceEncoder.from_pretrained"
            )


def _checked(texts: str | Iterable[str], prompt: str | None) -> list[str]:
    """Return the texts, prompts before them, as a list.

    Raises:
        UserError: one of them is not a text, or nothing that has them one by one.
    """
    if isinstance(texts, str):
        texts = [texts]
    no_column = getattr(texts, "ndim", 1) != 1 or isinstance(texts, bytes | bytearray | Mapping)
    if no_column or not isinstance(texts, Iterable):
        raise UserError(
            f"encode: got a {type(texts).__name__}; expected a text, or a list, array, column or "
            "generator of texts"
        )
    texts = list(texts)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise UserError(f"encode: text {row} is a {kind}, {text!r:.60}; expected strings")
    return [prompt + text for text in texts] if prompt else texts


def _cut(embeddings: np.ndarray, dimensions: int | None, normalize: bool) -> np.ndarray:
    """Return the first D dimensions, (N, D), at unit length if asked for."""
    if dimensions is not None and dimensions < 1:
        raise UserError(f"encode: truncate_dim is {dimensions}; give 1 or more")
    kept = embeddings[:, :dimensions]
    if not normalize:
        return kept
    return kept / np.linalg.norm(kept, axis=1, keepdims=True).clip(1e-12)


def _quantized(embeddings: np.ndarray, precision: str | None) -> np.ndarray:
    """Return the embeddings, or their signs: (N, ceil(D / 8)) bytes, the first bit the highest.

    `ubinary` are these bytes, `binary` the same less 128, so that they are int8.
    """
    if precision not in ("binary", "ubinary"):
        return embeddings
    packed = np.packbits(embeddings > 0, axis=1)
    return packed if precision == "ubinary" else (packed.astype(np.int16) - 128).astype(np.int8)


def _unit_rows(embeddings: Any) -> Tensor:
    """Return (N, H) float32 rows of unit length of an array, a tensor, or a list of either."""
    if isinstance(embeddings, list):
        embeddings = torch.stack([torch.as_tensor(row) for row in embeddings])
    rows = torch.atleast_2d(torch.as_tensor(embeddings)).float()
    return torch.nn.functional.normalize(rows, dim=1)
