"""Files, folders and links appear whole or not at all; what killed processes left is swept up."""

import errno
import gzip
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from runtime import files
from runtime.errors import DiskError, UserError
from runtime.files import link, read_json, read_object, sweep, whole_file, whole_folder, write_text

ERRORS = [OSError, KeyboardInterrupt]


def content_of(folder: Path) -> dict[str, str]:
    """Return all that lies in a folder, temporary and hidden things included."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else "/"
        for path in sorted(folder.rglob("*"))
    }


WHOLE = {"file": whole_file, "folder": whole_folder}
KINDS = pytest.mark.parametrize("kind", WHOLE)


def fill(path: Path, text: str) -> None:
    """Fill a temporary file or folder."""
    if path.is_dir():
        (path / "inner").mkdir()
        (path / f"{text} only").touch()
        (path / "inner" / "file").write_text(text)
    else:
        path.write_text(text)


def filled(kind: str, text: str) -> dict[str, str]:
    """Return the content of the folder around a file or folder `x` that is filled with a text."""
    if kind == "file":
        return {"x": text}
    return {"x": "/", "x/inner": "/", "x/inner/file": text, f"x/{text} only": ""}


def write(kind: str, path: Path, text: str = "old") -> dict[str, str]:
    """Write a whole file or folder; return what then lies beside it and in it."""
    with WHOLE[kind](path) as temporary:
        fill(temporary, text)
    return content_of(path.parent)


def failing(error):
    def fails(*arguments, **more):
        raise error("no")

    return fails


@KINDS
def test_it_appears_when_it_is_whole_and_replaces_the_older_one_at_once(kind, tmp_path):
    path = tmp_path / "new" / "place" / "x"
    for older, text in (({}, "first"), (filled(kind, "first"), "second")):
        with WHOLE[kind](path) as temporary:
            fill(temporary, text)
            assert temporary.name.startswith(f".x.{files.HOST}-{os.getpid()}-")
            assert temporary.parent == path.parent  # the same disk
            beside = content_of(path.parent)
            assert {n: t for n, t in beside.items() if not n.startswith(".")} == older
        assert content_of(path.parent) == filled(kind, text)


@KINDS
@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("error", ERRORS)
def test_what_fails_to_be_filled_leaves_the_older_one(error, older, kind, tmp_path):
    before = write(kind, tmp_path / "x") if older else {}
    with pytest.raises(error), WHOLE[kind](tmp_path / "x") as temporary:
        fill(temporary, "half")
        raise error("no")
    assert content_of(tmp_path) == before


@KINDS
@pytest.mark.parametrize("error", ERRORS)
def test_folders_that_were_made_for_it_go_with_it_and_others_stay(kind, error, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(error), WHOLE[kind](tmp_path / "empty" / "new" / "newer" / "name"):
        raise error("no")
    assert content_of(tmp_path) == {"empty": "/"}


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path):
    for path in (tmp_path / ("x" * 250), Path("/proc/x.tsv")):
        with pytest.raises(OSError) as error, whole_file(path) as temporary:
            temporary.write_text("x")
        assert error.value.filename == str(path)


def test_a_file_that_nobody_filled_is_an_error_and_leaves_the_older_one(tmp_path):
    before = write("file", tmp_path / "x")
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "x"):
        pass
    assert content_of(tmp_path) == before


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_text_is_written_whole_in_utf8_or_not_at_all(call, tmp_path, monkeypatch):
    write_text(tmp_path / "new" / "file", "Ünïcödé 猫\n")
    assert (tmp_path / "new" / "file").read_bytes() == "Ünïcödé 猫\n".encode()
    monkeypatch.setattr(files.os, call, failing(OSError))
    with pytest.raises(OSError, match="no"):
        write_text(tmp_path / "new" / "file", "other")
    assert content_of(tmp_path / "new") == {"file": "Ünïcödé 猫\n"}


def test_a_file_and_a_folder_are_as_readable_as_any_other(tmp_path):
    (tmp_path / "plain").write_text("as the user's umask has it")
    for kind in WHOLE:
        write(kind, tmp_path / kind)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes["folder"] == 0o755 and modes["file"] == modes["plain"]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(("owner", "call"), [(files.os, "replace"), (Path, "rename")])
def test_a_folder_that_cannot_be_put_in_place_leaves_the_older_one(
    owner, call, error, tmp_path, monkeypatch
):
    before = write("folder", tmp_path / "x")
    with pytest.raises(error), whole_folder(tmp_path / "x") as folder:
        fill(folder, "new")
        monkeypatch.setattr(owner, call, failing(error))
    assert content_of(tmp_path) == before


def test_an_interrupt_right_after_the_older_folder_moved_brings_it_back(tmp_path, monkeypatch):
    before = write("folder", tmp_path / "x")
    rename, calls = Path.rename, []

    def interrupted(path, target):
        calls.append(path.name)
        result = rename(path, target)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "x") as folder:
        fill(folder, "new")
    assert len(calls) == 2 and content_of(tmp_path) == before


def test_a_folder_behind_a_link_is_replaced_and_the_link_stays(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    with whole_folder(tmp_path / "link") as folder:
        fill(folder, "new")
    assert (tmp_path / "link").is_symlink() and os.readlink(tmp_path / "link") == "disk"
    assert (tmp_path / "disk" / "inner" / "file").read_text() == "new"


def test_a_link_is_relative_so_that_both_can_be_moved(tmp_path):
    target = tmp_path / "a" / "tuned" / "target"
    target.mkdir(parents=True)
    (target / "file").write_text("here")
    link(tmp_path / "a" / "runs" / "deep" / "link", target)
    (tmp_path / "a").rename(tmp_path / "b")
    moved = tmp_path / "b" / "runs" / "deep" / "link"
    assert os.readlink(moved) == os.path.join("..", "..", "tuned", "target")
    assert (moved / "file").read_text() == "here"


def test_a_link_is_pointed_elsewhere_whole_or_not_at_all(tmp_path, monkeypatch):
    for name in "abc":
        (tmp_path / name).mkdir()
    for name in "ab":
        link(tmp_path / "link", tmp_path / name)
    monkeypatch.setattr(files.os, "replace", failing(OSError))
    with pytest.raises(OSError, match="no"):
        link(tmp_path / "link", tmp_path / "c")
    assert (tmp_path / "link").resolve() == tmp_path / "b"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c", "link"]


def test_what_is_no_link_is_not_thrown_away_for_one(tmp_path):
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "precious").touch()
    with pytest.raises(OSError, match="link: is a folder, expected a link; delete it"):
        link(tmp_path / "link", tmp_path)
    assert content_of(tmp_path) == {"link": "/", "link/precious": ""}


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


def killed_at(moment: str, target: Path) -> set[str]:
    """Run a process that dies while it writes `target`; return what then lies beside it."""
    command = [sys.executable, "-c", KILLED, str(target), moment]
    assert subprocess.run(command, cwd=ROOT).returncode == 9
    return {path.name for path in target.parent.iterdir()}


@pytest.mark.parametrize("moment", ["filling", "between", "after"])
def test_a_replacement_that_was_cut_off_is_finished_or_undone(moment, tmp_path):
    older = write("folder", tmp_path / "x")
    left = killed_at(moment, tmp_path / "x")
    assert ("x" in left) == (moment != "between") and len(left) == 2
    sweep(tmp_path, "other")
    assert {path.name for path in tmp_path.iterdir()} == left
    sweep(tmp_path, "x")
    newer = {"x": "/", "x/file": "new"}
    assert content_of(tmp_path) == (older if moment == "filling" else newer)


def test_an_older_folder_without_its_successor_comes_back(tmp_path):
    before = write("folder", tmp_path / "x")
    killed_at("between", tmp_path / "x")
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


def test_pieces_in_a_folder_whose_replacement_was_interrupted_go_too(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead = f"{files.HOST}-{ended.pid}-000000.tmp"
    filled, old = tmp_path / f".folder.{dead}", tmp_path / f".folder.{dead}.old"
    for folder in (filled, old):
        folder.mkdir()
    (filled / "file").touch()
    (filled / f".file.{dead}").touch()
    sweep(tmp_path, deep=True)
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*")] == [
        Path("folder"),
        Path("folder/file"),
    ]


def test_pieces_of_another_host_are_left_for_a_week(tmp_path):
    piece = tmp_path / ".file.00000000-1-abcdef.tmp"
    piece.touch()
    sweep(tmp_path)
    assert piece.exists()
    long_ago = piece.stat().st_mtime - files.PATIENCE
    os.utime(piece, (long_ago, long_ago))
    sweep(tmp_path)
    assert not piece.exists()


def test_an_earlier_process_of_the_same_number_is_dead_and_one_that_runs_is_not(tmp_path):
    earlier, living = (
        tmp_path / f".file.{files.HOST}-{process}-000000.tmp"
        for process in (os.getpid(), os.getppid())
    )
    earlier.touch()
    living.touch()
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [living]


@KINDS
def test_all_is_on_the_disk_before_it_gets_its_name(kind, tmp_path, monkeypatch):
    """What was synchronised is known by its inode: names change."""
    done, fsync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(files.os, "fsync", lambda h: done.append(os.fstat(h).st_ino) or fsync(h))
    monkeypatch.setattr(files.os, "replace", lambda *both: done.append("named") or replace(*both))
    write(kind, tmp_path / "x")
    named = done.index("named")
    assert set(done[:named]) == {path.stat().st_ino for path in tmp_path.rglob("*")}
    assert done[named + 1 :] == [tmp_path.stat().st_ino]


def test_numbers_are_read_unless_no_float_holds_them(tmp_path):
    path = tmp_path / "a.json"
    for number in (2**63 - 1, 10**30, -1, 0.5, 1e300):
        path.write_text(f'{{"p": {number}}}')
        assert read_object(path) == {"p": number}
    for digits in ("9" * 400, "-" + "9" * 5000):
        path.write_text(f'{{"p": {digits}}}')
        with pytest.raises(UserError, match="not a readable JSON file"):
            read_json(path)


def test_what_cannot_be_read_comes_with_a_remedy(tmp_path):
    (tmp_path / "link").symlink_to("gone")
    for name, number, remedy in (
        ("a", errno.EACCES, "(Permission denied); allow reading it (chmod u+rX), or name another"),
        ("a", errno.EISDIR, "(Is a directory); name a file"),
        ("a", errno.ENOENT, "(No such file or directory); check the path"),
        ("link", errno.ENOENT, "it is a link to gone; fix the link, or name another file"),
    ):
        path = tmp_path / name
        said = files.why_unreadable(path, OSError(number, os.strerror(number), str(path)))
        assert said.startswith(f"{path}: cannot be read (") and said.endswith(remedy)
    said = files.why_unreadable(tmp_path / "a.gz", gzip.BadGzipFile("Not a gzipped file"))
    assert said.endswith("make it again, or remove .gz from its name if it is not compressed")


def test_a_full_disk_inside_a_new_folder_names_the_folder_that_was_asked_for(tmp_path):
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskError) as error, whole_folder(tmp_path / "out") as folder:
        with whole_folder(folder / "inner"):
            full()
    assert str(error.value).startswith(f"{tmp_path}/out/inner: cannot be written (No space left")
    assert not list(tmp_path.iterdir())
