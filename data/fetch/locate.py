"""Where the files named on a command line are: given, downloaded earlier, or downloaded now.

Reads: data.fetch.sources, data.fetch.transfer, data.bundled. Feeds: the command lines.
"""

from pathlib import Path

from data import bundled
from data.examples import DataError
from data.fetch.sources import SOURCES, file_of
from data.fetch.transfer import fetch
from runtime.files import scratch_folder, sweep

DEFAULT_FOLDER = Path("downloads")  # each data set has a folder of its name in it


def data_folder(name: str) -> Path:
    """Return the folder of CS224N files; `bundled` is generated and `cs224n` downloaded if absent.

    Raises:
        DataError: it cannot be downloaded.
        OSError: it cannot be written.
    """
    if Path(name).is_dir() or name not in ("bundled", "cs224n"):
        return Path(name)
    if name == "bundled":
        return _bundled_folder()
    folder = DEFAULT_FOLDER / name
    for remote in SOURCES[name]:
        fetch(remote, folder)
    return folder


def _bundled_folder() -> Path:
    """Return the folder of the bundled data set, written now, in 15 seconds, unless it exists."""
    folder = DEFAULT_FOLDER / f"bundled-{bundled.VERSION}"
    if not folder.is_dir():
        sweep(folder.parent, folder.name)
        # Not runtime.files.whole_folder: that would replace the folder of a faster run,
        # which may be reading it by then.
        with scratch_folder(folder) as unfinished:
            try:
                bundled.write(unfinished)
                unfinished.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another run was faster
                    raise
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
    for path in tried:
        if path.is_file():
            return path
    fetch_it = f", or fetch it: python -m data.download {source}" if published else ""
    raise DataError(
        f"--pretrain {pretrain}: no file {' or '.join(map(str, tried))}; "
        f"give {flag or f'--{pretrain}-data'} FILE{fetch_it}"
    )
