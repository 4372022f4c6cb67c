"""What a sandboxed command may use and see, and (in `ways`) how it is kept apart from the rest.

Standard library only: this package is imported in the sandbox, too.
"""

import os
import re
import site
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
KIT = Path(__file__).parents[1]
PREFIXES = {sys.prefix, sys.base_prefix}
MEGABYTE = 2**20
# What Python and torch read besides the interpreter's own folders. Nothing in here tells anything
# about this machine's users, and /proc is left out but for two files. Not /dev/zero: mapped as
# shared, it is memory that no process seems to hold. Not all of /usr: people keep clones in it.
SYSTEM = (
    "/usr/bin",
    "/usr/lib",
    "/usr/lib64",
    "/lib",
    "/lib64",
    "/bin",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
)
OF_PYTHON = ("bin", "lib", "lib64", "pyvenv.cfg")  # below its prefix
DEVICES = ("/dev/null", "/dev/urandom")
# What students' code may import besides Python's own modules, with all that these require.
LIBRARIES = ("torch", "numpy", "tokenizers", "safetensors", "tqdm", "huggingface_hub")
# Where other libraries may lie: below Python's prefixes, and those of the system's own Python.
LIBRARY_FOLDERS = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages")
# PyTorch's Adam and AdamW, in its folder `optim`. Students write AdamW themselves.
LIBRARY_ADAM = ("adam.py", "adamw.py", "sparse_adam.py", "_functional.py")


@cache
def needed() -> tuple[frozenset[str], frozenset[Path]]:
    """Return what LIBRARIES and all that they require have in folders, by name; and the folders."""
    names, folders, waiting, seen = set(LIBRARIES), set[Path](), list(LIBRARIES), set[str]()
    while waiting:
        try:
            library = metadata.distribution(waiting.pop())
        except metadata.PackageNotFoundError:  # of another system
            continue
        if library.name not in seen:
            seen.add(library.name)
            folders.add(Path(str(library.locate_file(""))).resolve())
            names |= {file.parts[0] for file in library.files or ()}
            required = [line for line in library.requires or () if "extra ==" not in line]
            waiting += [re.split(r"[^\w.-]", line)[0] for line in required]
    return frozenset(names), frozenset(folders)


@cache
def other_libraries() -> tuple[Path, ...]:
    """Return the folders of all libraries that students' code may not import."""
    names, where = needed()
    folders = where | {Path(folder).resolve() for folder in site.getsitepackages()}
    prefixes = {*map(Path, PREFIXES), Path("/usr")}
    places = {p.resolve() for prefix in prefixes for f in LIBRARY_FOLDERS for p in prefix.glob(f)}
    inside = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    others = [path for path in inside if path.name not in names and _is_library(path)]
    return tuple(sorted([*(places - folders), *others]))


def _is_library(path: Path) -> bool:
    return path.is_dir() and path.suffix != ".dist-info"


def optim() -> Path:
    """Return the folder of PyTorch's optimizers."""
    return Path(str(metadata.distribution("torch").locate_file("torch/optim")))


@dataclass(frozen=True)
class Limits:
    """What a command may use; beyond it, it is stopped."""

    seconds: float = 120.0  # wall clock
    cpu_seconds: int = 60  # of each process
    address_space: int = 8192 * MEGABYTE  # of each process
    memory: int = 3072 * MEGABYTE  # resident or swapped out, all processes together
    processes: int = 64  # threads included
    file_bytes: int = 64 * MEGABYTE  # the largest file
    disk_bytes: int = 256 * MEGABYTE  # all files together, those without a name too
    files: int = 4096
    open_files: int = 256
    output_bytes: int = 4 * MEGABYTE  # stdout and stderr together
    answer_bytes: int = 8 * MEGABYTE  # of each file that is handed back

    def of_a_process(self) -> dict[str, int]:
        """Return the resource limits that the kernel keeps, by their names in `resource`."""
        return {
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_AS": self.address_space,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_CORE": 0,
        }


@dataclass(frozen=True)
class Job:
    """A command for a sandbox."""

    command: tuple[str, ...]  # the first word is an absolute path
    folder: Path  # the only place to write; exists, and is empty
    limits: Limits
    reads: tuple[Path, ...] = ()  # folders to read, besides Python and the system's libraries
    user: int | None = None  # run as root: the user id that it gets; one per command at a time
    returns: tuple[str, ...] = ()  # the files in its folder that are handed back
    instead: Path | None = None  # folder of the files that stand in place of LIBRARY_ADAM

    @property
    def visible(self) -> list[str]:
        """Return all folders and files that it may read, but for its own folder.

        The last ones are what `isolation.inside` itself is read from.
        """
        python = [f"{prefix}/{name}" for prefix in PREFIXES for name in OF_PYTHON]
        libraries = filter(os.path.exists, [*python, *site.getsitepackages(), *SYSTEM])
        # A folder within another one is there already.
        outer: list[str] = []
        for path in sorted({*libraries, *(str(path.resolve()) for path in self.reads)}):
            if not any(Path(path).is_relative_to(around) for around in outer):
                outer.append(path)
        return [*outer, str(KIT / "__init__.py"), str(KIT / "isolation")]

    @property
    def covered(self) -> list[str]:
        """Return the folders within what is visible in whose place there is an empty one.

        They are this project's own, and those of libraries that students may not import.
        """
        beside = [Path(folder) for folder in site.getsitepackages()]
        folders = [*(ROOT.iterdir() if ROOT not in beside else ()), *KIT.iterdir()]
        folders += [*other_libraries(), *([optim() / "__pycache__"] if self.instead else [])]
        kept = [path.resolve() for path in (KIT / "isolation", *map(Path, PREFIXES), *beside)]
        real = {folder.resolve() for folder in folders if folder.is_dir()}
        hidden = [folder for folder in real if not any(k.is_relative_to(folder) for k in kept)]
        # A folder in a covered one is no longer there.
        outer = [f for f in hidden if not any(f != h and f.is_relative_to(h) for h in hidden)]
        return sorted(path for path, _ in self._seen(outer))

    @property
    def replaced(self) -> dict[str, str]:
        """Return the files that it sees in the place of others, by the others' paths."""
        files = [optim().resolve() / name for name in LIBRARY_ADAM] if self.instead else []
        return {path: f"{self.instead}/{file.name}" for path, file in self._seen(files)}

    def _seen(self, real: Iterable[Path]) -> Iterable[tuple[str, Path]]:
        """Yield where real paths are seen; /lib may be a link to /usr/lib, and is seen twice."""
        places = {path: Path(path).resolve() for path in self.visible}
        for path, place in places.items():
            for one in real:
                if one.is_relative_to(place):
                    yield os.path.join(path, one.relative_to(place)), one
