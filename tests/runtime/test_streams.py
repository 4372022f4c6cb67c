"""What is printed never stops the work, and a terminal obeys none of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime import streams
from runtime.commands import exit_code
from runtime.streams import printable

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from pathlib import Path
from runtime.commands import begin, exit_code
begin()
def work():
    for number in range(3):
        print("\\xb1 \\x1b[2J \\u202e", number, sys.argv[2:], flush=True)
    Path(sys.argv[1]).write_text("done")
sys.exit(exit_code(work))
"""


def run(redirected, path, *words, **environment):
    """Run a small program in a shell; return the shell's and the program's outputs."""
    command = f'"$@" {redirected}; echo "code $?" >&3'
    program = [sys.executable, "-c", PROGRAM, path, *words]
    read, write = os.pipe()
    done = subprocess.run(
        ["bash", "-c", f"exec 3>&{write}; {command}", "-", *program],
        pass_fds=[write],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
    )
    os.close(write)
    with os.fdopen(read) as file:
        return file.read().strip(), done.stdout, done.stderr


@pytest.mark.parametrize(
    ("redirected", "code"),
    [
        ("<&- >&- 2>&-", 0),
        (">/dev/full", 2),
        # The reader is gone before the program starts.
        ("> >(exec <&-)", 0),
    ],
)
def test_the_work_goes_on_without_its_streams(redirected, code, tmp_path):
    told, _, errors = run(redirected, tmp_path / "result")
    assert told == f"code {code}"
    assert (tmp_path / "result").read_text() == "done"
    full = b"error: the output is not complete (No space left on device)\n"
    assert errors == (full if code else b"")


def test_a_pipe_may_have_taken_the_place_of_a_file(tmp_path):
    program = (
        "import os, sys; from runtime.streams import ready_streams;"
        "read, write = os.pipe(); os.dup2(write, 1); ready_streams();"
        "print('on', flush=True); sys.stderr.write(os.read(read, 9).decode())"
    )
    with (tmp_path / "output").open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=file, stderr=subprocess.PIPE, cwd=ROOT
        )
    assert done.stderr == b"on\n"


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
def test_signs_that_the_locale_lacks_are_escapes(environment, tmp_path):
    told, output, errors = run("", tmp_path / "result", b"na\xefve", **environment)
    first = b"\\xb1 \\x1b[2J \\u202e 0 ['na\\udcefve']\n"
    assert (told, output[: len(first)], errors) == ("code 0", first, b"")


def test_a_lost_reader_is_no_fault_unless_it_is_needed(monkeypatch):
    after = []

    def work():
        print("to nobody", flush=True)
        after.append("went on")

    for needed in (False, True):
        read, write = os.pipe()
        os.close(read)
        stream = streams.Shown(open(write, "wb"), "utf-8")
        monkeypatch.setattr(sys, "stdout", stream)
        if needed:
            streams.need_reader()
        assert exit_code(work) == 0 and after == ["went on"] and stream.fault is None
        print("and no error later", flush=True)


def test_streams_of_others_are_left_alone(capsys):
    before = sys.stdout, sys.stderr
    streams.ready_streams()
    assert (sys.stdout, sys.stderr) == before


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
