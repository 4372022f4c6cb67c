"""Does contrastive tuning on synthetic data help on other data? Cosines without a head, over seeds.

    python run_multitask.py --pretrain none unsup sup --task sts --reader bi --seeds 5
    python -m data.synthetic.probes.carry_over RUN --synthetic data/bundled --data DATA

The encoders are those of a finished run, one per contrastive objective and seed. The sets are the
dev and test pairs of the run and, if DATA has them, the dev pairs of CS224N's STS and the official
STS-Benchmark. Prints Spearman's correlation: mean and standard deviation over seeds.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.examples import SentencePair
from data.locate import MissingSet, find_task
from data.suites import read_sts_set
from data.tasks import COURSE, read_task
from evaluation.cosine import sts_metrics
from evaluation.geometry import pair_geometry
from evaluation.metrics import is_labelled
from minbert.config import POOLINGS
from minbert.encoder import SentenceEncoder
from runtime.commands import begin, exit_code
from runtime.errors import UserError
from runtime.files import write_text
from runtime.options import option, parse
from runtime.progress import progress

Sets = dict[str, list[SentencePair]]
# Objective -> set -> Spearman, alignment and uniformity per seed.
Scores = dict[str, dict[str, list[dict[str, float | None]]]]
MEASURES = ("spearman", "alignment", "uniformity")


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    run: Path = option(
        help="the folder of a finished run", flag="run", metavar="RUN", required=True
    )
    synthetic: Path = option(help="data that the run was tuned on", metavar="DIR", required=True)
    data: Path = option(help="other data, searched at any depth", metavar="DIR", required=True)
    pooling: str | None = option(None, "pooling (default: from each checkpoint)", choices=POOLINGS)
    csv: Path | None = option(
        None, "also write the table, with alignment and uniformity, to this file", metavar="FILE"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 0, or 2 if a run or a set is missing."""
    options = parse(
        Options, argv, prog="python -m data.synthetic.probes.carry_over", description=__doc__
    )
    return exit_code(lambda: run(options))


def run(options: Options) -> None:
    """Measure, print and, if asked, write."""
    sets = read_sets(options.synthetic, options.data)
    scores = measure(backbones(options.run), sets, options.pooling)
    print(table(scores))
    if options.csv:
        write_text(options.csv, to_csv(scores))
        print(f"\ntable: {options.csv}")


def read_sets(synthetic: Path, real: Path) -> Sets:
    """Return the pairs of all sets, by name.

    Raises:
        DataError: a missing or broken file of the tasks.
    """
    sets: Sets = {}
    found = find_task(real, COURSE["sts"]) or real  # whose reader then reports the missing files
    for title, folder in (("synthetic", synthetic), ("CS224N", found)):
        splits = read_task(folder, "sts")
        for part in ("dev", "test"):
            examples = getattr(splits, part)
            if examples and is_labelled(examples):
                sets[f"{title} {part}"] = list(examples)
    try:
        sets["STS-B test"] = read_sts_set(real, "STSBenchmark")["test"]
    except MissingSet as missing:
        print(f"left out: {missing}", file=sys.stderr)
    return sets


def backbones(run: Path) -> dict[str, list[Path]]:
    """Return the backbones of a run by objective, in the order of their seeds.

    Raises:
        UserError: there are none.
    """
    found: dict[str, list[Path]] = {}
    for path in sorted((run / "backbones").glob("*")):
        found.setdefault(path.name.rpartition("-")[0] or path.name, []).append(path)
    if not found:
        raise UserError(f"{run}: has no backbones/; give the folder of a finished run")
    return found


def measure(found: dict[str, list[Path]], sets: Sets, pooling: str | None = None) -> Scores:
    """Return the scores of every backbone's embeddings on every set."""
    scores: Scores = {}
    total = sum(map(len, found.values()))
    with progress("carry over", total, "encoder") as bar:
        for name, folders in found.items():
            for folder in folders:
                encoder = SentenceEncoder.from_pretrained(str(folder.resolve()), pooling)
                for title, pairs in sets.items():
                    values = sts_metrics(encoder.encode_quietly, pairs)
                    values |= pair_geometry(encoder.encode_quietly, pairs)
                    scores.setdefault(name, {}).setdefault(title, []).append(values)
                bar.update(1)
    return scores


def table(scores: Scores) -> str:
    """Return mean ± standard deviation as Markdown; for one seed, only its value."""
    sets = list(next(iter(scores.values())))
    lines = ["| encoder | " + " | ".join(sets) + " |", "|---|" + "---|" * len(sets)]
    for name, row in scores.items():
        lines.append(f"| {name} | " + " | ".join(_shown(row[title]) for title in sets) + " |")
    return "\n".join(lines)


def to_csv(scores: Scores) -> str:
    """Return a line per encoder, set and seed's number."""
    lines = [",".join(("encoder", "set", "number", *MEASURES))]
    for name, row in scores.items():
        for title, values in row.items():
            for number, value in enumerate(values, start=1):
                own = (f"{value[one] or 0.0:.4f}" for one in MEASURES)
                lines.append(",".join((name, title, str(number), *own)))
    return "\n".join(lines) + "\n"


def _shown(found: list[dict[str, float | None]]) -> str:
    values = [one["spearman"] or 0.0 for one in found]
    if len(values) == 1:
        return f"{values[0]:.3f}"
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"


if __name__ == "__main__":
    begin()
    sys.exit(main())
