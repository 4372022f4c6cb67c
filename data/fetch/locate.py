"""Where the files named on a command line are: given, downloaded earlier, or downloaded now.

Reads: data.fetch.sources, data.fetch.transfer. Feeds: the command lines.
"""

from pathlib import Path

from data.examples import DataError
from data.fetch.sources import SOURCES, file_of
from data.fetch.transfer import fetch
from data.readers.tables import stored

BUNDLED = Path(__file__).parents[1] / "bundled"  # synthetic data, each file compressed
DEFAULT_FOLDER = Path("downloads")  # each data set has a folder of its name in it


def data_folder(name: str) -> Path:
    """Return the folder of CS224N files; `bundled` ships, and `cs224n` is downloaded if absent.

    Raises:
        DataError: it cannot be downloaded.
    """
    if Path(name).is_dir() or name not in ("bundled", "cs224n"):
        return Path(name)
    if name == "bundled":
        return BUNDLED
    folder = DEFAULT_FOLDER / name
    for remote in SOURCES[name]:
        fetch(remote, folder)
    return folder


def training_file(
    pretrain: str, source: str, named: str | None, folder: Path, flag: str = ""
) -> Path:
    """Return the training file of an objective: the one named, or where downloads put it.

    Args:
        pretrain: the objective, as on the command line.
        source: the data set of SOURCES that was published for it, or the name of a file that is
            not to be downloaded.
        named: the file that the command line names, if any.
        folder: the data folder, in which a file of the published name is taken first.
        flag: that names the file on the command line; made from the objective's name if empty.

    Raises:
        DataError: it is in none of these places.
    """
    published, file = source in SOURCES, file_of(source)
    tried = [folder / file, *([DEFAULT_FOLDER / source / file] if published else [])]
    if named:
        tried = [Path(named)]
    for path in map(stored, tried):
        if path.is_file():
            return path
    fetch_it = f", or fetch it: python -m data.download {source}" if published else ""
    raise DataError(
        f"--pretrain {pretrain}: no file {' or '.join(map(str, tried))}; "
        f"give {flag or f'--{pretrain}-data'} FILE{fetch_it}"
    )
