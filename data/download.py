"""Downloads the public data sets: `python -m data.download cs224n`.

Reads: data.fetch. Feeds: the readers, through the folders it leaves.
"""

import sys

from runtime.commands import begin, exit_code

INTERRUPTED = "\ninterrupted; run the same command again to resume"

# Before the other imports, so that Ctrl-C answers at once.
if __name__ == "__main__":
    begin(INTERRUPTED)

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from data.examples import DataError
from data.fetch.locate import DEFAULT_FOLDER
from data.fetch.sources import DESCRIPTIONS, FOLDERS, SOURCES
from data.fetch.transfer import fetch
from data.fetch.unpack import unpack
from runtime.options import option, parse

PROGRAM = "python -m data.download"
DESCRIPTION = """\
Download public data sets. An interrupted download resumes when run again; a
file that is already there as published is not downloaded again. The Chinese
STS-Benchmark (cnsd-sts-*.txt), the untokenised STS files and the fourth subset
of STS13 have no lasting address: copy them into the folder by hand."""
EPILOG = f"example: {PROGRAM} cs224n nli --out my-folder"


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    names: tuple[str, ...] = option(
        (),
        "; ".join(f"{name} = {what}" for name, what in DESCRIPTIONS.items()),
        flag="names",
        metavar="NAME",
    )
    out: Path | None = option(
        None,
        f"folder for the files (default: {DEFAULT_FOLDER / 'NAME'}; of sts and transfer: "
        f"{DEFAULT_FOLDER / 'senteval'})",
        metavar="DIR",
    )
    listing: bool = option(False, "print every file with its URL, download nothing", flag="--list")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 2 (input, network or disk) or 130 (interrupted)."""
    options = parse(Options, argv, prog=PROGRAM, description=DESCRIPTION, epilog=EPILOG)
    return exit_code(lambda: run(options), INTERRUPTED)


def run(options: Options) -> None:
    """Download what the options name, or list what there is.

    Raises:
        DataError: an unknown data set, no network, or no place to store it.
    """
    if options.listing:
        print(_listing())
        return
    for name in options.names or [""]:
        folder = _fetch_all(name, options.out)
        print(f"{name}: {len(SOURCES[name])} file(s) in {folder}")


def _fetch_all(name: str, out: Path | None) -> Path:
    """Download a data set file by file; return its absolute folder."""
    if name not in SOURCES:
        found = f"unknown data set {name!r}" if name else "no data set named"
        raise DataError(f"{found}, expected one of {', '.join(SOURCES)}; see --list")
    folder = (out or DEFAULT_FOLDER / FOLDERS.get(name, name)).absolute()
    for remote in SOURCES[name]:
        path = fetch(remote, folder)
        print(path, flush=True)
        for unpacked in unpack(path, remote.members):
            print(unpacked, flush=True)
    return folder


def _listing() -> str:
    lines = []
    for name, files in SOURCES.items():
        lines.append(f"{name}:")
        for remote in files:
            size = f"{remote.size:,} bytes" if remote.size else "size unknown"
            parts = f"  {', '.join(remote.members)} in" if remote.members else ""
            lines.append(f"{parts}  {remote.name}  ({size})  {remote.url}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
