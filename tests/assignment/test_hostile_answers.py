"""Answers written to break whoever reads them: no points, and the class is graded on."""

import io
import struct
import zipfile

import numpy as np
import pytest
from small_suite import material, passed, submission, write_suite

from assignment import intake, sandbox
from assignment.compare import MOST_ARRAYS, judge, read_suite
from assignment.grading import grade, grade_class
from assignment.intake import take_answers
from assignment.sandbox import Outcome


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
    whole = bytearray(zipped(("answer.npy", bytes(1000))))
    place = whole.index(b"answer.npy") + len(b"answer.npy")
    whole[place : place + 4] = b"\xff" * 4
    return bytes(whole)


EVIL = {
    "no zip": b"PK\x03\x04",
    "damaged": damaged(),
    "unclosed header": zipped(("answer.npy", array_file("{'descr': (((\n"))),
    "unhashable header": zipped(("answer.npy", array_file("{[]: 1}\n"))),
    "deep header": zipped(("answer.npy", array_file("-" * 9000 + "1\n"))),
    "huge shape": zipped(("answer.npy", described(f"({2**70}, 0)"))),
    "negative shape": zipped(("answer.npy", described("(-1,)"))),
    "promises": zipped(("answer.npy", described(f"({2**50},)"))),
    "objects": zipped(("answer.npy", described("(1,)", "'|O'"))),
    "structure": zipped(("answer.npy", described("(1,)", "[('a', '<f8')]"))),
    "strings": zipped(("answer.npy", described("(1,)", "'<U2'"))),
    "not packed by NumPy": zipped(("answer.npy", described("(1,)")), method=zipfile.ZIP_LZMA),
    "a bomb": zipped(("answer.npy", bytes(2**27))),
    "many arrays": zipped(*((f"{n}.npy", b"") for n in range(MOST_ARRAYS + 1))),
    "strange names": zipped(("\x1b[2J\n=1+1\u202e.npy", described("(1,)", "'|O'"))),
}


@pytest.mark.parametrize("name", EVIL)
def test_bytes_made_to_break_their_reader_are_no_answer(tmp_path, name):
    suite = read_suite(write_suite(tmp_path / "hidden"))
    out = tmp_path / "out"
    out.mkdir()
    (out / "double.npz").write_bytes(EVIL[name])
    np.savez(out / "total.npz", **suite.answers["total"])
    double, total, mean = judge(suite, out)
    assert not double.passed and double.reason.isprintable() and len(double.reason) < 300
    assert total.passed and mean.reason == "no answer"


def test_a_surplus_array_is_named_without_what_steers_a_terminal(tmp_path):
    suite = read_suite(write_suite(tmp_path / "hidden"))
    out = tmp_path / "out"
    out.mkdir()
    np.savez(out / "double.npz", **suite.answers["double"], **{"\x1b[2J\u202e" * 99: 1})
    reason = judge(suite, out)[0].reason
    assert reason.endswith("is not expected") and reason.isprintable() and len(reason) < 600


def test_answers_of_others_are_not_taken_through_a_linked_folder(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    np.savez(theirs / "double.npz", answer=np.ones(3))
    (tmp_path / "out").symlink_to(theirs)
    assert take_answers(theirs, tmp_path / "taken", ["double"]) == ["double"]
    assert take_answers(tmp_path / "out", tmp_path / "none", ["double"]) == []


def test_a_submission_that_cannot_be_graded_stops_no_other(tmp_path, monkeypatch):
    suite = write_suite(tmp_path / "hidden")
    take = intake.take_code

    def fail(tree, *rest):
        if tree.name == "eve":
            raise OSError(28, "No space left on device")
        return take(tree, *rest)

    monkeypatch.setattr(intake, "take_code", fail)
    found = [submission(tmp_path / name) for name in ("ada", "eve", "zoe")]
    marks = list(grade_class(found, material(suite), jobs=1))
    assert [len(passed(mark)) for mark in marks] == [3, 0, 3]
    assert "No space left on device" in marks[1].fault


def test_after_a_run_that_used_up_its_time_the_others_get_less(tmp_path, monkeypatch):
    suite, given = write_suite(tmp_path / "hidden"), []

    def hang(command, folder, limits, reads, user):
        given.append((limits.cpu_seconds, limits.seconds))
        return Outcome(137, limits.seconds, "seconds", "", {})

    monkeypatch.setattr(sandbox, "run", hang)
    mark = grade(submission(tmp_path / "mia"), material(suite, cpu_seconds=60, seconds=300))
    assert given == [(60, 300), (15, 75), (15, 75)] and not passed(mark)
