"""Submissions that come as zips: graded as folders are, or one clear reason for that one alone."""

import os
import stat
import zipfile
from pathlib import Path

import pytest
from small_suite import ABOUT, FILES, HONEST, material, passed, submission, write_suite

from assignment import intake
from assignment.grading import grade, grade_class
from assignment.intake import Submission, submissions
from assignment.marks import for_gradescope, write_class
from runtime.errors import UserError

Entry = str | zipfile.ZipInfo


def packed(path: Path, *entries: tuple[Entry, str], method: int = zipfile.ZIP_DEFLATED) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", method) as archive:
        for entry, content in entries:
            archive.writestr(entry, content)
    return path


def named(name: str, mode: int = 0) -> zipfile.ZipInfo:
    """Return an entry of a name that zipfile itself would not write."""
    info = zipfile.ZipInfo("x")
    info.filename, info.create_system, info.external_attr = name, 3, mode << 16
    return info


def opened(path: Path, tmp_path: Path) -> Submission:
    (one,) = submissions([path], FILES, single=True, work=tmp_path / "work")
    return one


def encrypted(path: Path) -> None:
    whole = bytearray(packed(path, ("work.py", HONEST)).read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        whole[whole.index(signature) + flags] |= 1
    path.write_bytes(whole)


BROKEN = {
    "leads outside": lambda path: packed(path, (named("../work.py"), HONEST)),
    "absolute": lambda path: packed(path, (named("/tmp/work.py"), HONEST)),
    "link": lambda path: packed(path, (named("work.py", stat.S_IFLNK | 0o777), "/etc/passwd")),
    "encrypted": encrypted,
    "no zip": lambda path: path.write_bytes(b"PK no zip"),
    "cut off": lambda path: path.write_bytes(packed(path, ("work.py", HONEST)).read_bytes()[:60]),
    "many files": lambda path: packed(path, *((f"{n}.py", "") for n in range(10_001))),
    "twice": lambda path: packed(path, ("work.py", HONEST), (named("work.py"), "")),
    "file and folder": lambda path: packed(path, ("work.py", HONEST), ("work.py/x.py", "")),
    "long name": lambda path: packed(path, ("x" * 300 + ".py", HONEST)),
    "unusual method": lambda path: packed(path, ("work.py", HONEST), method=zipfile.ZIP_LZMA),
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    return write_suite(tmp_path_factory.mktemp("instructor") / "hidden")


def test_a_class_of_folders_and_zips_is_marked_alike_and_one_broken_zip_stops_nobody(
    tmp_path, suite
):
    members = tmp_path / "class"
    submission(members / "ada")
    packed(members / "ben.zip", ("ben/code/work.py", HONEST), ("__MACOSX/work.py", ""))
    packed(members / "cleo" / "upload.zip", ("work.py", HONEST))  # as Moodle gives them
    packed(members / "dora.ZIP", ("work.py", HONEST.replace("2 *", "3 *")), (".git/work.py", ""))
    (members / "eve.zip").write_bytes(b"no zip")
    (members / "readme.txt").write_text("not a submission")
    tables = []
    for run in ("first", "second"):
        found = submissions([members], FILES, single=False, work=tmp_path / f"work of {run}")
        marks = list(grade_class(found, material(suite), jobs=2))
        write_class(marks, ABOUT, tmp_path / run)
        tables.append((tmp_path / run / "marks.csv").read_bytes())
    assert tables[0] == tables[1]
    scores = {mark.name: len(passed(mark)) for mark in marks}
    assert scores == {"ada": 3, "ben": 3, "cleo": 3, "dora": 2, "eve": 0}
    assert marks[-1].fault == "eve.zip: not a sound zip (File is not a zip file); zip again"
    told = for_gradescope(marks[-1], ABOUT)
    assert told["score"] == 0 and told["output"] == f"Not marked: {marks[-1].fault}"


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_that_no_honest_program_writes_has_a_reason_and_no_points(tmp_path, suite, name):
    path = tmp_path / "class" / "eve.zip"
    path.parent.mkdir()
    BROKEN[name](path)
    found = opened(path, tmp_path)
    mark = grade(found, material(suite))
    assert found.fault.startswith("eve.zip: ") and found.fault.isprintable()
    assert not passed(mark) and {result.reason for result in mark.results} == {found.fault}
    assert sorted(os.listdir(tmp_path)) == ["class", "work"]


def test_bombs_are_unpacked_up_to_a_bound(tmp_path, monkeypatch):
    large = "#" * (2**20 + 1)
    path = packed(tmp_path / "eve.zip", ("work.py", HONEST), ("large.py", large), ("a.bin", large))
    found = opened(path, tmp_path)
    assert not found.fault and os.listdir(found.tree) == ["work.py"]
    monkeypatch.setattr(intake, "MOST_TOTAL", 2**20)
    assert "MB of code" in opened(path, tmp_path / "again").fault
    monkeypatch.setattr(intake, "MOST_ZIP", 1000)
    assert "eve.zip: more than" in opened(path, tmp_path / "third").fault


def test_names_that_two_submissions_have_are_told(tmp_path):
    submission(tmp_path / "class" / "ada")
    packed(tmp_path / "class" / "ada.zip", ("work.py", HONEST))
    with pytest.raises(UserError, match="of this name"):
        submissions([tmp_path / "class"], FILES, single=False, work=tmp_path / "work")
