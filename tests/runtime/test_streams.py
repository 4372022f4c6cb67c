"""Output that cannot be written ends a command in one line, and a terminal obeys none of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.streams import printable

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from pathlib import Path
from runtime.commands import begin, exit_code
begin()
def work():
    for number in range(3):
        print("\\xb1", number, sys.argv[2:], flush=True)
    Path(sys.argv[1]).write_text("done")
sys.exit(exit_code(work))
"""


def run(redirected, path, *words, **environment):
    """Run a small program in a shell; return the exit code, output and errors."""
    program = [sys.executable, "-c", PROGRAM, path, *words]
    done = subprocess.run(
        ["bash", "-c", f'"$@" {redirected}', "-", *program],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("redirected", "code", "error"),
    [
        ("<&- >&- 2>&-", 0, b""),
        (
            ">/dev/full",
            2,
            b"error: the output: No space left on device; free some space, or name another place\n",
        ),
        # The reader is gone before the program starts; a program in a pipe ends with its reader.
        ("> >(exec <&-)", 130, b""),
    ],
)
def test_streams_that_cannot_be_written(redirected, code, error, tmp_path):
    assert run(redirected, tmp_path / "result") == (code, b"", error)
    assert (tmp_path / "result").exists() == (code == 0)


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
def test_signs_that_the_locale_lacks_are_escapes(environment, tmp_path):
    code, output, errors = run("", tmp_path / "result", b"na\xefve", **environment)
    first = b"\\xb1 0 ['na\\udcefve']\n"
    assert (code, output[: len(first)], errors) == (0, first, b"")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b\u3000c\xa0d", "a b\u3000c\xa0d"),
        ("naïve 猫 🐈", "naïve 猫 🐈"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\r\nb\tc\x85\u2028", "a\\r\\nb\\tc\\x85\\u2028"),
        ("\u202eabc\ufeff\u00ad", "\\u202eabc\\ufeff\\xad"),
        ("\x00\x7f\x9b\udcff\U000e0001", "\\x00\\x7f\\x9b\\udcff\\U000e0001"),
    ],
)
def test_control_characters_are_escaped_and_nothing_else(text, shown):
    assert printable(text) == shown
