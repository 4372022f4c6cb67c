"""A run folder of any version, read for what it holds: what is missing is None, never an error.

`report.cell` is strict, as numbers that are compared must be whole; a ledger shows what there is.
Reads: run folders. Feeds: ledger.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.examples import DataError
from runtime.json_file import read_json

# What identifies a head; the name of its files is these and the seed, joined by "-".
SETTING = ("pretrain", "task", "encoder", "tune", "features")
IDENTITY = (*SETTING, "seed", "split", "key")


@dataclass(frozen=True)
class PastRun:
    """What config.json and results.json of a run say.

    Attributes:
        path: the folder.
        config: {} if there is none.
        cells: the entries of results.json as they are, [] if there is none.
    """

    path: Path
    config: dict[str, Any]
    cells: list[dict[str, Any]]

    @classmethod
    def read(cls, path: Path) -> "PastRun | None":
        """Return the run in a folder, None if it is not a run's.

        Raises:
            DataError: one of the two files is damaged.
        """
        config, cells = (_read_json(path / f"{name}.json") for name in ("config", "results"))
        if config is None and cells is None:
            return None
        config, cells = config or {}, cells or []
        if not isinstance(config, dict):
            raise DataError(f"{path / 'config.json'}: not a run's settings; restore or delete it")
        if not _are_cells(cells):
            raise DataError(f"{path / 'results.json'}: not a run's results; restore or delete it")
        # A checkpoint has a config.json, too.
        return cls(path, config, cells) if cells or "options" in config else None

    def option(self, name: str) -> Any:
        """Return a setting of the command line, None if it is not known."""
        return inner(self.config, "options", name)

    @property
    def changed(self) -> float:
        """Return when results (or else settings) were written, in seconds since 1970."""
        files = [self.path / name for name in ("results.json", "config.json")]
        return next(file.stat().st_mtime for file in files if file.is_file())

    @property
    def is_unfinished(self) -> bool:
        """Return whether there is no result yet, or a state to resume from."""
        return not self.cells or any(self.path.glob("state/*.pt"))

    @property
    def seeds(self) -> list[int]:
        """Return the seeds of the cells."""
        found = {cell.get("seed") for cell in self.cells}
        return sorted(seed for seed in found if isinstance(seed, int))

    def backbones(self) -> dict[str, Path]:
        """Return where the folder says the encoders under its heads are, by name; see `is_gone`."""
        stages = {(cell.get("pretrain"), cell.get("seed")) for cell in self.cells}
        names = {"none" if stage == "none" else f"{stage}-{seed}" for stage, seed in stages}
        return {name: self.path / "backbones" / name for name in sorted(names)}

    def heads(self) -> list[Path]:
        """Return where the heads of the cells are, or were."""
        names = dict.fromkeys(
            "-".join(str(cell.get(name)) for name in (*SETTING, "seed")) for cell in self.cells
        )
        return [self.path / "heads" / f"{name}.safetensors" for name in names]

    @property
    def cache(self) -> Path:
        """Return where cached embeddings are, or were; the runs of a folder share them."""
        return self.path.parent / "cache"

    def gone(self) -> list[str]:
        """Return what has been deleted of that which the run made or read."""
        found = [f"backbone {name}" for name, path in self.backbones().items() if not path.exists()]
        if missing := sum(not path.is_file() for path in self.heads()):
            found.append(f"{missing} of {len(self.heads())} heads")
        return found + ([] if self.cache.is_dir() else ["cache"])

    def head_seconds(self) -> float | None:
        """Return how long heads took, None if no cell says so; splits of a head share its time."""
        times = {cell.get("key"): inner(cell, "seconds") for cell in self.cells}
        return _total(times.values())

    def tuning_seconds(self) -> float | None:
        """Return how long tuning the backbones took, None if none that is left says so."""
        return _total(self._tuning())

    def _tuning(self) -> Iterator[Any]:
        for name, path in self.backbones().items():
            if name != "none":
                try:
                    yield inner(_read_json(path / "training.json"), "seconds")
                except DataError:
                    yield None


def _are_cells(raw: Any) -> bool:
    """Return whether something is a list of cells, each identified by words or numbers."""
    return isinstance(raw, list) and all(
        isinstance(cell, dict)
        and isinstance(cell.get("metrics"), dict | None)
        and not any(isinstance(cell.get(name), dict | list) for name in IDENTITY)
        for cell in raw
    )


def inner(raw: Any, *names: str) -> Any:
    """Return a value of nested dictionaries, None where there is none."""
    for name in names:
        raw = raw.get(name) if isinstance(raw, dict) else None
    return raw


def _read_json(path: Path) -> Any:
    """Return the content of a file, None if there is no such file."""
    if not path.is_file():
        return None
    try:
        return read_json(path)
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: not readable ({error}); restore or delete it") from None


def _total(times: Any) -> float | None:
    known = [time for time in times if isinstance(time, int | float)]
    return sum(known) if known else None
