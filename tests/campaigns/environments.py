"""Odd environments: languages, absent homes, closed streams, folders of any name; the same numbers.

Each is a real process of `python run_multitask.py` or `python -m search`, as variables act when
Python starts.
"""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from campaigns import TESTS, forked
from campaigns.kills import differences, start, what_is_left
from campaigns.outcomes import Trial, one_line
from campaigns.scenes import TINY, Material, Scene, grid, material, write_material

ROOT = TESTS.parent
LONGEST = 300  # seconds


@dataclass(frozen=True)
class Environment:
    """What is odd.

    Attributes:
        name: as in the table.
        variables: set, or with None unset; {place} is the trial's folder.
        shell: around the command, which is {}.
        run_dir: below the trial's folder.
        refused: the command cannot do its work, and says so in one line.
    """

    name: str
    variables: dict[str, str | None] = field(default_factory=dict)
    shell: str = "{}"
    run_dir: bytes = b"run"
    refused: bool = False


def _set(*settings: str) -> Iterator[Environment]:
    for setting in settings:
        pairs = (pair.partition("=") for pair in setting.split())
        yield Environment(setting, {name: value or None for name, _, value in pairs})


ENVIRONMENTS = [
    *_set(
        "LC_ALL=C", "LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0", "LC_ALL=POSIX", "LC_ALL=tlh_XX",
        "LANG=de_DE.UTF-8", "LANG=tr_TR.UTF-8", "LC_ALL=en_US.ISO-8859-1", "LANG= LC_ALL=",
        "PYTHONIOENCODING=ascii", "PYTHONIOENCODING=latin-1", "PYTHONIOENCODING=utf-16",
        "PYTHONIOENCODING=ascii:strict LC_ALL=C", "PYTHONUTF8=0", "PYTHONUTF8=1",
        "PYTHONHASHSEED=0", "PYTHONHASHSEED=4242", "PYTHONOPTIMIZE=2", "PYTHONDONTWRITEBYTECODE=1",
        "PYTHONWARNINGS=error::DeprecationWarning:runtime", "PYTHONUNBUFFERED=1",
        "TZ=Pacific/Kiritimati", "TZ=nowhere", "OMP_NUM_THREADS=1 MKL_NUM_THREADS=1",
        "HOME=", "HOME=/nonexistent", "HOME=/dev/null", "TMPDIR=/nonexistent", "TMPDIR={place}",
        "TERM=dumb", "TERM=", "COLUMNS=1", "COLUMNS=x", "COLUMNS=100000", "NO_COLOR=1",
        "FORCE_COLOR=1", "HF_HOME=/nonexistent", "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1",
        "TOKENIZERS_PARALLELISM=true", "CUDA_VISIBLE_DEVICES=7", "USER= LOGNAME= HOME=", "PATH=",
    ),
    Environment("stdin closed", shell="{} <&-"),
    Environment("stdout closed", shell="{} >&-"),
    Environment("stderr closed", shell="{} 2>&-"),
    Environment("all streams closed", shell="{} <&- >&- 2>&-"),
    Environment("| head -1", shell="{} | head -1"),
    Environment("stdout full", shell="{} > /dev/full", refused=True),
    Environment("umask 077", shell="umask 077; {}"),
    Environment("umask 777", shell="umask 777; {}"),
    Environment("nice", shell="nice -n 19 {}"),
    Environment("few open files", shell="ulimit -n 64; {}"),
    Environment("small stack", shell="ulimit -s 512; {}"),
    Environment("from another folder", shell="cd /; {}"),
    Environment(
        "from a folder that is gone", shell='d="$(mktemp -d)"; cd "$d"; rmdir "$d"; {}',
        refused=True,
    ),
    Environment("blanks in names", run_dir=b"my  run folder"),
    Environment("unicode in names", run_dir="läufe-跑-🏃".encode()),
    Environment("not UTF-8 in names", run_dir=b"l\xe4ufe"),
    Environment("a line break in names", run_dir=b"a\nb"),
    Environment("a name like a flag", run_dir=b"./--seeds"),
    Environment("a long name", run_dir=b"n" * 200),
    Environment("signals ignored", shell="trap '' INT HUP PIPE; {}"),
]  # fmt: skip


def environments(count: int, seed: int, folder: Path, only: Sequence[str] = ()) -> Iterator[Trial]:
    """Yield a trial of each environment, in an order drawn, or of `only` some."""
    assert forked.run(lambda: write_material(folder) or 0, folder).code == 0
    given = material(folder)
    usual = Scene("usual", grid("--pretrain unsup --task sts --encoder bi --no-baseline"))
    ended = start(usual, given, folder / "place", False)
    assert ended.code == 0, ended.said
    expected = what_is_left(folder / "place" / "run")
    chosen = [one for one in ENVIRONMENTS if not only or one.name in only]
    for one in random.Random(seed).sample(chosen, min(count, len(chosen))):
        done = _run(one, given, folder)
        run = folder / "place" / os.fsdecode(one.run_dir)
        yield Trial("environments", one.name, "", *_judged(one, done, run, expected))


def _run(
    environment: Environment, given: Material, folder: Path
) -> "subprocess.CompletedProcess[bytes]":
    place = folder / "place"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    argv = ["--backbone", given.checkpoint, "--data", given.data, *TINY]
    argv += "--pretrain unsup --task sts --encoder bi --no-baseline".split()
    words = [sys.executable, ROOT / "run_multitask.py", *argv]
    words += [b"--run-dir=" + os.fsencode(place) + b"/" + environment.run_dir]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)} | environment.variables
    values = {
        name: value.replace("{place}", str(place))
        for name, value in variables.items()
        if value is not None
    }
    command = environment.shell.replace("{}", '"$@"')
    shell = ["/bin/bash", "-o", "pipefail", "-c", command, "bash", *map(os.fsencode, words)]
    return subprocess.run(shell, env=values, cwd=ROOT, capture_output=True, timeout=LONGEST)


def _judged(
    environment: Environment,
    done: "subprocess.CompletedProcess[bytes]",
    run: Path,
    expected: dict[str, str],
) -> tuple[str, str]:
    """Return the outcome, and what was said where that is wrong."""
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    if "Traceback" in said or "Exception ignored" in said:
        return "traceback", said[-1500:]
    if done.returncode == 2 and one_line(said):
        return ("refused" if environment.refused else "refused without need"), said[-500:]
    if done.returncode:
        return f"exit code {done.returncode}", said[-500:]
    differs = differences(expected, what_is_left(run))
    return ("other numbers", differs) if differs else ("equal", "")
