"""The command line of `python -m benchmarks`; no heavy imports."""

from dataclasses import dataclass
from pathlib import Path

from runtime.errors import UserError
from runtime.options import did_you_mean, option

# Kind of work: a function of this name in this module of benchmarks/.
WORKS = {
    "encode": "encoding",
    "simcse_step": "training",
    "grad_cache": "training",
    "cross": "encoding",
}
EPILOG = """works:
  encode        2,000 sentences to embeddings, 400 per round, MiniLM and mini; half of them,
                bert-base's shape
  simcse_step   one unsup and one sup training step; bert-base's shape
  grad_cache    a step of 192 triplets, at once and in chunks: memory; bert-base's shape
  cross         2,000 pairs scored by a cross-encoder, 400 per round; MiniLM

All sides are first checked to compute the same thing.
  seconds   median of the rounds (slow peers: fewer rounds)
  ratio     how many times as fast the first side is
  of peak   arithmetic per second, as a share of the fastest matrix product in that precision
  MiB       highest additional memory during the first round
  others    cores that other programs used in the worst round ("?" if unknown); disturbed rounds
            are repeated a few times, and marked if that does not help
  quality   compared with float32
OpenVINO, ONNX Runtime, CTranslate2 and zentorch are optional."""


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    only: tuple[str, ...] = option((), f"some of {', '.join(WORKS)} (all)", metavar="WORK")
    gpu: bool = option(False, "on a CUDA device instead of the CPU")
    checkpoint: str | None = option(
        None, "a folder or hub id to encode with, instead of three usual encoders", metavar="NAME"
    )
    data: str | None = option(None, "CS224N files to take the sentences from", metavar="DIR")
    json: Path | None = option(None, "file for the results", metavar="FILE")
    rounds: int = option(4, "most rounds of a comparison; first a warm-up", least=1, most=1e12)
    processor: str = option(
        "any",
        "refuse processors of another kind: with bfloat16, with AVX-512 but neither bfloat16 nor "
        "VNNI (avx512), or with AVX2 alone",
        choices=("any", "bfloat16", "avx512", "avx2"),
    )
    threads: int | None = option(None, "of PyTorch, on both sides (all)", least=1, most=1000)

    def __post_init__(self) -> None:
        for work in self.only:
            if work not in WORKS:
                raise UserError(
                    f"--only {work}: expected one of {', '.join(WORKS)}{did_you_mean(work, WORKS)}"
                )
