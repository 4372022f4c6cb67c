"""The command line of `python -m experiment.ablate`; no work and no heavy imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiment.ablate.recipes import SCALES
from runtime.errors import UserError
from runtime.options import option, parse

DESCRIPTION = """Measure a table of a paper again: its rows, with several seeds, beside what was
published, and which of the paper's orderings hold. Without a name, or with --list: all tables."""

EPILOG = """examples:
  in minutes, with raw sentences of yours:
    python -m experiment.ablate dropout temperature --unsup-data sentences.txt --threads 1
  the paper's recipe, on a GPU; first what it would cost:
    python -m experiment.ablate dropout --scale paper --backbone bert-base-uncased --dry-run

Leaves OUT/NAME.csv, .json, .svg and .html. The same command again computes nothing again; an
interrupted one goes on. Two commands may share OUT. Exit codes: as run_multitask.py; 2 also where a
row could not be measured."""


@dataclass(frozen=True)
class AblateOptions:
    """The options of `python -m experiment.ablate`."""

    names: tuple[str, ...] = option((), "tables; all for all", flag="names", metavar="NAME")
    list: bool = option(False, "show all tables: rows, what they need, and their price")
    scale: str = option(
        "quick",
        "quick: minutes per table, for a small encoder; paper: as published",
        choices=SCALES,
    )
    rows: tuple[str, ...] = option((), "measure only these rows", metavar="ROW")
    seeds: int = option(3, "repeat with N seeds", least=1, most=1000)
    seed: int = option(42, "the first seed", least=0, most=2**31)
    steps: int | None = option(
        None, "contrastive steps of a batch of 64; other sizes see as many examples", least=1
    )
    rate_factor: float = option(
        1.0, "multiplies all contrastive learning rates, for larger encoders", least=1e-6, most=1e6
    )
    backbone: str = option("mini", "as of run_multitask.py", metavar="NAME")
    data: str = option("bundled", "folder with the STS files to score by", metavar="NAME")
    unsup_data: str | None = option(
        None, "sentences, one per line; raw ones: synthetic ones are too easy", metavar="FILE"
    )
    sup_data: str | None = option(None, "sent0,sent1,hard_neg CSV", metavar="FILE")
    documents: str | None = option(
        None, "sentences in their order, a blank line between documents", metavar="FILE"
    )
    sources: tuple[str, ...] = option(
        (),
        "what triplets are made of, for supervised-data: nli (premise, hypothesis, label TSV), "
        "quora, pairs, captions, anli, as python -m data.triplets reads them",
        flag="--from",
        metavar="FORM=FILE",
    )
    device: str = option("auto", "as of run_multitask.py", choices=("auto", "cpu", "cuda"))
    precision: str = option(
        "auto", "as of run_multitask.py", choices=("auto", "float32", "bfloat16")
    )
    threads: int | None = option(None, "CPU threads (all)", least=1, most=1000)
    out: Path = option(Path("runs/ablate"), "where results go", metavar="DIR")
    dry_run: bool = option(
        False, "measure a few steps; print steps, projected hours and memory, and stop"
    )

    def source(self, form: str) -> Path:
        """Return the file of a form of pairs.

        Raises:
            UserError: --from names none.
        """
        for one in self.sources:
            name, _, path = one.partition("=")
            if name == form and path:
                return Path(path)
        raise UserError(f"no pairs of the form {form}; name them: --from {form}=FILE")


def parse_options(argv: Sequence[str] | None = None) -> AblateOptions:
    """Return the options; `--help` and wrong flags end the program here, with codes 0 and 2."""
    about = {"description": DESCRIPTION, "epilog": EPILOG, "prog": "python -m experiment.ablate"}
    return parse(AblateOptions, argv, **about)
