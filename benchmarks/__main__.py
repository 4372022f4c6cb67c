"""Speed beside the peers and beside the machine's limit: `python -m benchmarks`."""

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from minbert.runtime import MachineError, choose_device, choose_precision
from report.options import positive

from benchmarks import peers
from benchmarks.material import Bench, sentences
from benchmarks.measure import Figure, matmul_peak, measure
from data.examples import DataError
from minbert.config import CheckpointError

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
)
TEXTS = 4000
EPILOG = """works:
  encode        2,000 sentences to vectors, 400 a round; bert-base's shape, MiniLM
  simcse_step   one unsup and one sup training step; bert-base's shape
  grad_cache    a step of 512 triplets, at once and in chunks: memory; bert-base's shape
  heads         20 epochs of the STS head, 10 of the SST head; frozen MiniLM
  cross         2,000 pairs scored by a cross-encoder, 400 a round; MiniLM
  mlm           pre-training; mini's shape
  tokenization  texts to token ids, and a stream of a million lines
  startup       --help and imports
  growth        encoding against number of sentences, length, threads; mini

Both sides of a comparison are first checked to compute the same thing (scikit-learn's heads are
others). seconds: median of the rounds; ratio: how many times faster the first side is; of peak:
the real tokens' arithmetic a second, as a share of the fastest matrix product in the same
precision; MiB: highest memory during the work above that before it."""


def parse_options(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=WORKS, metavar="WORK", help="some works")
    parser.add_argument("--gpu", action="store_true", help="on a CUDA device instead of the CPU")
    parser.add_argument("--data", metavar="DIR", help="CS224N files to take the sentences from")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--rounds", type=positive, default=5, help="of every comparison (5)")
    parser.add_argument("--threads", type=positive, help="of PyTorch, on both sides (all)")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table as it grows; return 0, or 2 where something is missing."""
    args = parse_options(argv)
    try:
        return run(args)
    except (CheckpointError, DataError, MachineError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
    except ModuleNotFoundError as error:
        print(f"error: {error}; pip install -r requirements-bench.txt", file=sys.stderr)
    return 2


def run(args: argparse.Namespace) -> int:
    """Measure work after work."""
    if args.threads:
        torch.set_num_threads(args.threads)
    device = choose_device("cuda" if args.gpu else "cpu")
    peers.quieten()
    machine = describe(device)
    print("\n".join(f"{key:23}{value}" for key, value in machine.items()), flush=True)
    figures: list[Figure] = []
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(device, args.rounds, sentences(args.data, TEXTS), Path(scratch))
        for name in args.only or WORKS:
            for work in import_module(f"benchmarks.works.{name}").works(bench):
                figures += measure(work, device)
                print(table(figures[-len(work.sides) :]), flush=True)
                write(args.json, machine, figures)  # now, so that nothing measured is lost
    where = f": {args.json}" if args.json else ""
    print(f"\n{len(figures)} figures in {time.perf_counter() - started:.0f} s{where}")
    return 0


def write(path: Path | None, machine: dict[str, Any], figures: Sequence[Figure]) -> None:
    """Write what there is so far."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        report = {"machine": machine, "figures": [asdict(figure) for figure in figures]}
        path.write_text(json.dumps(report, indent=1) + "\n")


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
        f"  {'':46}{'seconds':>9}{first.unit + '/s':>13}{'ratio':>8}{'of peak':>9}{'MiB':>8}"
    ]
    for figure in figures:
        share = "-" if figure.peak_share is None else f"{figure.peak_share:.0%}"
        memory = "-" if (figure.memory_mib or 0) < 1 else f"{figure.memory_mib:.0f}"
        lines.append(
            f"  {figure.side:46}{figure.seconds:9.3f}{figure.rate:13.1f}"
            f"{figure.ratio:8.2f}{share:>9}{memory:>8}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
