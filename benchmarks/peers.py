"""The peers: sentence-transformers, and engines that compute its BERT.

This file is not part of the product, which is compared with it. An engine replaces BERT in a
SentenceTransformer or CrossEncoder; tokenizing, padding, pooling and the classifier are not
changed. Engines are optional and for CPUs: one that does not load is left out of the table, with a
line that gives the reason.
"""

import copy
import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.engine import Side, best_batch_size
from benchmarks.inputs import Bench
from runtime.device import has_vnni

PADDED = dict[str, Tensor]
Run = Callable[[Tensor, Tensor, Tensor], Tensor]  # ids, mask, types (B, T) to states (B, T, H)
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
CALIBRATION_ROWS = 128  # required by OpenVINO's quantisation
TRIED = 128  # texts or pairs to choose the batch size


def prepare() -> None:
    """Keep the peers' progress bars and load reports off the table.

    transformers imports torchvision if it is installed, and fails if it was built for another
    torch. Images are not used here.
    """
    try:
        import_module("torchvision")
    except Exception:  # ImportError if it is absent, RuntimeError if it does not fit
        sys.modules["torchvision"] = None  # type: ignore[assignment]
    with suppress(ImportError):
        # Loaded after zentorch its results are wrong (4.8.5 with 2.13.0.2: mean cosine 0.01).
        import_module("ctranslate2")
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)


def sentence_transformer(
    folder: Path, device: torch.device, dtype: torch.dtype | None = None
) -> Any:
    """Return a SentenceTransformer; by default it uses the checkpoint's precision."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device=str(device), model_kwargs={"dtype": dtype})


def cross_encoder(folder: Path, device: torch.device, dtype: torch.dtype | None = None) -> Any:
    """Return a CrossEncoder with one logit, read without a sigmoid."""
    from sentence_transformers import CrossEncoder

    return CrossEncoder(
        str(folder),
        num_labels=1,
        device=str(device),
        activation_fn=nn.Identity(),
        model_kwargs={"dtype": dtype},
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
    dtype: torch.dtype | None  # of the products, if in floating point

    def side(
        self,
        peer: str,
        read: Callable[..., Any],
        parts: Sequence[Sequence[Any]],
        quality: str,
        device: torch.device,
    ) -> Side:
        """Return the side that reads one part per round, with its fastest batch size.

        `read` is the model's `encode` or `predict`, which take the rows and `batch_size`.
        """
        size = best_batch_size(lambda n: read(parts[0][:TRIED], batch_size=n), device)
        # The peak is PyTorch's, whose float32 products are half as fast as ONNX Runtime's on some
        # processors.
        dtype = None if self.dtype == torch.float32 else self.dtype
        name = f"{peer}, {self.name}, batch {size}"
        return Side(name, lambda r: read(parts[r], batch_size=size), dtype, quality=quality)


@dataclass(frozen=True)
class Source:
    """The inputs for making an engine."""

    bert: Any  # transformers' BertModel in float32
    tokenizer: Any
    folder: Path  # its checkpoint
    scratch: Path
    rows: Sequence[tuple[str, ...]]  # texts or pairs, to calibrate int8 with
    precision: str  # "int8", or the name of a type of PyTorch's


def engines(
    bench: Bench,
    make: Callable[..., Any],
    folder: Path,
    rows: Sequence[tuple[str, ...]],
    best_only: bool = False,
) -> tuple[list[Engine], list[str]]:
    """Return the engines that load, and a line for each that does not; on a GPU neither.

    `make`, sentence_transformer or cross_encoder, reads the checkpoint in `folder`; int8 is
    calibrated with some of the rows. With `best_only` all compute in this machine's best precision.
    """
    loaded: list[Engine] = []
    skipped: list[str] = []
    for library, known, way in ENGINES if bench.device.type == "cpu" else []:
        if known and best_only:
            continue
        precision = known or bench.precision
        name = f"{library}, {precision}"
        try:
            with quiet():
                model = make(folder, bench.device, torch.float32).eval()
                tokenizer, few = model.tokenizer, rows[:CALIBRATION_ROWS]
                whole = model[0].model  # a BertModel, or what has one and a classifier
                bert = whole.base_model
                source = Source(bert, tokenizer, folder, bench.scratch, few, precision)
                engine = Backbone(bert, way(source))
                if whole is bert:
                    model[0].model = engine
                    model.encode([text for (text,) in rows[:2]])  # it must compute, too
                else:
                    setattr(whole, whole.base_model_prefix, engine)
                    model.predict(rows[:2])
        except Exception as error:  # engines may raise any exception
            reason = str(error).strip().partition("\n")[0]
            skipped.append(f"{name}: {reason}; pip install -r requirements-bench.txt")
        else:
            dtype = None if precision == "int8" else getattr(torch, precision)
            loaded.append(Engine(name, model, dtype))
    return loaded, skipped


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the messages of engines during loading out of the table."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


class Backbone(nn.Module):
    """An engine that replaces BERT, with BERT's pooler if it has one."""

    def __init__(self, bert: Any, run: Run):
        super().__init__()
        self.config, self.pooler, self.run = bert.config, bert.pooler, run

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, **_: Any
    ) -> Any:
        """Return outputs as transformers' BertModel: last states (B, T, H), and pooled [CLS]."""
        from transformers.modeling_outputs import BaseModelOutputWithPooling

        states = self.run(input_ids, attention_mask, token_type_ids)
        pooled = None if self.pooler is None else self.pooler(states)
        return BaseModelOutputWithPooling(states, pooled)


class Traced(nn.Module):
    """BERT for programs that trace its operations, on an example of two texts of eight tokens."""

    example = (torch.ones(2, 8, dtype=torch.int64),) * 2 + (torch.zeros(2, 8, dtype=torch.int64),)

    def __init__(self, bert: Any):
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the last states, (B, T, H)."""
        states: Tensor = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        return states


def _openvino(source: Source) -> Run:
    """Compile with OpenVINO; int8 is static, of weights and states.

    It is made as by sentence-transformers' export_static_quantized_openvino_model, which would
    download its rows.
    """
    import openvino

    model = openvino.convert_model(Traced(source.bert), example_input=Traced.example)
    if source.precision == "int8":
        import nncf

        tokens = [
            dict(source.tokenizer(*row, truncation=True, max_length=128, return_tensors="np"))
            for row in source.rows
        ]
        rows = nncf.Dataset([[row[name] for name in INPUTS] for row in tokens])
        # Without VNNI weights have seven bits, as ours have.
        fix = nncf.OverflowFix.DISABLE if has_vnni() else nncf.OverflowFix.ENABLE
        model = nncf.quantize(
            model,
            rows,
            model_type=nncf.ModelType.TRANSFORMER,
            subset_size=len(tokens),
            advanced_parameters=nncf.AdvancedQuantizationParameters(overflow_fix=fix),
        )
    settings = {
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32" if source.precision == "float32" else "bf16",
    }
    compiled = openvino.Core().compile_model(model, "CPU", settings)
    return lambda *inputs: torch.from_numpy(compiled([x.numpy() for x in inputs])[0])


def _onnx(source: Source) -> Run:
    """Export for ONNX Runtime; int8 is dynamic: states are quantised as they come.

    It has no bfloat16 for CPUs (1.32: "Could not find an implementation for Add(14)").
    """
    import onnxruntime

    path = str(source.scratch / f"{source.folder.name}.onnx")
    lengths = {name: {0: "B", 1: "T"} for name in (*INPUTS, "states")}
    # The graph of the newer exporter (dynamo=True) gave other results.
    torch.onnx.export(
        Traced(source.bert),
        Traced.example,
        path,
        input_names=list(INPUTS),
        output_names=["states"],
        dynamic_axes=lengths,
        dynamo=False,
    )
    if source.precision == "int8":
        from onnxruntime.quantization import QuantType, quantize_dynamic

        full, path = path, path.replace(".onnx", "-int8.onnx")
        quantize_dynamic(
            full, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=not has_vnni()
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def run(*inputs: Tensor) -> Tensor:
        (states,) = session.run(None, {n: x.numpy() for n, x in zip(INPUTS, inputs, strict=True)})
        return torch.from_numpy(states)

    return run


def _ctranslate2(source: Source) -> Run:
    """Convert for CTranslate2, which has no bfloat16 for CPUs; int8 has scales of every token."""
    import ctranslate2

    folder = str(source.scratch / f"{source.folder.name}-ctranslate2")
    converter = ctranslate2.converters.TransformersConverter(str(source.folder))
    converter.convert(folder, quantization=source.precision, force=True)
    threads = torch.get_num_threads()
    encoder = ctranslate2.Encoder(folder, compute_type=source.precision, intra_threads=threads)

    def run(input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        # The library neither copies these arrays nor keeps references to them.
        ids, lengths = input_ids.int().numpy(), attention_mask.sum(1).int().numpy()
        views = map(ctranslate2.StorageView.from_array, (ids, lengths))
        output = encoder.forward_batch(*views, token_type_ids.tolist())
        return torch.from_numpy(np.array(output.last_hidden_state))

    return run


def _zentorch(source: Source) -> Run:
    """Compile with AMD's plug-in for torch.compile, with frozen weights, as its guide has it."""
    import zentorch  # noqa: F401  (it registers itself)
    from torch._inductor import config

    config.freezing = True  # nothing else here is compiled
    model = Traced(copy.deepcopy(source.bert).to(getattr(torch, source.precision)))
    compiled = torch.compile(model, backend="zentorch", dynamic=True)
    return lambda *inputs: compiled(*inputs).float()


# Library, precision (None: the machine's best), and how it is made.
ENGINES: Sequence[tuple[str, str | None, Callable[[Source], Run]]] = (
    ("OpenVINO", None, _openvino),
    ("OpenVINO", "int8", _openvino),
    ("ONNX Runtime", "float32", _onnx),
    ("ONNX Runtime", "int8", _onnx),
    ("CTranslate2", "int8", _ctranslate2),
    ("zentorch", None, _zentorch),
)
