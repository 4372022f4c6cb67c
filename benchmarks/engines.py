"""The peers' other engines: sentence-transformers with OpenVINO or ONNX Runtime, each also in int8.

They have requirements of their own. One that does not load is left out of the table, with a line
that says why. For CPUs only.
"""

import io
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.material import Bench
from benchmarks.measure import Side, best_batch_size
from minbert.encoder import SentenceEncoder
from runtime.errors import MachineError

# Of benchmarks.peers: make(folder, device, backend=..., **model_kwargs).
Make = Callable[..., Any]
CALIBRATION_ROWS = 128  # as many as OpenVINO's quantisation asks for
TRIED = 200  # texts or pairs that the batch size is chosen with
REQUIREMENTS = {"OpenVINO": "requirements-bench.txt", "ONNX": "requirements-bench-onnx.txt"}


@dataclass(frozen=True)
class Engine:
    """A peer that is ready to run."""

    name: str
    model: Any
    dtype: torch.dtype | None  # of the products where they are in floating point


@dataclass(frozen=True)
class Source:
    """What the engines are made from."""

    make: Make
    folder: Path
    device: torch.device
    scratch: Path
    rows: Sequence[tuple[str, ...]]  # texts or pairs, to calibrate int8 with


def load(
    bench: Bench, make: Make, folder: Path, rows: Sequence[tuple[str, ...]], int8: bool = True
) -> tuple[list[Engine], list[str]]:
    """Return the engines that load, and a line for each that does not.

    Args:
        bench: of the run; on a GPU there are neither engines nor lines.
        make: sentence_transformer or cross_encoder of benchmarks.peers.
        folder: a checkpoint that it reads.
        rows: texts or pairs, CALIBRATION_ROWS of which int8 is calibrated with.
        int8: as well as in floating point.
    """
    source = Source(make, folder, bench.device, bench.scratch, rows[:CALIBRATION_ROWS])
    engines: list[Engine] = []
    skipped: list[str] = []
    for library, ways in WAYS.items() if bench.device.type == "cpu" else []:
        try:
            with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                for way in ways if int8 else ways[:1]:
                    engines.append(way(source))
        except Exception as error:  # the peer raises it bare where a library is missing
            reason = str(error).strip().partition("\n")[0]
            skipped.append(f"{library}: {reason}; pip install -r {REQUIREMENTS[library]}")
    return engines, skipped


def in_int8(
    bench: Bench, folder: Path, pooling: str | None = None
) -> tuple[list[SentenceEncoder], list[str]]:
    """Return minbert's encoder in int8, or a line that says why there is none.

    Args:
        bench: of the run; on a GPU there is neither.
        folder: a checkpoint.
        pooling: what the checkpoint states if None.
    """
    if bench.device.type != "cpu":
        return [], []
    try:
        return [SentenceEncoder.from_pretrained(str(folder), pooling, "cpu", "int8").freeze()], []
    except MachineError as error:
        return [], [f"minbert: {error}"]


def peak_dtype(engine: Engine) -> torch.dtype | None:
    """Return what a share of the peak is asked in: not float32, where ONNX Runtime exceeds it.

    The peak is PyTorch's; MKL's float32 products on some processors are half as fast.
    """
    return None if engine.dtype == torch.float32 else engine.dtype


def side(
    peer: str,
    engine: Engine,
    read: Callable[..., Any],
    parts: Sequence[Sequence[Any]],
    quality: str,
    device: torch.device,
) -> Side:
    """Return the side that reads one part per round, in the batch size that suits the engine.

    Args:
        peer: the peer's name.
        engine: of the peer.
        read: its `encode` or `predict`, which take the rows and `batch_size`.
        parts: rows of every round.
        quality: of its results.
        device: that it computes on.
    """
    size = best_batch_size(lambda n: read(parts[0][:TRIED], batch_size=n), device)
    return Side(
        f"{peer}, {engine.name}, batch {size}",
        lambda r: read(parts[r], batch_size=size),
        peak_dtype(engine),
        quality=quality,
    )


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
    rows = [
        dict(model.tokenizer(*row, truncation=True, max_length=128, return_tensors="np"))
        for row in source.rows
    ]
    config = OVConfig(quantization_config=OVQuantizationConfig(num_samples=len(rows)))
    OVQuantizer.from_pretrained(model.transformers_model).quantize(
        nncf.Dataset(rows), ov_config=config
    )
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


WAYS: dict[str, Sequence[Callable[[Source], Engine]]] = {
    "OpenVINO": (_openvino, _openvino_int8),
    "ONNX": (_onnx, _onnx_int8),
}
