"""Which array differs first, where and by how much; which mistake it is; and what may be read."""

import io
import json
import os
import pty
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch

from assignment.check import show
from assignment.compare import (
    MOST_ARRAYS,
    Suite,
    array_difference,
    changes,
    difference,
    judge,
    judge_arrays,
    read_arrays,
)
from assignment.driver import _array
from assignment.suites import unrecognised

ONE, TWO, THREE = ({"x": np.full(3, value)} for value in (1.0, 2.0, 3.0))
Y = {"y": np.ones(2)}


def suite(mistakes=None) -> Suite:
    """A suite of the part "p" with cases a and b."""
    about = {
        "parts": [{"name": "p"}],
        "cases": [{"name": name, "part": "p"} for name in ("a", "b")],
        "mistakes": [{"name": name, "part": "p", "says": name} for name in mistakes or {}],
    }
    answers = {"a": ONE, "b": ONE}
    changed = {name: changes(answers, found) for name, found in (mistakes or {}).items()}
    return Suite(about, answers, changed)


@pytest.mark.parametrize(
    ("expected", "found", "computed", "instead"),
    [
        (
            {"first": np.zeros((2, 3)), "second": np.ones(4)},
            {"first": np.zeros((2, 3)), "second": np.float32([1, 1.000001, 1.5, 3])},
            '"second" is 1.5 at [2]; 2 of 4 numbers of shape (4,) differ, by up to 2',
            "1",
        ),
        (ONE, ONE, "", ""),
        (ONE, {}, 'no "x"', "an array of shape (3,)"),
        ({}, Y, '"y"', "no such array"),
        (ONE, {"x": np.zeros((3, 2))}, '"x" has shape (3, 2)', "shape (3,)"),
        (
            ONE,
            {"x": np.array([1, np.nan, 1])},
            '"x" is nan at [1]; 1 of 3 numbers of shape (3,) differ, by up to 0',
            "1",
        ),
        ({"r": np.array(0.5)}, {"r": np.array(0.7)}, '"r" is 0.7', "0.5"),
        ({"raised": np.array(True)}, {"raised": np.array(0)}, '"raised" is False', "True"),
    ],
)
def test_the_first_difference_in_words(expected, found, computed, instead):
    assert difference(expected, found)[1:] == (computed, instead)


def test_whole_numbers_and_floats_of_one_value_are_equal():
    assert array_difference(np.array([1, 0]), np.array([True, False])) == ("", "")
    assert array_difference(np.float64([1, np.inf]), np.float32([1, np.inf])) == ("", "")
    for answer in (0.5, np.float64(0.5), torch.tensor(0.5)):
        assert array_difference(np.array(0.5, np.float32), _array("score", answer)) == ("", "")
    with pytest.raises(TypeError, match='"score" is of type list'):
        _array("score", [0.5])


def test_what_is_wrong_is_told_in_one_form_with_where_to_look():
    found = suite({"m": {"a": TWO, "b": ONE}})
    found.about["mistakes"][0]["place"] = "p/file.py:Class.method"
    (wrong, right) = judge_arrays(found, {"a": TWO, "b": ONE})
    assert right.lines == []
    assert wrong.lines == [
        'computed: "x" is 2 at [0]; 3 of 3 numbers of shape (3,) differ, by up to 1',
        "expected: 1",
        "look at:  Class.method in p/file.py",
    ]
    (raised, none) = judge_arrays(found, {}, {"a": "raised KeyError: 0\np/file.py:3: x[0]"})
    told = ["computed: raised KeyError: 0", "expected: an answer", "look at:  p/file.py:3: x[0]"]
    assert raised.lines == told
    assert none.lines[0] == "computed: no answer"


M, N = {"a": TWO, "b": TWO}, {"a": TWO, "b": THREE}


@pytest.mark.parametrize(
    ("mistakes", "found", "named"),
    [
        # A mistake is named only if all answers are its own;
        ({"m": M, "n": N}, N, ["n", "n"]),
        ({"m": M, "n": N}, {"a": TWO, "b": ONE}, ["", ""]),
        # of two that fit what was answered, none is.
        ({"m": M, "n": N}, {"a": TWO}, ["", ""]),
        # Two mistakes in different cases are both named,
        ({"m": {"a": TWO, "b": ONE}, "n": {"a": ONE, "b": THREE}}, N, ["m", "n"]),
        # or in different arrays of one;
        (
            {"m": {"a": {**ONE, **Y}, "b": ONE}, "n": {"a": TWO, "b": ONE}},
            {"a": {**TWO, **Y}, "b": ONE},
            ["n m", ""],
        ),
        # and the cause that explains more arrays is.
        ({"m": M, "n": {"a": TWO, "b": ONE}}, M, ["m", "m"]),
        ({"m": M, "n": {"a": TWO, "b": ONE}}, {"a": TWO, "b": ONE}, ["n", ""]),
    ],
)
def test_which_mistake_is_named(mistakes, found, named):
    results = judge_arrays(suite(mistakes), found)
    assert [" ".join(result.mistakes) for result in results] == named


def test_two_mistakes_that_answer_alike_are_not_recognised():
    assert unrecognised(suite({"m": M, "n": N, "its-double": M})) == ["m", "its-double"]


def test_no_answer_and_what_raised_are_no_pass(tmp_path):
    (tmp_path / "b.error.txt").write_text("NotImplementedError: p\nat a.py:3: x", encoding="utf-8")
    results = judge(suite(), tmp_path)
    reasons = ["no answer", "raised NotImplementedError: p"]
    assert [(r.passed, r.computed) for r in results] == [(False, reason) for reason in reasons]


def test_links_and_pipes_are_no_answers(tmp_path):
    np.savez(tmp_path / "other.npz", **ONE)
    (tmp_path / "a.npz").symlink_to(tmp_path / "other.npz")
    os.mkfifo(tmp_path / "b.npz")
    for name in ("a", "b"):
        with pytest.raises((ValueError, OSError)):
            read_arrays(tmp_path / f"{name}.npz")
    results = judge(suite(), tmp_path)
    assert not any(result.passed for result in results) and all(r.computed for r in results)


def array_file(header: str, content: bytes = b"") -> bytes:
    """Return the bytes of an .npy file with a header of one's own."""
    text = header.encode("latin1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def described(shape: str, descr: str = "'<f8'") -> bytes:
    return array_file(
        f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n", bytes(8)
    )


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def damaged() -> bytes:
    """Return a zip whose compressed bytes are none."""
    whole = bytearray(zipped(("x.npy", bytes(1000))))
    place = whole.index(b"x.npy") + len(b"x.npy")
    whole[place : place + 4] = b"\xff" * 4
    return bytes(whole)


EVIL = {
    "no zip": b"PK\x03\x04",
    "damaged": damaged(),
    "unclosed header": zipped(("x.npy", array_file("{'descr': (((\n"))),
    "unhashable header": zipped(("x.npy", array_file("{[]: 1}\n"))),
    "deep header": zipped(("x.npy", array_file("-" * 9000 + "1\n"))),
    "huge shape": zipped(("x.npy", described(f"({2**70}, 0)"))),
    "negative shape": zipped(("x.npy", described("(-1,)"))),
    "promises": zipped(("x.npy", described(f"({2**50},)"))),
    "objects": zipped(("x.npy", described("(1,)", "'|O'"))),
    "structure": zipped(("x.npy", described("(1,)", "[('a', '<f8')]"))),
    "strings": zipped(("x.npy", described("(1,)", "'<U2'"))),
    "not packed by NumPy": zipped(("x.npy", described("(1,)")), method=zipfile.ZIP_LZMA),
    "a bomb": zipped(("x.npy", bytes(2**27))),
    "many arrays": zipped(*((f"{n}.npy", b"") for n in range(MOST_ARRAYS + 1))),
    "strange names": zipped(("\x1b[2J\n=1+1\u202e.npy", described("(1,)", "'|O'"))),
}


@pytest.mark.parametrize("name", EVIL)
def test_bytes_made_to_break_their_reader_are_no_answer(tmp_path, name):
    (tmp_path / "a.npz").write_bytes(EVIL[name])
    np.savez(tmp_path / "b.npz", **ONE)
    evil, honest = judge(suite(), tmp_path)
    assert not evil.passed and evil.computed.isprintable() and len(evil.computed) < 300
    assert honest.passed


def test_a_surplus_array_is_named_without_what_steers_a_terminal():
    _, computed, instead = difference(ONE, {**ONE, "\x1b[2J\u202e" * 99: ONE["x"]})
    assert instead == "no such array" and computed.isprintable() and len(computed) < 600


def test_a_terminal_shows_colours_and_obeys_nothing_that_a_student_wrote(monkeypatch):
    reader, terminal = pty.openpty()
    monkeypatch.setattr(sys, "stdout", open(terminal, "w", encoding="utf-8"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    show(["  ok     a", "  wrong  b\x1b[2J"])
    shown = b"  \x1b[32mok\x1b[0m     a\r\n  \x1b[31mwrong\x1b[0m  b\\x1b[2J\r\n"
    assert os.read(reader, 999) == shown
    os.close(reader)


DRIVEN = """
import os, sys, time
from types import ModuleType
import numpy as np
torch = sys.modules["torch"] = ModuleType("torch")  # which takes a second
torch.Tensor, torch.nn = np.ndarray, ModuleType("nn")
torch.nn.Module = object
overrides = sys.modules["torch.overrides"] = ModuleType("torch.overrides")
overrides.TorchFunctionMode = object
torch.library = ModuleType("library")
torch.library.Library = object
from assignment import driver

def answer(function, inputs):
    while function == "endless":
        pass
    if function == "strange":
        raise ValueError(chr(0xD800))
    if function == "forking" and os.fork() == 0:
        return {"x": np.zeros(2)}, []
    if function == "working" and os.fork() == 0:
        time.sleep(9)
    return {"x": np.ones(2)}, []

driver.answer, driver.warm_up = answer, lambda: None
driver.run(sys.argv[1], sys.argv[1], sys.argv[2:], cpu_seconds=0.5)
"""


def test_a_case_without_end_with_strange_words_or_with_processes_of_its_own_stops_no_other(
    tmp_path,
):
    names = ("strange", "endless", "honest", "forking", "working", "after")
    cases = [{"name": name, "function": name} for name in names]
    (tmp_path / "suite.json").write_text(json.dumps({"cases": cases}))
    np.savez(tmp_path / "inputs.npz")
    subprocess.run([sys.executable, "-c", DRIVEN, tmp_path, *names], check=True)
    answered = sorted(path.name for path in tmp_path.glob("*.npz") if path.stem in names)
    assert answered == ["after.npz", "forking.npz", "honest.npz", "working.npz"]
    assert all(read_arrays(tmp_path / name)["x"].all() for name in answered)
    assert (tmp_path / "strange.error.txt").exists()
    told = (tmp_path / "endless.error.txt").read_text()
    assert told.startswith("TimeoutError: exceeded the time limit of 0.5 s")
