"""Run all works one after another, print their tables and write the figures."""

import ctypes
import json
import platform
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from benchmarks import peers
from benchmarks.engine import Figure, matmul_peak, measure
from benchmarks.inputs import Bench, files_of, sentences, similar_pairs
from benchmarks.options import WORKS, Options
from benchmarks.quiet import QUIET, Others
from evaluation.table import markdown
from minbert.fast.int8 import check_int8, int8_in_words
from runtime.device import choose_device, choose_precision, has_vnni, instructions
from runtime.errors import MachineError, UserError
from runtime.files import check_outputs, write_text

TEXTS = 4000
PAIRS = 300
CPUINFO = Path("/proc/cpuinfo")
PACKAGES = (
    "torch",
    "transformers",
    "sentence-transformers",
    "openvino",
    "nncf",
    "onnxruntime",
    "ctranslate2",
    "zentorch",
    "faiss-cpu",
)


def run(options: Options) -> None:
    """Measure work after work.

    Raises:
        UserError: a peer or the data is missing; a processor of another kind than requested.
    """
    if options.processor not in ("any", kind := kind_of_processor()):
        raise MachineError(f"--processor {options.processor}: this one is of the kind {kind}")
    if options.threads:
        torch.set_num_threads(options.threads)
    device = choose_device("cuda" if options.gpu else "cpu")
    check_outputs([options.json], files_of(options.data))
    figures: list[Figure] = []
    started = time.perf_counter()
    try:
        peers.prepare()
        machine = describe(device)
        print("\n".join(f"{key:23}{value}" for key, value in machine.items()), flush=True)
        texts, similar = sentences(options.data, TEXTS), similar_pairs(options.data, PAIRS)
        with tempfile.TemporaryDirectory() as scratch:
            bench = Bench(device, options.rounds, texts, Path(scratch), similar, options.checkpoint)
            for name in options.only or WORKS:
                begun = time.perf_counter()
                module = import_module(f"benchmarks.{WORKS[name]}")
                for work in getattr(module, name)(bench):
                    measured = measure(work, device)
                    figures += measured
                    print(table(measured), flush=True)
                    for line in work.skipped:
                        print(f"  skipped: {line}", flush=True)
                    if options.json:  # written after every work, so no figure is lost
                        rows = [asdict(f) | {"disturbed": f.disturbed} for f in figures]
                        report = {"machine": machine, "figures": rows}
                        write_text(options.json, json.dumps(report, indent=1) + "\n")
                print(f"\n{name} took {time.perf_counter() - begun:.0f} s", flush=True)
    except ModuleNotFoundError as error:
        raise UserError(f"{error}; pip install -r requirements-bench.txt") from None
    where = f": {options.json}" if options.json else ""
    print(f"\n{len(figures)} figures in {time.perf_counter() - started:.0f} s{where}")
    print(quietness(figures))


def kind_of_processor() -> str:
    """Return the kind that `--processor` names: bfloat16, avx512 or avx2; or vnni or other."""
    widest = instructions()
    if widest in ("amx_bf16", "avx512_bf16"):
        return "bfloat16"
    return "vnni" if has_vnni() else {"avx512_f": "avx512"}.get(widest, widest)


def describe(device: torch.device) -> dict[str, Any]:
    """Return the properties that the figures depend on."""
    others = Others()
    best = choose_precision("auto", device)
    machine: dict[str, Any] = {"device": str(device), "processor": processor(device)}
    machine["threads"] = threads = torch.get_num_threads()
    for dtype in dict.fromkeys((best, torch.float32)):
        name = str(dtype).removeprefix("torch.")
        machine[f"peak {name}"] = f"{matmul_peak(dtype, device, threads) / 1e12:.2f} TFLOP/s"
    cores = others.cores()  # while the peaks were measured
    machine["others"] = "not known here" if cores is None else f"{cores:.2f} cores busy"
    machine["int8"] = int8_of(device)
    return machine | {name: installed(name) for name in PACKAGES}


def int8_of(device: torch.device) -> str:
    """Return how int8 is computed here, or that it is not available."""
    try:
        return int8_in_words(check_int8(device))
    except MachineError as error:
        return str(error)


def installed(name: str) -> str:
    """Return the version of a package, or that it is missing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def processor(device: torch.device) -> str:
    """Return the name of the processor or GPU, and whether a part of the processor is hidden."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        lines = CPUINFO.read_text().splitlines()
    except OSError:
        return platform.processor()
    first: dict[str, str] = {}
    for line in lines:  # "model name\t: Intel(R) Xeon(R) Processor"; the first core speaks for all
        key, _, value = line.partition(":")
        first.setdefault(key.strip(), value.strip())
    name = first.get("model name", "unknown")
    kind = passes_for()
    return f"{name}, passes for one of the kind {kind} (benchmarks/pass_for.c)" if kind else name


def passes_for() -> str | None:
    """Return the kind of processor that a preloaded `pass_for.c` imitates, None without it."""
    try:
        return (ctypes.c_char_p.in_dll(ctypes.CDLL(None), "passes_for").value or b"").decode()
    except (ValueError, TypeError):  # no such symbol; Windows has no None
        return None


def quietness(figures: Sequence[Figure]) -> str:
    """Return whether other programs disturbed the figures, in one line."""
    disturbed = sum(figure.disturbed for figure in figures)
    if disturbed:
        return (
            f"{disturbed} of them are disturbed: other programs took more than {QUIET} cores, also "
            "when the round was repeated. End them and run this again."
        )
    if any(figure.others is None for figure in figures):
        unknown = sum(figure.others is None for figure in figures)
        short = unknown < len(figures)
        reason = "their rounds are too short" if short else "this system does not say"
        return f"Whether other programs disturbed {unknown} of them is not known: {reason}."
    return f"All are quiet: other programs took at most {QUIET} cores."


def table(figures: Sequence[Figure]) -> str:
    """Return the figures of one work as a Markdown table."""
    first, rows = figures[0], []
    for figure in figures:
        share = "-" if figure.peak_share is None else f"{figure.peak_share:.0%}"
        memory = "-" if (figure.memory_mib or 0) < 1 else f"{figure.memory_mib:.0f}"
        speed = f"{figure.seconds:.3f}", f"{figure.rate:.1f}", f"{figure.ratio:.2f}"
        others = "?" if figure.others is None else f"{figure.others:.2f}"
        if figure.disturbed:
            others += " disturbed"
        rows.append([figure.side, *speed, share, memory, others, figure.quality or "-"])
    header = ("side", "seconds", f"{first.unit}/s", "ratio", "of peak", "MiB", "others", "quality")
    about = f"{first.work}: {first.amount:,.0f} {first.unit}, {first.rounds} rounds"
    return f"\n{about}\n\n{markdown(header, rows)}"
