"""Where the files named on a command line are: given, downloaded earlier, or fetched now.

Reads: data.sources, data.download. Feeds: run_multitask.py.
"""

import shutil
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from tempfile import mkdtemp

from data import bundled
from data.download import DEFAULT_FOLDER, fetch
from data.examples import DataError
from data.simcse import iter_sentences, iter_triplets
from data.sources import SOURCES

SIMCSE_SOURCES = {"unsup": "wiki1m", "sup": "nli"}  # the contrastive stage: its published data


def data_folder(name: str) -> Path:
    """Return the folder of CS224N files; `bundled` is made and `cs224n` fetched where absent.

    Raises:
        DataError: it cannot be fetched.
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
    """Return the folder of the bundled data set, written now unless it was before: 10 seconds."""
    folder = DEFAULT_FOLDER / f"bundled-{bundled.VERSION}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            bundled.write(unfinished)
            unfinished.chmod(0o755)  # mkdtemp's folders are private
            unfinished.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another run was quicker
                raise
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def simcse_file(pretrain: str, named: str | None, folder: Path) -> Path:
    """Return the training file of `unsup` or `sup`: the one named, or where downloads put it.

    Raises:
        DataError: it is in none of these places.
    """
    source = SIMCSE_SOURCES[pretrain]
    file = SOURCES[source][0].name
    tried = [Path(named)] if named else [folder / file, DEFAULT_FOLDER / source / file]
    for path in tried:
        if path.is_file():
            return path
    raise DataError(
        f"--pretrain {pretrain}: no file {' or '.join(map(str, tried))}; "
        f"give --{pretrain}-data FILE, or fetch it: python -m data.download {source}"
    )


def iter_training_texts(pretrain: str, path: Path) -> Iterator[str]:
    """Yield every text of a contrastive training file, as a stream.

    Raises:
        DataError: a broken file.
    """
    if pretrain == "unsup":
        yield from iter_sentences(path)
    else:
        for triplet in iter_triplets(path):
            yield from (text for text in astuple(triplet) if text is not None)
