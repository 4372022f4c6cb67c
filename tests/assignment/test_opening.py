"""Zips, folders and files of strangers: read within bounds, or refused in one line.

Predictions are read by `open_submission`, code by `submissions`; both go through the same reader.
"""

import os
import random
import stat
import zipfile
from pathlib import Path

import pytest
from small_suite import FILES, HONEST, exam, passed, submission, write_suite

from assignment import intake
from assignment.grading import grade
from assignment.intake import submissions
from assignment.submission import opening
from assignment.submission.opening import open_submission, short
from data.examples import DataError
from runtime.errors import UserError

GOOD = "id , 1 \n"


def packed(path: Path, *entries, method: int = zipfile.ZIP_DEFLATED) -> Path:
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


def encrypted(path: Path, name: str) -> None:
    whole = bytearray(packed(path, (name, GOOD)).read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        whole[whole.index(signature) + flags] |= 1
    path.write_bytes(whole)


# What is wrong -> what makes a zip of a path and the name of a file asked for, and what is said.
OUTSIDE = "has a path outside the zip"
BROKEN = {
    "up": (lambda p, n: packed(p, (n, GOOD), (named(f"../{n}"), GOOD)), OUTSIDE),
    "Windows' up": (lambda p, n: packed(p, (named(f"..\\{n}"), GOOD)), OUTSIDE),
    "absolute": (lambda p, n: packed(p, (named(f"/tmp/{n}"), GOOD)), OUTSIDE),
    "link": (
        lambda p, n: packed(p, (named(n, stat.S_IFLNK | 0o777), "/etc/passwd")),
        "is a symbolic link",
    ),
    "encrypted": (encrypted, "is encrypted"),
    "no zip": (lambda p, n: p.write_bytes(b"PK no zip"), "not a valid zip"),
    "many files": (lambda p, n: packed(p, *((f"{k}.x", "") for k in range(10_001))), "10,001 ent"),
    "twice": (lambda p, n: packed(p, (n, GOOD), (named(n), "")), "is there twice"),
    "method": (lambda p, n: packed(p, (n, GOOD), method=zipfile.ZIP_LZMA), "an unusual way"),
}
# These matter only where a zip is unpacked.
BROKEN_ON_DISK = {
    "file and folder": lambda p: packed(p, ("work.py", HONEST), ("work.py/x.py", "")),
    "long name": lambda p: packed(p, ("x" * 300 + ".py", HONEST)),
}


def refused(path: Path) -> str:
    with pytest.raises(DataError) as error:
        open_submission(path)
    assert str(error.value).isprintable()
    return str(error.value)


def opened(path: Path, work: Path) -> intake.Submission:
    work.mkdir()
    (one,) = submissions([path], FILES, single=True, work=work)
    return one


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_that_no_honest_program_writes_is_refused_with_its_reason(tmp_path, name):
    make, reason = BROKEN[name]
    make(tmp_path / "predictions.zip", "x.csv")
    assert reason in refused(tmp_path / "predictions.zip")
    make(tmp_path / "eve.zip", "work.py")
    found = opened(tmp_path / "eve.zip", tmp_path / "work")
    assert found.fault.startswith("eve.zip: ") and reason in found.fault
    assert set(os.listdir(tmp_path)) <= {"predictions.zip", "eve.zip", "work"}


@pytest.mark.parametrize("name", BROKEN_ON_DISK)
def test_what_cannot_be_written_has_a_reason_and_no_points(tmp_path, name):
    found = opened(BROKEN_ON_DISK[name](tmp_path / "eve.zip"), tmp_path / "work")
    assert "is too long, or both a file and a folder; rename it and zip again" in found.fault
    assert found.fault.isprintable()
    mark = grade(found, exam(write_suite(tmp_path / "hidden")), tmp_path)
    assert not passed(mark) and {result.computed for result in mark.results} == {found.fault}


def test_damaged_zips_are_read_or_refused_and_nothing_else(tmp_path):
    path = tmp_path / "s.zip"
    whole = packed(path, ("a/x.csv", GOOD * 50), ("a/y.csv", "id,2\n" * 70)).read_bytes()
    draw, outcomes = random.Random(0), set()
    for _ in range(200):
        damaged = bytearray(whole[: draw.choice([len(whole), draw.randrange(len(whole))])])
        for _ in range(draw.randrange(1, 4)):
            if damaged:
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        path.write_bytes(damaged)
        try:
            outcomes.add(len(open_submission(path)))
        except DataError as error:
            outcomes.add("refused")
            assert str(error).isprintable()
    assert outcomes >= {2, "refused"}


def test_a_file_a_folder_and_a_zip_give_the_same_documents(tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile.ZipFile, "extract", None)
    monkeypatch.setattr(zipfile.ZipFile, "extractall", None)
    folder = tmp_path / "a"
    texts = ("b.csv", "predictions/a.txt", "predictions/deep/c.TSV")
    for name in (*texts, "run.py", ".d.csv", "__MACOSX/b.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(GOOD)
    names = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    archive = packed(tmp_path / "a.zip", *((str(name), GOOD) for name in names))
    found = [[one.shown for one in open_submission(path)] for path in (folder, archive)]
    assert found == [[f"a/{name}" for name in texts], [f"a.zip/{name}" for name in texts]]
    (alone,) = open_submission(folder / "b.csv")
    assert (alone.name, alone.content) == ("b.csv", GOOD.encode())
    assert sorted(os.listdir(tmp_path)) == ["a", "a.zip"]


def test_links_and_pipes_are_refused_wherever_they_are(tmp_path):
    (tmp_path / "secret.csv").write_text("the labels")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "x.csv").symlink_to(tmp_path / "secret.csv")
    assert "x.csv: a symbolic link" in refused(folder)
    (tmp_path / "other").symlink_to(folder)
    assert "a symbolic link" in refused(tmp_path / "other")
    (folder / "x.csv").unlink()
    (folder / "inner").symlink_to(tmp_path)  # a folder behind a link is not entered
    assert "no file .csv or .tsv or .txt" in refused(folder)
    os.mkfifo(folder / "x.csv")
    assert "x.csv: not a plain file" in refused(folder)
    assert "none.csv: cannot be read" in refused(tmp_path / "none.csv")


def test_bombs_are_read_up_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "MOST_BYTES", 100_000)
    path = packed(tmp_path / "s.zip", ("x.csv", bytes(10_000_000)))
    assert path.stat().st_size < 20_000
    assert "s.zip/x.csv: more than" in refused(path)
    (tmp_path / "x.csv").write_bytes(bytes(100_001))
    assert "x.csv: more than" in refused(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_bytes(bytes(100_000))
    assert len(open_submission(tmp_path / "x.csv")) == 1
    # An entry that lies about its size is cut at what it says, or found out by its checksum.
    path.write_bytes(path.read_bytes().replace((10_000_000).to_bytes(4, "little"), b"\x08\0\0\0"))
    assert "s.zip" in refused(path)
    monkeypatch.setattr(opening, "MOST_TOTAL", 250_000)
    packed(tmp_path / "m.zip", *((f"{k}.csv", bytes(90_000)) for k in range(3)))
    assert "MB of text; submit less" in refused(tmp_path / "m.zip")
    (tmp_path / "folder").mkdir()
    for k in range(3):
        (tmp_path / "folder" / f"{k}.csv").touch()
    for path in (
        tmp_path / "folder",
        packed(tmp_path / "t.zip", *((f"{k}.csv", "") for k in "abc")),
    ):
        monkeypatch.setattr(opening, "MOST_ENTRIES", 3)
        assert len(open_submission(path)) == 3
        monkeypatch.setattr(opening, "MOST_ENTRIES", 2)
        assert "more than 2 files" in refused(path) or "3 entries" in refused(path)


def test_code_is_unpacked_up_to_a_bound(tmp_path, monkeypatch):
    large = "#" * (2**20 + 1)
    path = packed(tmp_path / "eve.zip", ("work.py", HONEST), ("large.py", large), ("a.bin", large))
    found = opened(path, tmp_path / "work")
    assert not found.fault and os.listdir(found.tree) == ["work.py"]
    monkeypatch.setattr(intake, "MOST_TOTAL", 2**20)
    assert "MB of code" in opened(path, tmp_path / "again").fault
    monkeypatch.setattr(intake, "MOST_ZIP", 500)
    assert "eve.zip: more than" in opened(path, tmp_path / "third").fault


def test_names_are_shown_without_what_steers_a_terminal(tmp_path):
    (found,) = open_submission(packed(tmp_path / "s.zip", ("a\x1b[2J\u202e|<b>.csv", GOOD)))
    assert found.shown == "s.zip/a\\x1b[2J\\u202e|<b>.csv"
    assert short("x" * 300) == "x" * 199 + "…" and short("x" * 200) == "x" * 200


def test_submissions_are_found_in_folders_and_zips(tmp_path):
    members, work = tmp_path / "class", tmp_path / "work"
    submission(members / "ada" / "archive" / "src")
    submission(members / "bob")
    (members / "cleo").mkdir()
    packed(members / "dora.ZIP", ("dora/code/work.py", HONEST), ("__MACOSX/work.py", ""))
    packed(members / "eve" / "upload.zip", ("work.py", HONEST))  # as Moodle gives them
    (members / "readme.txt").write_text("not a submission")
    work.mkdir()
    found = {one.name: one for one in submissions([members], FILES, single=False, work=work)}
    assert list(found) == ["ada", "bob", "cleo", "dora", "eve", "readme.txt"]
    assert [name for name, one in found.items() if one.fault] == ["cleo", "readme.txt"]
    trees = {
        name: one.tree.relative_to(work).parts[1:] for name, one in found.items() if not one.fault
    }
    assert trees == {
        "ada": ("ada", "archive", "src"),
        "bob": ("bob",),
        "dora": ("dora", "dora", "code"),
        "eve": ("eve", "upload"),
    }
    (one,) = submissions([members / "bob"], FILES, single=False, work=work)
    assert one.name == "bob"
    (one,) = submissions([members / "cleo"], FILES, single=True, work=work)
    assert one.name == "cleo"


OLD = HONEST.replace("values.mean(axis=0)", "0")
CSV = "sst-test-output.csv"


def _zip_in_zip(folder):
    inner = packed(folder / "inner.zip", ("code/work.py", HONEST))
    packed(folder / "o.zip", ("hand-in/code.zip", inner.read_bytes()), (f"hand-in/{CSV}", GOOD))
    inner.unlink()


def _two_zips(folder):
    for name, code, time in (("b-first.zip", OLD, 1e9), ("a-second.zip", HONEST, 2e9)):
        os.utime(packed(folder / name, ("work.py", code), (CSV, GOOD)), (time, time))


def _two_trees(folder):
    old, new = named("old/work.py"), named("new/work.py")
    old.date_time, new.date_time = (2026, 11, 1, 0, 0, 0), (2026, 11, 2, 0, 0, 0)
    packed(folder / "ada.zip", (old, OLD), (new, HONEST), (CSV, GOOD))


def _beside_predictions(folder):
    packed(folder / "code.zip", ("work.py", HONEST))
    (folder / "predictions").mkdir()
    (folder / "predictions" / CSV).write_text(GOOD)
    (folder / "report.pdf").write_bytes(b"%PDF")


def _loose(folder):
    (folder / "upload").mkdir()
    (folder / "upload" / "work.py").write_text(HONEST)
    (folder / "upload" / CSV).write_text(GOOD)


COPIES = "2 copies of the code"
PACKAGINGS = {
    "backslashes": (
        lambda f: packed(
            f / "x.zip", (named("ada\\pkg\\work.py"), HONEST), (named(f"a\\{CSV}"), GOOD)
        ),
        "",
    ),
    "five folders deep": (
        lambda f: packed(f / "x.zip", ("1/2/3/4/5/pkg/work.py", HONEST), (f"1/2/{CSV}", GOOD)),
        "",
    ),
    "a zip in a zip": (_zip_in_zip, ""),
    "two zips": (_two_zips, f"{COPIES} (a-second, b-first): a-second was graded, the newest"),
    "two trees": (_two_trees, f"{COPIES} (ada/new, ada/old): ada/new was graded, the newest"),
    "code.zip beside predictions": (_beside_predictions, ""),
    "loose files": (_loose, "files without their folders: put where they belong"),
}


@pytest.mark.parametrize("packaging", PACKAGINGS)
def test_packagings_that_people_choose_cost_nothing(tmp_path, packaging):
    pack, note = PACKAGINGS[packaging]
    folder, work = tmp_path / "class" / "ada", tmp_path / "work"
    folder.mkdir(parents=True)
    work.mkdir()
    pack(folder)
    files = ("pkg/work.py",) if packaging in ("loose files", "backslashes") else FILES
    files = ("pkg/work.py",) if "deep" in packaging else files
    (found,) = submissions([tmp_path / "class"], files, single=False, work=work)
    assert not found.fault and found.name == "ada"
    assert (found.tree / files[0]).read_text() == HONEST
    assert found.notes == ((note,) if note else ())
    assert CSV in [document.name for document in open_submission(found.place)]


def test_a_broken_zip_next_to_the_code_costs_nothing(tmp_path):
    folder, work = tmp_path / "class" / "ada", tmp_path / "work"
    submission(folder)
    work.mkdir()
    (folder / "old.zip").write_bytes(b"no zip")
    (found,) = submissions([tmp_path / "class"], FILES, single=False, work=work)
    assert not found.fault and "old.zip: not a valid zip" in found.notes[0]
    (folder / "work.py").unlink()
    (found,) = submissions([tmp_path / "class"], FILES, single=False, work=work)
    assert "none of work.py ... in it; old.zip: not a valid zip" in found.fault


def test_zips_in_each_other_replace_nothing_and_are_bounded(tmp_path):
    work = tmp_path / "work"
    inner = packed(tmp_path / "starter.zip", ("work.py", OLD)).read_bytes()
    many = packed(tmp_path / "many.zip", *((f"{n}.py", "") for n in range(9_000))).read_bytes()
    path = packed(
        tmp_path / "bob.zip",
        ("student/work.py", HONEST),
        ("student.zip", inner),
        ("broken.zip", "no zip"),
        ("up.zip", packed(tmp_path / "up.zip", (named("../x.py"), "")).read_bytes()),
        *((f"many{n}.zip", many) for n in range(3)),
    )
    found = opened(path, work)
    assert not found.fault and sum(p.is_file() for p in work.rglob("*")) < 11_000
    copies = sorted(p.read_text() == HONEST for p in work.rglob("work.py"))
    assert copies == [False, True]  # neither replaced the other
    told = " ".join(found.notes)
    assert "2 copies of the code" in told and "bob.zip/broken.zip: not a valid zip" in told
    assert "bob.zip/up.zip: entry '../x.py' has a path outside" in told
    assert "more than 10,000 files" in told and str(work) not in told


def test_a_name_that_another_gets_instead_of_its_own_costs_nobody_a_mark(tmp_path):
    members, work = tmp_path / "class", tmp_path / "work"
    work.mkdir()
    submission(members / "alice")
    for name, time in (("alice.zip", 3e9), ("alice (2).zip", 1e9)):
        os.utime(packed(members / name, ("work.py", HONEST)), (time, time))
    os.utime(members / "alice", (2e9, 2e9))
    found = {one.name: one.fault for one in submissions([members], FILES, False, work)}
    assert found == {
        "alice": "",
        "alice (2)": "",
        "alice (3)": "alice.zip, which is newer, was graded under this name",
    }


@pytest.mark.parametrize("name", ["...zip", "x" * 190 + ".zip", "\x01" * 190 + ".zip", " .zip"])
def test_no_name_of_a_zip_leads_elsewhere(tmp_path, name):
    (tmp_path / "in").mkdir()
    path = packed(tmp_path / "in" / name, ("work.py", HONEST))
    work = tmp_path / "work"
    found = opened(path, work)
    assert not found.fault and found.tree.resolve().is_relative_to(work / found.tree.parts[-2])


def test_wrong_folders_are_named(tmp_path):
    for path, reason in ((tmp_path / "gone", "not a folder"), (tmp_path, "no submissions")):
        with pytest.raises(UserError, match=reason):
            submissions([path], FILES, single=False, work=tmp_path)
