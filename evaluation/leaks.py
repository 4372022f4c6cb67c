"""Leak audit: `python -m evaluation.leaks --trained-on sts-train.csv --data downloads`.

It reports the examples of each evaluation set that occur in files used for training or selection.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.examples import DataError, Example
from runtime.commands import begin, exit_code
from runtime.options import option, parse

DESCRIPTION = """\
Report which sentences and pairs of the evaluation sets are in training files. Case and
punctuation are ignored, so tokenised copies count as the same."""
EPILOG = """\
example, CS224N's reshuffle of STS-Benchmark against the sets it was drawn from:
  python -m evaluation.leaks --trained-on downloads/cs224n/sts-train.csv --data downloads"""


@dataclass(frozen=True)
class LeakOptions:
    """The options of the command line."""

    trained_on: tuple[Path, ...] = option(
        (),
        "files trained on or selected by: CS224N's, triplets (CSV), NLI pairs, sentences, digests",
        metavar="FILE",
        required=True,
    )
    data: tuple[str, ...] = option(
        ("bundled",),
        "folders with the evaluation sets, as for python -m evaluation, and CS224N's files",
        metavar="DIR",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 for wrong input."""
    options = parse(
        LeakOptions, argv, prog="python -m evaluation.leaks", description=DESCRIPTION, epilog=EPILOG
    )

    def work() -> None:
        for line in audit(options):
            print(line, flush=True)

    return exit_code(work)


def audit(options: LeakOptions) -> Iterator[str]:
    """Yield the lines of the audit.

    Raises:
        DataError: a file that is missing or broken, or folders without any set.
    """
    from data.locate import data_folder
    from data.overlap import Seen, overlap
    from data.trained_on import note_file
    from evaluation.table import markdown

    files = [Seen() for _ in options.trained_on]
    for path, seen in zip(options.trained_on, files, strict=True):
        note_file(path, seen)
    sets = scored_sets([data_folder(name) for name in options.data])
    if not sets:
        raise DataError(f"no evaluation set in {', '.join(options.data)}")
    rows: dict[str, list[str]] = {name: [name, f"{len(sets[name]):,}"] for name in sets}
    for seen in files:
        for name, examples in sets.items():
            known = overlap(examples, seen)
            rows[name] += [f"{known.share_sentences:.1%}", f"{known.share_pairs:.1%}"]
    columns = [f"{p.name}: {what}" for p in options.trained_on for what in ("sentences", "pairs")]
    yield "share of rows with a sentence, or with the whole pair, in a file:\n"
    yield markdown(["set", "rows", *columns], list(rows.values()))


def scored_sets(folders: Sequence[Path]) -> dict[str, list[Example]]:
    """Return the scored rows of all sets in the folders, and of CS224N's dev and test files.

    Raises:
        DataError: a broken file.
    """
    from data.locate import find_task
    from data.tasks import COURSE, read_task, split_file
    from evaluation.suites.table import find_sets

    sets: dict[str, list[Example]] = {}
    for folder in folders:
        for task in COURSE.values():
            home = find_task(folder, task)
            if home is None or not split_file(home, task, "dev").is_file():
                continue
            splits = read_task(home, task.name)
            sets[f"CS224N {task.name} dev"] = splits.dev
            if splits.test:
                sets[f"CS224N {task.name} test"] = splits.test
    for loaded in find_sets(("sts", "transfer", "pairs", "hans"), (), folders)[0]:
        sets.setdefault(loaded.name, loaded.scored)
    return sets


if __name__ == "__main__":
    begin()
    sys.exit(main())
