"""Files, folders and links appear whole or not at all; whatever fails leaves the older one."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from runtime import files
from runtime.files import link, whole_file, whole_folder, write_text

ROOT = Path(__file__).parents[2]
ERRORS = [RuntimeError, OSError, KeyboardInterrupt, SystemExit]


def content_of(folder: Path) -> dict[str, str]:
    """Return all that lies in a folder, temporary and hidden things included."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else "/"
        for path in sorted(folder.rglob("*"))
    }


def fill(folder: Path, text: str) -> None:
    (folder / "file").write_text(text)
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_text(text)


def failing(error):
    def fails(*arguments, **more):
        raise error("no")

    return fails


# whole_file


def test_a_file_appears_when_it_is_whole_in_folders_made_for_it(tmp_path):
    path = tmp_path / "new" / "folder" / "file"
    with whole_file(path) as temporary:
        temporary.write_text("half")
        assert not path.exists() and temporary.parent == path.parent  # same disk
        temporary.write_text("whole")
    assert content_of(path.parent) == {"file": "whole"}


def test_a_new_file_replaces_the_older_one_at_once(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with whole_file(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert content_of(tmp_path) == {"file": "new"}


@pytest.mark.parametrize("older", [{}, {"file": "old"}])
@pytest.mark.parametrize("error", ERRORS)
def test_a_file_that_fails_to_be_filled_leaves_the_older_one(error, older, tmp_path):
    for name, text in older.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(error), whole_file(tmp_path / "file") as temporary:
        temporary.write_text("half")
        raise error("no")
    assert content_of(tmp_path) == older


@pytest.mark.parametrize("error", ERRORS)
def test_a_file_that_fails_to_be_put_in_place_leaves_the_older_one(error, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(files.os, "replace", failing(error))
    with pytest.raises(error), whole_file(tmp_path / "file") as temporary:
        temporary.write_text("new")
    assert content_of(tmp_path) == {"file": "old"}


def test_a_file_that_nobody_filled_is_an_error_and_leaves_the_older_one(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "file"):
        pass
    assert content_of(tmp_path) == {"file": "old"}


def test_processes_that_write_one_file_never_share_a_temporary_one(tmp_path):
    code = (
        "import sys; from pathlib import Path; from runtime.files import whole_file\n"
        "with whole_file(Path(sys.argv[1])) as temporary: print(temporary); temporary.touch()\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "file")]
    names = {
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    with whole_file(tmp_path / "file") as temporary:
        temporary.touch()
        names.add(f"{temporary}\n")
    assert len(names) == 3


def test_a_killed_process_leaves_the_older_file(tmp_path):
    """The worst case: nothing of ours runs any more, and half a file lies about, unnamed."""
    (tmp_path / "file").write_text("old")
    code = (
        "import os, sys; from pathlib import Path; from runtime.files import whole_file\n"
        "with whole_file(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half'); os._exit(9)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "file")]
    assert subprocess.run(command, cwd=ROOT).returncode == 9
    assert (tmp_path / "file").read_text() == "old"
    assert all(name == "file" or name.startswith(".") for name in content_of(tmp_path))


def test_a_text_is_written_whole_in_utf8(tmp_path, monkeypatch):
    write_text(tmp_path / "new" / "file", "Ünïcödé 猫\n")
    assert (tmp_path / "new" / "file").read_bytes() == "Ünïcödé 猫\n".encode()
    monkeypatch.setattr(files.os, "replace", failing(OSError))
    with pytest.raises(OSError, match="no"):
        write_text(tmp_path / "new" / "file", "other")
    assert content_of(tmp_path / "new") == {"file": "Ünïcödé 猫\n"}


def test_a_file_is_as_readable_as_any_other(tmp_path):
    (tmp_path / "plain").write_text("as the user's umask has it")
    write_text(tmp_path / "whole", "")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


# whole_folder


def test_a_folder_appears_when_it_is_whole_in_folders_made_for_it(tmp_path):
    target = tmp_path / "new" / "folder"
    with whole_folder(target) as folder:
        fill(folder, "whole")
        assert not target.exists() and folder.parent == target.parent
    assert content_of(target) == {"file": "whole", "inner": "/", "inner/file": "whole"}
    assert [path.name for path in target.parent.iterdir()] == ["folder"]


def test_a_new_folder_replaces_the_older_one_with_all_that_was_in_it(tmp_path):
    with whole_folder(tmp_path / "folder") as folder:
        fill(folder, "old")
        (folder / "only in the old one").touch()
    with whole_folder(tmp_path / "folder") as folder:
        fill(folder, "new")
        assert (tmp_path / "folder" / "file").read_text() == "old"
    found = content_of(tmp_path / "folder")
    assert found == {"file": "new", "inner": "/", "inner/file": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def older_folder(tmp_path) -> dict[str, str]:
    with whole_folder(tmp_path / "folder") as folder:
        fill(folder, "old")
    return content_of(tmp_path)


@pytest.mark.parametrize("error", ERRORS)
def test_a_folder_that_fails_to_be_filled_leaves_the_older_one(error, tmp_path):
    before = older_folder(tmp_path)
    with pytest.raises(error), whole_folder(tmp_path / "folder") as folder:
        fill(folder, "half")
        raise error("no")
    assert content_of(tmp_path) == before


@pytest.mark.parametrize("error", ERRORS)
def test_a_first_folder_that_fails_leaves_nothing(error, tmp_path):
    with pytest.raises(error), whole_folder(tmp_path / "folder") as folder:
        fill(folder, "half")
        raise error("no")
    assert content_of(tmp_path) == {}


@pytest.mark.parametrize("error", ERRORS)
def test_a_folder_that_fails_to_be_put_in_place_brings_the_older_one_back(
    error, tmp_path, monkeypatch
):
    before = older_folder(tmp_path)
    monkeypatch.setattr(files.os, "replace", failing(error))
    with pytest.raises(error), whole_folder(tmp_path / "folder") as folder:
        fill(folder, "new")
    assert content_of(tmp_path) == before


@pytest.mark.parametrize("error", ERRORS)
def test_an_older_folder_that_cannot_be_moved_stays(error, tmp_path, monkeypatch):
    before = older_folder(tmp_path)
    monkeypatch.setattr(Path, "rename", failing(error))
    with pytest.raises(error), whole_folder(tmp_path / "folder") as folder:
        fill(folder, "new")
    assert content_of(tmp_path) == before


def test_an_interrupt_right_after_the_older_folder_moved_brings_it_back(tmp_path, monkeypatch):
    before = older_folder(tmp_path)
    rename, calls = Path.rename, []

    def interrupted(path, target):
        calls.append(path.name)
        result = rename(path, target)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "folder") as folder:
        fill(folder, "new")
    assert len(calls) == 2 and content_of(tmp_path) == before


def test_a_folder_behind_a_link_is_replaced_and_the_link_stays(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    with whole_folder(tmp_path / "link") as folder:
        fill(folder, "new")
    assert (tmp_path / "link").is_symlink() and os.readlink(tmp_path / "link") == "disk"
    assert (tmp_path / "disk" / "file").read_text() == "new"


def test_a_folder_can_be_read_by_others(tmp_path):
    older_folder(tmp_path)
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o755


def test_the_folder_that_one_works_in_can_be_named_by_a_dot(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with whole_folder(Path(".")) as folder:
        fill(folder, "new")
    assert (tmp_path / "here" / "file").read_text() == "new"


# link


def test_a_link_is_relative_so_that_both_can_be_moved(tmp_path):
    target = tmp_path / "a" / "tuned" / "target"
    target.mkdir(parents=True)
    (target / "file").write_text("here")
    link(tmp_path / "a" / "runs" / "deep" / "link", target)
    (tmp_path / "a").rename(tmp_path / "b")
    moved = tmp_path / "b" / "runs" / "deep" / "link"
    assert os.readlink(moved) == os.path.join("..", "..", "tuned", "target")
    assert (moved / "file").read_text() == "here"


def test_a_link_is_pointed_elsewhere_whole(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        link(tmp_path / "link", tmp_path / name)
    assert (tmp_path / "link").resolve() == tmp_path / "b"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "link"]


@pytest.mark.parametrize("error", ERRORS)
def test_a_link_that_fails_leaves_the_older_one(error, tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).mkdir()
    link(tmp_path / "link", tmp_path / "a")
    monkeypatch.setattr(files.os, "replace", failing(error))
    with pytest.raises(error):
        link(tmp_path / "link", tmp_path / "b")
    assert (tmp_path / "link").resolve() == tmp_path / "a"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "link"]


def test_a_link_reached_through_another_link_still_points_right(tmp_path):
    (tmp_path / "disk" / "runs").mkdir(parents=True)
    (tmp_path / "target").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "disk" / "runs")
    link(tmp_path / "runs" / "link", tmp_path / "target")
    assert (tmp_path / "runs" / "link").resolve() == tmp_path / "target"


def test_what_is_no_link_is_not_thrown_away_for_one(tmp_path):
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "precious").touch()
    with pytest.raises(OSError, match="irectory"):
        link(tmp_path / "link", tmp_path)
    assert content_of(tmp_path) == {"link": "/", "link/precious": ""}
