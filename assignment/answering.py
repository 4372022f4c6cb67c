"""What the reference and its mutants answer: trees run one after the other in one process.

    python -m assignment.answering JOBS.json

JOBS.json is a list of the fields of `Job`. Students' code is never run here.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from assignment.driver import import_from, run
from runtime.errors import UserError

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Job:
    """Cases of the `parts` of some suites, asked of a tree: suite folder -> where arrays go."""

    tree: str
    suites: dict[str, str]
    parts: tuple[str, ...]


def answer(jobs: Sequence[Job], folder: Path) -> None:
    """Run jobs in one subprocess, whose imports do not disturb this process.

    Args:
        jobs: what to run.
        folder: where the list of jobs is left.

    Raises:
        UserError: the subprocess failed.
    """
    listed = folder / "jobs.json"
    listed.write_text(json.dumps([asdict(job) for job in jobs]), encoding="utf-8")
    command = [sys.executable, "-B", "-m", "assignment.answering", str(listed)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"the reference answers were not made: {done.stderr.strip()[-500:]}")


def main(listed: Path) -> None:
    """Run the jobs of a file."""
    for job in json.loads(listed.read_text(encoding="utf-8")):
        import_from(Path(job["tree"]))
        for suite, out in job["suites"].items():
            run(Path(suite), Path(out), parts=job["parts"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
