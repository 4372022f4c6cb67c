"""The command line of `python -m benchmarks`; no heavy imports."""

from dataclasses import dataclass
from pathlib import Path

from runtime.errors import UserError
from runtime.options import option

# A kind of work is a function of this name in that module of benchmarks/.
WORKS = {
    "encode": "encoding",
    "simcse_step": "training",
    "grad_cache": "training",
    "cross": "encoding",
    "search": "search",
    "growth": "growth",
}
GONE = {
    "busy": "its figures are in docs/log.md",
    "shares": "use PyTorch's profiler; its figures are in docs/log.md",
}
USUAL = tuple(name for name in WORKS if name != "growth")
EPILOG = """works:
  encode        2,000 sentences to embeddings, 400 per round, MiniLM and mini; half of them,
                bert-base's shape
  simcse_step   one unsup and one sup training step; bert-base's shape
  grad_cache    a step of 192 triplets, at once and in chunks: memory; bert-base's shape
  cross         2,000 pairs scored by a cross-encoder, 400 per round; MiniLM
  search        10 nearest of 100 queries among a million vectors; pairs above 0.9 among 10,000
  growth        encoding, steps, search and report, at 1, 10 and 100 times the size; no peers;
                takes five to ten minutes, and is done where it is named only

Both sides of a comparison are first checked to compute the same thing. seconds: median of the
rounds; ratio: how many times faster the first side is; of peak: the real tokens' arithmetic per
second, as a share of the fastest matrix product in the same precision; MiB: highest memory during
the work above that before it, in the first round, whose time counts only where it is the only one;
others: cores that other programs took in the worst round ("?": the system does not say). A round
that they disturbed is timed again, a few times; a figure that could not be had quietly is marked.
quality: beside float32's. The longest of the peers' sides take fewer rounds. OpenVINO, ONNX
Runtime, CTranslate2, zentorch and faiss are optional."""


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    only: tuple[str, ...] = option(
        (), f"some of {', '.join(WORKS)} (all but growth)", metavar="WORK"
    )
    gpu: bool = option(False, "on a CUDA device instead of the CPU")
    checkpoint: str | None = option(
        None, "a folder or hub id to encode with, instead of three usual encoders", metavar="NAME"
    )
    data: str | None = option(None, "CS224N files to take the sentences from", metavar="DIR")
    json: Path | None = option(
        None, "also write the figures there, and growth's picture beside it", metavar="FILE"
    )
    rounds: int = option(4, "of a comparison, at most; the first warms up", least=1, most=1e12)
    processor: str = option(
        "any",
        "refuse a processor of another kind: with bfloat16; avx2: with neither bfloat16 nor VNNI",
        choices=("any", "bfloat16", "avx2"),
    )
    threads: int | None = option(None, "of PyTorch, on both sides (all)", least=1, most=1000)

    def __post_init__(self) -> None:
        for work in self.only:
            if work in GONE:
                raise UserError(f"--only {work} is gone since 1.1: {GONE[work]}")
            if work not in WORKS:
                raise UserError(f"--only {work}: expected one of {', '.join(WORKS)}")
