"""Products in int8 for encoding on a CPU: a quarter of float32's bytes, half of bfloat16's.

Weights have a scale per row, and eight bits where the processor has VNNI or AMX, else seven. States
have one scale and zero point per product, which are fixed: a text's embedding depends on its
neighbours only by rounding. They come from the states of random pieces of the vocabulary, which
exist for every language and need no data. Columns of states differ in size by far more than those
of weights; part of the difference is moved into the weights first (Xiao et al. 2023,
"SmoothQuant"). Behind a GELU this is not possible. There, a few columns are ten times as large as
the others, and are multiplied in floating point (Dettmers et al. 2022, "LLM.int8()").
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minbert.fast.linear import (
    ERF_GELU,
    NO_ACTIVATION,
    ROWS_HINT,
    Intermediate,
    Product,
    biases_of,
    keepers,
    multiplying_by,
    row_hashes,
)
from minbert.model import BertLayer, BertModel
from minbert.packing import PackedBatch, TokenSequences
from minbert.tokenizer import BertTokenizer
from runtime.device import byte_instructions, has_vnni
from runtime.errors import MachineError

METHOD = 2  # of quantising: raised if embeddings change
SEQUENCES, LENGTH = 128, 16  # of the random pieces that ranges are taken from
SMOOTHING = 0.6  # SmoothQuant's alpha: 0 leaves the columns as they are in the weights, 1 in states
OUTLIERS = 8  # columns behind a GELU that are multiplied in floating point
HEADROOM = 1.25  # of the others, since texts can exceed what random pieces reach
LEAST = 1e-5  # a column's largest number counts as this at least, and a range's width
# The largest byte of a weight. VNNI and AMX add products of bytes in 32 bits. AVX2 first adds two
# of them in 16 bits and cuts off what exceeds 32,767: 2 * 255 * 64 = 32,640 fits, 2 * 255 * 127
# does not.
WIDE, NARROW = 127, 64
BITS = {WIDE: "eight", NARROW: "seven"}


def check_int8(device: torch.device) -> int:
    """Return the largest byte that a weight may have here: WIDE or NARROW.

    Raises:
        MachineError: a GPU, a processor without AVX2, or PyTorch without oneDNN.
    """
    instead = "use --precision auto"
    if device.type != "cpu":
        raise MachineError(f"precision int8: is for CPUs, not {device.type}; {instead}")
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.onednn, "qlinear_prepack")):
        raise MachineError(f"precision int8: this PyTorch is built without oneDNN; {instead}")
    if byte_instructions() == "other":
        raise MachineError(f"precision int8: this processor has no AVX2; {instead}")
    return WIDE if has_vnni() else NARROW


def int8_in_words(largest_byte: int) -> str:
    """Return what computes the products here, and the bits of their weights."""
    return f"{byte_instructions()}, weights of {BITS[largest_byte]} bits"


class Int8Weights(Product):
    """Weights of one or more layers in int8, in oneDNN's layout; replaces KeptWeights.

    A state x is stored as the byte round(x * column / scale) + zero, where `column` is the
    smoothing factor of its column.
    """

    def __init__(
        self,
        layers: Sequence[nn.Linear],  # their weights stand side by side in one matrix
        states: Tensor,  # (rows, in_features) float32, input of the product
        dtype: torch.dtype,  # of its result
        largest_byte: int,  # of a weight: WIDE or NARROW
        reads: nn.Linear | None = None,  # the layer before the GELU whose bytes this one reads
        into: "Int8Weights | None" = None,  # for which the GELU's results are written as bytes
    ):
        # (out_features, in_features): of queries, keys and values (3H, H).
        weight = torch.cat([layer.weight.detach().float() for layer in layers])
        columns = torch.ones(weight.shape[1])
        # The largest columns: rows (n, H) and biases (n,) before the GELU, rows (n, H) behind it.
        self.outliers: tuple[Tensor, ...] = ()
        if reads is None:
            # c_j = max|W_j|^(1 - a) / max|X_j|^a, the inverse of SmoothQuant's equation 4: X_j c_j
            # times W_j / c_j is the same product, and both then have columns of similar size.
            largest_states, largest = (x.abs().amax(0).clamp_min(LEAST) for x in (states, weight))
            columns = largest ** (1 - SMOOTHING) / largest_states**SMOOTHING
        else:
            large = states.amax(0).topk(min(OUTLIERS, weight.shape[1])).indices
            parts = reads.weight[large], reads.bias[large], weight.T[large]
            self.outliers = tuple(part.detach().to(dtype) for part in parts)
            states, weight = (x.index_fill(1, large, 0.0) for x in (states, weight))
            states = states * HEADROOM
        states, weight = states * columns, weight / columns
        # The range holds 0, so that an exact 0 stays one; 255 steps between 256 bytes.
        low, high = min(float(states.min()), 0.0), max(float(states.max()), 0.0)
        self.scale = max(high - low, LEAST) / 255
        self.zero = round(-low / self.scale)
        self.steps = columns / self.scale
        self.offsets = torch.full_like(columns, self.zero + 0.5)
        self.dtype, self.into = dtype, into
        # One scale per row of W, (out_features,): its largest number becomes the largest byte.
        self.scales = weight.abs().amax(dim=1).clamp_min(LEAST) / largest_byte
        self.zeros = torch.zeros(len(weight), dtype=torch.int64)
        rows = (weight / self.scales[:, None]).round().to(torch.int8)
        self.rows = torch.ops.onednn.qlinear_prepack(rows, [ROWS_HINT, weight.shape[1]])
        self.bias = biases_of(layers, torch.float32)

    def __call__(self, x: Tensor, gelu: bool = False) -> Tensor:
        """Return (..., out_features) in `dtype`, after the exact (erf) GELU if asked for.

        The input is bytes if the previous product wrote them. With a GELU and `into`, the output
        is bytes.
        """
        if x.dtype != torch.uint8:
            # Truncation rounds here, as half a step has been added. Converting through 16-bit
            # integers halves PyTorch's time.
            x = torch.addcmul(self.offsets, x, self.steps).clamp_(0, 255)
            x = x.to(torch.int16).to(torch.uint8)
        # oneDNN sums products of bytes in 32-bit integers, and scales the sums back:
        # y = scale * scales * (sum_j x_j w_j - zero * sum_j w_j) + bias.
        weights = (self.rows, self.scales, self.zeros, self.bias)
        to: tuple[float, int, torch.dtype] = (1.0, 0, self.dtype)
        if gelu and self.into is not None:
            to = (self.into.scale, self.into.zero, torch.uint8)
        activation = ERF_GELU if gelu else NO_ACTIVATION
        output: Tensor = torch.ops.onednn.qlinear_pointwise(
            x, self.scale, self.zero, *weights, *to, *activation
        )
        return output

    def plus(self, update: Tensor, residual: Tensor) -> Tensor:
        """Return the product with `update`, added to the half-layer's input, (rows, H)."""
        output = super().plus(update, residual)
        if self.outliers:
            weight, bias, behind = self.outliers
            # The residual is also the input of the layer before the GELU: (rows, H) -> (rows, n).
            output.addmm_(F.gelu(F.linear(residual, weight, bias)), behind)
        return output


class Observed(Product):
    """A product in float32 that keeps the states that it reads."""

    def __init__(self, layers: Sequence[nn.Linear]):
        self.weight = torch.cat([layer.weight.detach() for layer in layers])
        self.bias = biases_of(layers, torch.float32)
        self.states = torch.zeros(1, self.weight.shape[1])

    def __call__(self, x: Tensor, gelu: bool = False) -> Tensor:
        """Return (rows, out_features) in float32."""
        self.states = x.clone()
        output = F.linear(x, self.weight, self.bias)
        return F.gelu(output) if gelu else output


class Int8:
    """The weights of a model in int8: made when they are first needed, and again if it changes."""

    def __init__(self, largest_byte: int) -> None:
        self.largest_byte = largest_byte  # of a weight
        self.weights: list[Int8Weights] = []
        self.hashes: list[Tensor] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "weights": [], "hashes": []}  # a deep copy makes its own

    @contextmanager
    def kept(
        self, model: BertModel, tokenizer: BertTokenizer, dtype: torch.dtype
    ) -> Iterator[None]:
        """Compute all products of the model in int8 inside the block, without gradient."""
        # Bits are compared, as in `kept_weights`; all parameters affect the ranges.
        hashes = [row_hashes(x.reshape(len(x), -1)) for x in model.parameters()]
        known = len(hashes) == len(self.hashes)
        if not known or not all(map(torch.equal, hashes, self.hashes)):
            length = min(LENGTH, model.config.num_positions)
            pieces = random_pieces(tokenizer, length)
            self.weights = quantised(model, pieces, dtype, self.largest_byte)
            self.hashes = hashes
        with multiplying_by(keepers(model), self.weights):
            yield


def quantised(
    model: BertModel, batch: PackedBatch, dtype: torch.dtype, largest_byte: int
) -> list[Int8Weights]:
    """Return weights in int8 for all `keepers` of a model, with ranges from a batch's states."""
    # One pass in float32 records the input of every product; its extremes set the range.
    modules = keepers(model)
    observed = {keeper: Observed(keeper.kept_layers()) for keeper in modules}
    with multiplying_by(modules, list(observed.values())):
        model.packed(batch)
    # The two products on both sides of a GELU: the first one writes what the second one reads.
    before: dict[nn.Module, nn.Linear] = {
        layer.output.dense: layer.intermediate.dense
        for layer in model.modules()
        if isinstance(layer, BertLayer) and isinstance(layer.intermediate, Intermediate)
    }
    # Products that read bytes come first: the product that writes the bytes needs their scale.
    weights: dict[nn.Module, Int8Weights] = {}
    into: dict[nn.Module, Int8Weights] = {}
    for keeper in sorted(modules, key=lambda keeper: keeper not in before):
        weights[keeper] = Int8Weights(
            keeper.kept_layers(),
            observed[keeper].states,
            dtype,
            largest_byte,
            before.get(keeper),
            into.get(keeper),
        )
        if keeper in before:
            into[before[keeper]] = weights[keeper]
    return [weights[keeper] for keeper in modules]


def random_pieces(tokenizer: BertTokenizer, length: int = LENGTH) -> PackedBatch:
    """Return sequences of random pieces of the vocabulary, the same ones for equal vocabularies."""
    special = [*tokenizer.special_ids, tokenizer.mask_id]
    pieces = np.setdiff1d(np.arange(tokenizer.vocab_size), special)  # at least [UNK]
    # (SEQUENCES, length) ids, [CLS] in front and [SEP] behind as in every text.
    ids = np.random.default_rng(0).choice(pieces, (SEQUENCES, length)).astype(tokenizer.dtype)
    ids[:, 0], ids[:, -1] = tokenizer.cls_id, tokenizer.sep_id
    offsets = np.arange(SEQUENCES + 1) * length
    lengths = np.full(SEQUENCES, length, np.int32)
    return TokenSequences(ids.ravel(), offsets, lengths).pack(range(SEQUENCES))
