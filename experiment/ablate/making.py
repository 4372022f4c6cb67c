"""Training files that a row makes from the user's files first, by `python -m data.triplets`.

Feeds: the command.
"""

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass

from experiment.ablate.options import AblateOptions
from experiment.ablate.table import Row
from runtime.errors import UserError
from runtime.files import digest, file_digest


@dataclass(frozen=True)
class Made:
    """A training file, and the command that makes it; "" where the user's own is read."""

    path: str | None
    command: str = ""


def training_file(row: Row, options: AblateOptions) -> Made:
    """Return what a supervised row trains on, made now unless it is there.

    Raises:
        UserError: the file that it is made of was not named, or cannot be read.
    """
    if not row.made:
        return Made(options.sup_data)
    form, *words = row.made
    source = options.source(form)
    if not source.is_file():
        raise UserError(f"--from {form}={source}: no such file")
    name = "-".join(re.findall(r"\w+", row.label.lower()))
    made_of = digest([row.made, file_digest(source)])[:8]
    path = options.out / "triplets" / f"{name}-{made_of}.csv"
    command = ["python", "-m", "data.triplets", form, str(source), *words, "--out", str(path)]
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([sys.executable, *command[1:]], capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise UserError(f"{shlex.join(command[1:5])}: {last.removeprefix('error: ')}")
    return Made(str(path), shlex.join(command))
