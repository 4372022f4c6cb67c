"""The command line of `python -m evaluation`; no work and no heavy imports."""

from dataclasses import dataclass
from pathlib import Path

from minbert.config import POOLINGS
from runtime.options import option

DESCRIPTION = """\
Measure encoders as SimCSE's papers, SentEval and MTEB do, in one table: semantic
textual similarity, transfer tasks, pair classification, HANS, and the geometry of
the embeddings. Each distinct text is encoded once; embeddings are cached on disk."""

EPILOG = """\
examples:
  all suites on the included synthetic sets:
    python -m evaluation --backbone mini-sts mini
  the same with all baselines, built on the first encoder:
    python -m evaluation --backbone mini --baselines
  a tuned encoder, compared with mini:
    python -m evaluation --backbone mini runs/backbones/sup-* --suite sts geometry
  published sets:
    python -m data.download sts transfer hans
    python -m evaluation --backbone bert-base-uncased --data downloads --csv results.csv

Sets that are not found are reported and left out.
Exit codes: 0 success, 2 invalid input, 130 interrupted, 1 a bug in this project."""

SUITES = ("sts", "transfer", "pairs", "hans", "geometry")


@dataclass(frozen=True)
class EvaluationOptions:
    """The options of the command line."""

    backbone: tuple[str, ...] = option(
        (),
        "encoders to measure: mini-sts, mini, checkpoint folders, hub IDs; random:NAME is the same "
        "encoder with random weights",
        metavar="NAME",
        required=True,
        group="models and suites",
    )
    suite: tuple[str, ...] = option(
        SUITES,
        "sts: correlation with human scores; transfer: SentEval's logistic regressions; pairs: "
        "pair classification; hans: word overlap or entailment; geometry: alignment, uniformity",
        choices=SUITES,
    )
    sets: tuple[str, ...] = option((), "only these sets, such as STS12 MRPC", metavar="SET")
    baselines: bool = option(
        False,
        "add the baselines, built on the first backbone; six of them are trained for it (minutes "
        "with mini, and reused later)",
    )
    data: tuple[str, ...] = option(
        ("bundled",),
        "folders searched in this order for each set, at any depth, in the published "
        "formats; bundled: "
        "the synthetic sets",
        metavar="DIR",
        group="data",
    )
    glove: Path | None = option(
        None,
        "word vectors in GloVe's text format, for the baseline of averaged static embeddings "
        "(default: the word embeddings of the encoder)",
        metavar="FILE",
    )
    unsup_data: Path | None = option(
        None,
        "sentences that --baselines tunes on (default: wiki1m_for_simcse.txt of the folders)",
        metavar="FILE",
    )
    sup_data: Path | None = option(
        None,
        "triplets that --baselines tunes on (default: nli_for_simcse.csv of the folders)",
        metavar="FILE",
    )
    trained_on: tuple[Path, ...] = option(
        (),
        "files that the backbones were trained on, for the leak audit; not needed for "
        "encoders tuned by this project",
        metavar="FILE",
    )
    json: Path | None = option(
        None, "write all results to this file", metavar="FILE", group="output"
    )
    csv: Path | None = option(
        None, "write all results to this file, one number per row", metavar="FILE"
    )
    predictions: Path | None = option(
        None,
        "write predictions to this folder in the HANS format, one file per model",
        metavar="DIR",
    )
    pooling: str | None = option(
        None,
        "pooling of all backbones (default: from each checkpoint, otherwise [CLS])",
        choices=POOLINGS,
        group="computation",
    )
    seed: int = option(42, "seed of weights, baselines and heads", least=0, most=2**31)
    device: str = option("auto", "where to compute", choices=("auto", "cpu", "cuda"))
    precision: str = option(
        "auto",
        "precision of the matrix products",
        choices=("auto", "float32", "bfloat16"),
        rare=True,
    )
    threads: int = option(
        0, "CPU threads; 0: the default of PyTorch", least=0, most=4096, rare=True
    )
    run_dir: Path = option(
        Path("runs"), "folder of the cache and of trained baselines", metavar="DIR"
    )
