"""run_multitask.py as a user starts it: in this process, or in one of its own to be interrupted."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import run_multitask

ROOT = Path(__file__).parents[2]


def command(*argv) -> list[str]:
    """Return the words of a command."""
    return [sys.executable, str(ROOT / "run_multitask.py"), *map(str, argv)]


def start(*argv) -> subprocess.CompletedProcess:
    """Run a command to its end; what it prints and its exit code are as of a process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = run_multitask.main([str(word) for word in argv])
        except SystemExit as ended:
            code = ended.code
    return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())
