"""Speed beside the peers and beside the machine's limit: `python -m benchmarks`."""

import sys

from runtime.commands import begin, exit_code

# Before the other imports, so that Ctrl-C answers at once.
if __name__ == "__main__":
    begin()

import json
import platform
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from benchmarks import peers
from benchmarks.material import Bench, sentences, similar_pairs
from benchmarks.measure import Figure, matmul_peak, measure
from runtime.device import choose_device, choose_precision
from runtime.errors import UserError
from runtime.files import write_text
from runtime.options import option, parse

WORKS = (
    "encode",
    "simcse_step",
    "grad_cache",
    "heads",
    "cross",
    "mlm",
    "tokenization",
    "startup",
    "growth",
    "search",
)
TEXTS = 4000
PAIRS = 300
EPILOG = """works:
  encode        2,000 sentences to embeddings, 400 per round; bert-base's shape, MiniLM, mini
  simcse_step   one unsup and one sup training step; bert-base's shape
  grad_cache    a step of 192 triplets, at once and in chunks: memory; bert-base's shape
  heads         20 epochs of the STS head, 10 of the SST head; frozen MiniLM
  cross         2,000 pairs scored by a cross-encoder, 400 per round; MiniLM
  mlm           pre-training; mini's shape
  tokenization  texts to token ids, and a stream of a million lines
  startup       --help and imports
  growth        encoding against number of sentences, length, threads; mini
  search        10 nearest of 100 queries among a million vectors; pairs above 0.9 among 10,000

Both sides of a comparison are first checked to compute the same thing (scikit-learn's heads are
others). seconds: median of the rounds; ratio: how many times faster the first side is; of peak:
the real tokens' arithmetic per second, as a share of the fastest matrix product in the same
precision; MiB: highest memory during the work above that before it, in the first round, whose time
counts only where it is the only one; quality: beside float32's. The longest of the peers' sides
take fewer rounds. OpenVINO and ONNX Runtime are optional."""


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    only: tuple[str, ...] = option((), "some works (all)", choices=WORKS, metavar="WORK")
    gpu: bool = option(False, "on a CUDA device instead of the CPU")
    data: str | None = option(None, "CS224N files to take the sentences from", metavar="DIR")
    json: Path | None = option(None, "also write the figures there", metavar="FILE")
    rounds: int = option(4, "of a comparison, at most; the first warms up", least=1, most=1e12)
    threads: int | None = option(None, "of PyTorch, on both sides (all)", least=1, most=1000)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table as it grows; return 0, or 2 where something is missing."""
    options = parse(Options, argv, prog="python -m benchmarks", description=__doc__, epilog=EPILOG)
    return exit_code(lambda: _run(options))


def _run(options: Options) -> int:
    try:
        return run(options)
    except ModuleNotFoundError as error:
        raise UserError(f"{error}; pip install -r requirements-bench.txt") from None


def run(options: Options) -> int:
    """Measure work after work."""
    if options.threads:
        torch.set_num_threads(options.threads)
    device = choose_device("cuda" if options.gpu else "cpu")
    peers.quieten()
    machine = describe(device)
    print("\n".join(f"{key:23}{value}" for key, value in machine.items()), flush=True)
    figures: list[Figure] = []
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        texts, similar = sentences(options.data, TEXTS), similar_pairs(options.data, PAIRS)
        bench = Bench(device, options.rounds, texts, Path(scratch), similar)
        for name in options.only or WORKS:
            begun = time.perf_counter()
            for work in import_module(f"benchmarks.works.{name}").works(bench):
                figures += measure(work, device)
                print(table(figures[-len(work.sides) :]), flush=True)
                for line in work.skipped:
                    print(f"  skipped: {line}", flush=True)
                write(options.json, machine, figures)  # now, so that nothing measured is lost
            print(f"\n{name} took {time.perf_counter() - begun:.0f} s", flush=True)
    where = f": {options.json}" if options.json else ""
    print(f"\n{len(figures)} figures in {time.perf_counter() - started:.0f} s{where}")
    return 0


def write(path: Path | None, machine: dict[str, Any], figures: Sequence[Figure]) -> None:
    """Write what there is so far."""
    if path is not None:
        report = {"machine": machine, "figures": [asdict(figure) for figure in figures]}
        write_text(path, json.dumps(report, indent=1) + "\n")


def describe(device: torch.device) -> dict[str, Any]:
    """Return what the figures depend on."""
    best = choose_precision("auto", device)
    packages = ("torch", "transformers", "sentence-transformers", "scikit-learn")
    machine: dict[str, Any] = {"device": str(device), "processor": processor(device)}
    machine["threads"] = torch.get_num_threads()
    for dtype in dict.fromkeys((best, torch.float32)):
        name = str(dtype).removeprefix("torch.")
        machine[f"peak {name}"] = f"{matmul_peak(dtype, device) / 1e12:.2f} TFLOP/s"
    return machine | {name: version(name) for name in packages}


def processor(device: torch.device) -> str:
    """Return the name of the processor or GPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(": ")[1] for x in lines if x.startswith("model name")), "unknown")


def table(figures: Sequence[Figure]) -> str:
    """Return the figures of one work as lines."""
    first = figures[0]
    lines = [
        f"\n{first.work}: {first.amount:,.0f} {first.unit}, {first.rounds} rounds\n"
        f"  {'':54}{'seconds':>9}{first.unit + '/s':>13}{'ratio':>8}{'of peak':>9}{'MiB':>8}"
        "  quality"
    ]
    for figure in figures:
        share = "-" if figure.peak_share is None else f"{figure.peak_share:.0%}"
        memory = "-" if (figure.memory_mib or 0) < 1 else f"{figure.memory_mib:.0f}"
        lines.append(
            f"  {figure.side:54}{figure.seconds:9.3f}{figure.rate:13.1f}"
            f"{figure.ratio:8.2f}{share:>9}{memory:>8}  {figure.quality or '-'}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
