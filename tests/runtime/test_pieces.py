"""What killed processes leave is swept up or finished; what has its name is on the disk."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime import files
from runtime.files import sweep, whole_file, whole_folder, write_text

ROOT = Path(__file__).parents[2]

KILLED = """
import os, sys
from pathlib import Path
from runtime import files

target, moment = Path(sys.argv[1]), sys.argv[2]
replace = files.os.replace

def killed(old, new):
    if moment == "after":
        replace(old, new)
    os._exit(9)

if moment == "file":
    with files.whole_file(target) as temporary:
        temporary.write_text("half")
        os._exit(9)
if moment != "filling":
    files.os.replace = killed
with files.whole_folder(target) as folder:
    (folder / "file").write_text("new")
    if moment == "filling":
        os._exit(9)
"""


def content_of(folder: Path) -> dict[str, str]:
    """Return all that lies in a folder, hidden things included."""
    found = sorted(folder.rglob("*"))
    return {str(p.relative_to(folder)): p.read_text() if p.is_file() else "/" for p in found}


def fill(folder: Path, text: str) -> None:
    (folder / "file").write_text(text)
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_text(text)


def made_folder(tmp_path: Path) -> dict[str, str]:
    """Make a folder; return what then lies beside it and in it."""
    with whole_folder(tmp_path / "folder") as folder:
        fill(folder, "old")
    return content_of(tmp_path)


def killed_at(moment: str, target: Path) -> set[str]:
    """Run a process that dies while it writes `target`; return what then lies beside it."""
    command = [sys.executable, "-c", KILLED, str(target), moment]
    assert subprocess.run(command, cwd=ROOT).returncode == 9
    return {path.name for path in target.parent.iterdir()}


@pytest.mark.parametrize("moment", ["filling", "between", "after"])
def test_a_replacement_that_was_cut_off_is_finished_or_undone(moment, tmp_path):
    made_folder(tmp_path)
    left = killed_at(moment, tmp_path / "folder")
    assert ("folder" in left) == (moment != "between") and len(left) == 2
    sweep(tmp_path, "other")
    assert {path.name for path in tmp_path.iterdir()} == left
    sweep(tmp_path, "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    whole = {"file": "old", "inner": "/", "inner/file": "old"}
    assert content_of(tmp_path / "folder") == (whole if moment == "filling" else {"file": "new"})


def test_an_older_folder_without_its_successor_comes_back(tmp_path):
    before = made_folder(tmp_path)
    killed_at("between", tmp_path / "folder")
    (new,) = tmp_path.glob("*.tmp")
    (new / "file").unlink()
    new.rmdir()
    sweep(tmp_path)
    assert content_of(tmp_path) == before


@pytest.mark.parametrize("deep", [False, True])
def test_pieces_of_dead_processes_go_and_all_else_stays(deep, tmp_path):
    (tmp_path / "in").mkdir()
    own = [".notes.tmp", ".folder.12.tmp", f".a.{files.HOST}-1.tmp", "x.state.pt", "file"]
    for name in own:
        (tmp_path / name).touch()
    for folder in (tmp_path, tmp_path / "in"):
        assert len(killed_at("file", folder / "file") - {*own, "in"}) == 1
    with whole_file(tmp_path / "file") as mine, whole_folder(tmp_path / "folder") as ours:
        mine.touch()
        sweep(tmp_path, deep=deep)
        living = {path.name for path in (mine, ours, *map(tmp_path.joinpath, [*own, "in"]))}
        assert {path.name for path in tmp_path.iterdir()} == living
    assert len(list((tmp_path / "in").iterdir())) == (not deep)


def test_pieces_of_another_host_are_left_for_a_week(tmp_path):
    piece = tmp_path / ".file.00000000-1-abcdef.tmp"
    piece.touch()
    sweep(tmp_path)
    assert piece.exists()
    long_ago = piece.stat().st_mtime - files.PATIENCE
    os.utime(piece, (long_ago, long_ago))
    sweep(tmp_path)
    assert not piece.exists()


def test_an_earlier_process_of_the_same_number_is_a_dead_one(tmp_path):
    (tmp_path / f".file.{files.HOST}-{os.getpid()}-000000.tmp").touch()
    sweep(tmp_path)
    assert content_of(tmp_path) == {}


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_all_is_on_the_disk_before_it_gets_its_name(kind, tmp_path, monkeypatch):
    """What was synchronised is known by its inode: names change."""
    done, fsync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(files.os, "fsync", lambda h: done.append(os.fstat(h).st_ino) or fsync(h))
    monkeypatch.setattr(files.os, "replace", lambda *both: done.append("named") or replace(*both))
    if kind == "file":
        write_text(tmp_path / "file", "new")
        written = [tmp_path / "file"]
    else:
        with whole_folder(tmp_path / "folder") as folder:
            fill(folder, "new")
        written = [tmp_path / "folder", *(tmp_path / "folder").rglob("*")]
    named = done.index("named")
    assert set(done[:named]) == {path.stat().st_ino for path in written}
    assert done[named + 1 :] == [tmp_path.stat().st_ino]


def test_a_file_that_the_disk_does_not_take_leaves_the_older_one(tmp_path, monkeypatch):
    def full(handle):
        raise OSError("no")

    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="no"):
        write_text(tmp_path / "file", "new")
    assert content_of(tmp_path) == {"file": "old"}
