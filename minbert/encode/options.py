"""The command line of `python -m minbert.encode`; no work and no heavy imports."""

from dataclasses import dataclass
from pathlib import Path

from minbert.config import POOLINGS
from minbert.encode.texts import USUAL
from runtime.options import option

PROGRAM = "python -m minbert.encode"
DESCRIPTION = """\
Encode the texts of files into DIR/vectors, one file per shard with the columns id and
vector. Files are read as streams, so memory does not grow with them. Run the same
command again to continue after an interruption; complete shards are not encoded again."""
EXAMPLES = """\
examples:
  python -m minbert.encode wiki1m_for_simcse.txt --backbone runs/backbones/sup-1a2b --out vectors
  python -m minbert.encode quora.tsv --column question --id-column qid --out vectors
  python -m minbert.encode texts-*.txt.gz --out vectors --ray --workers 8

A file is text (one text per line; empty lines are skipped), a table with a header, JSON lines, or
.parquet; all but .parquet also as .gz, .xz or .bz2. docs/scale.md has more.
Exit codes: 0 success, 2 invalid input, 130 interrupted, 1 a bug in this project."""


@dataclass(frozen=True)
class EncodeOptions:
    """The options of the command line."""

    files: tuple[Path, ...] = option(
        help="input files; their names must differ", flag="files", metavar="FILE", required=True
    )
    out: Path = option(help="folder to write into", required=True, metavar="DIR")
    column: str = option(USUAL, "text column of a table", metavar="NAME")
    id_column: str | None = option(
        None, "ID column of a table (default: FILE:LINE)", metavar="NAME"
    )
    backbone: str = option(
        "mini-sts", "mini-sts, mini, a checkpoint folder or a hub ID", metavar="NAME"
    )
    pooling: str | None = option(
        None, "pooling (default: from the checkpoint, otherwise [CLS])", choices=POOLINGS
    )
    max_length: int | None = option(
        None, "maximum tokens per text (default: from the checkpoint)", least=3, most=100_000
    )
    normalize: bool = option(False, "scale vectors to length 1")
    float16: bool = option(False, "store vectors as float16, in half the space")
    format: str = option(
        "auto",
        "format of a shard; auto: parquet if pyarrow is installed",
        choices=("auto", "parquet", "npz"),
    )
    shard_rows: int = option(32_768, "texts per shard", least=1, most=10_000_000)
    device: str = option(
        "auto",
        "where to encode; auto: a GPU if there is one",
        choices=("auto", "cpu", "cuda"),
        group="machine",
    )
    precision: str = option(
        "auto",
        "precision of the encoder; auto: bfloat16 if the hardware has it; int8: faster on a CPU, "
        "less exact",
        choices=("auto", "float32", "bfloat16", "int8"),
    )
    batch_tokens: int | None = option(
        None, "tokens per forward pass (default: by device)", least=1, most=10_000_000, rare=True
    )
    threads: int = option(
        0, "CPU threads per process; 0: the default of PyTorch (1 with --ray)", least=0, most=4096
    )
    ray: bool = option(False, "encode on a Ray cluster (pip install -e '.[scale]')")
    workers: int | None = option(
        None, "with --ray: processes that encode (all GPUs, else all CPUs)", least=1, most=100_000
    )
