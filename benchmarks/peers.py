"""The peers, called as their own users call them: sentence-transformers and its other engines.

Nothing here is part of the product; this file is what it is compared with. OpenVINO and ONNX
Runtime are optional and for CPUs: one that does not load is left out of the table, with a line that
says why.
"""

import io
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from logging import ERROR, getLogger
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.engine import Side, best_batch_size
from benchmarks.inputs import Bench

PADDED = dict[str, Tensor]
NOISY = ("sentence_transformers", "optimum", "nncf")  # they advise, where all is as it should be
CALIBRATION_ROWS = 128  # as many as OpenVINO's quantisation asks for
TRIED = 200  # texts or pairs that the batch size is chosen with


def prepare() -> None:
    """Keep the peers' progress bars and load reports off the table.

    transformers imports torchvision wherever it is installed, and fails if it was built for another
    torch. Nothing here reads images.
    """
    try:
        import_module("torchvision")
    except Exception:  # ImportError where it is absent, RuntimeError where it does not fit
        sys.modules["torchvision"] = None  # type: ignore[assignment]
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


@dataclass(frozen=True)
class Engine:
    """A peer that is ready to run."""

    name: str
    model: Any
    dtype: torch.dtype | None  # of the products where they are in floating point

    def side(
        self,
        peer: str,
        read: Callable[..., Any],
        parts: Sequence[Sequence[Any]],
        quality: str,
        device: torch.device,
    ) -> Side:
        """Return the side that reads one part per round, in the batch size that suits it.

        Args:
            peer: the peer's name.
            read: its `encode` or `predict`, which take the rows and `batch_size`.
            parts: rows of every round.
            quality: of its results.
            device: that it computes on.
        """
        size = best_batch_size(lambda n: read(parts[0][:TRIED], batch_size=n), device)
        # The peak is PyTorch's, whose float32 products are half as fast as ONNX Runtime's on some
        # processors.
        dtype = None if self.dtype == torch.float32 else self.dtype
        name = f"{peer}, {self.name}, batch {size}"
        return Side(name, lambda r: read(parts[r], batch_size=size), dtype, quality=quality)


@dataclass(frozen=True)
class Source:
    """What the engines are made from."""

    make: Callable[..., Any]  # sentence_transformer or cross_encoder
    folder: Path
    device: torch.device
    scratch: Path
    rows: Sequence[tuple[str, ...]]  # texts or pairs, to calibrate int8 with


def engines(
    bench: Bench,
    make: Callable[..., Any],
    folder: Path,
    rows: Sequence[tuple[str, ...]],
    int8: bool = True,
) -> tuple[list[Engine], list[str]]:
    """Return the engines that load, and a line for each that does not.

    Args:
        bench: of the run; on a GPU there are neither engines nor lines.
        make: sentence_transformer or cross_encoder.
        folder: a checkpoint that it reads.
        rows: texts or pairs, CALIBRATION_ROWS of which int8 is calibrated with.
        int8: as well as in floating point.
    """
    source = Source(make, folder, bench.device, bench.scratch, rows[:CALIBRATION_ROWS])
    loaded: list[Engine] = []
    skipped: list[str] = []
    for library, ways in ENGINES.items() if bench.device.type == "cpu" else []:
        try:
            with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                for way in ways if int8 else ways[:1]:
                    loaded.append(way(source))
        except Exception as error:  # the peer raises it bare where a library is missing
            reason = str(error).strip().partition("\n")[0]
            skipped.append(f"{library}: {reason}; pip install -r requirements-bench.txt")
    return loaded, skipped


def _openvino(source: Source) -> Engine:
    """Load with OpenVINO, which takes bfloat16 by itself where the processor has it."""
    from openvino import Core

    config = {"INFERENCE_NUM_THREADS": torch.get_num_threads()}
    model = source.make(source.folder, source.device, backend="openvino", ov_config=config)
    precision = Core().get_property("CPU", "INFERENCE_PRECISION_HINT").to_string()
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}.get(precision, torch.float32)
    return Engine(f"OpenVINO, {str(dtype).removeprefix('torch.')}", model, dtype)


def _openvino_int8(source: Source) -> Engine:
    """Quantise weights and states, with scales from some rows.

    As sentence-transformers' export_static_quantized_openvino_model does, which would fetch its
    rows from the internet and pad each to 384 tokens.
    """
    import nncf
    from optimum.intel import OVConfig, OVQuantizationConfig, OVQuantizer

    model = _openvino(source).model
    tokenize = partial(model.tokenizer, truncation=True, max_length=128, return_tensors="np")
    rows = [dict(tokenize(*row)) for row in source.rows]
    config = OVConfig(quantization_config=OVQuantizationConfig(num_samples=len(rows)))
    quantizer = OVQuantizer.from_pretrained(model.transformers_model)
    quantizer.quantize(nncf.Dataset(rows), ov_config=config)
    return Engine("OpenVINO, int8", model, None)


def _onnx(source: Source, **which: str) -> Engine:
    """Load with ONNX Runtime, in float32."""
    from onnxruntime import SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    which |= {"provider": "CPUExecutionProvider"}
    model = source.make(
        source.folder, source.device, backend="onnx", session_options=options, **which
    )
    return Engine("ONNX, float32", model, torch.float32)


def _onnx_int8(source: Source) -> Engine:
    """Quantise weights, and states as they come, for this processor."""
    from sentence_transformers.backend import export_dynamic_quantized_onnx_model

    folder = source.scratch / f"{source.folder.name}-onnx"
    has = torch.cpu.get_capabilities()
    kind = "avx512_vnni" if has.get("avx512_vnni") else "avx2" if has.get("avx2") else "arm64"
    model = _onnx(source).model
    model.save_pretrained(str(folder))
    export_dynamic_quantized_onnx_model(model, kind, str(folder), file_suffix="int8")
    quantised = _onnx(replace(source, folder=folder), file_name="onnx/model_int8.onnx")
    return Engine("ONNX, int8", quantised.model, None)


ENGINES: dict[str, Sequence[Callable[[Source], Engine]]] = {
    "OpenVINO": (_openvino, _openvino_int8),
    "ONNX": (_onnx, _onnx_int8),
}
