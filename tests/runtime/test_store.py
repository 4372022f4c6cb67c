"""What was kept is found by its inputs, whole and unchanged, by one process or several."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import on_two_ranks

from runtime.errors import DiskError, KeptError
from runtime.processes import barrier, is_main, rank, world_size
from runtime.store import CACHES, FORMATS, kept

MADE_OF = {"weights": "abc", "config": {"rate": 1e-3, "layers": None}}


def keep(root, made_of=MADE_OF, kind="training", text="result", calls=None, **more):
    def make(work):
        if calls is not None:
            calls.append(work)
        (work.folder / "in").mkdir()
        (work.folder / "in" / "file.txt").write_text(text)

    return kept(kind, made_of, make, root, **more)


def test_a_result_is_made_once_and_found_again(tmp_path):
    calls: list = []
    folder = keep(tmp_path / "new" / "root", name="sup", calls=calls)
    assert keep(tmp_path / "new" / "root", name="sup", calls=calls) == folder
    (work,) = calls
    assert folder.name == f"sup-{work.key}" and len(work.key) == 16
    assert (folder / "in" / "file.txt").read_text() == "result"
    stated = json.loads((folder / "made_of.json").read_text())
    assert stated == MADE_OF | {"kind": "training", "format": FORMATS["training"]}
    assert list(folder.parent.iterdir()) == [folder]


def test_other_inputs_of_any_kind_are_another_folder(tmp_path, monkeypatch):
    folders = [
        keep(tmp_path),
        keep(tmp_path, kind="trial"),
        keep(tmp_path, MADE_OF | {"weights": "abd"}),
        keep(tmp_path, MADE_OF | {"config": {"rate": 1e-3, "layers": 0}}),
        keep(tmp_path, {"weights": "abc"}),
    ]
    monkeypatch.setitem(FORMATS, "training", FORMATS["training"] + 1)
    folders.append(keep(tmp_path))
    assert len(set(folders)) == len(folders)
    reordered = dict(reversed(MADE_OF.items()))
    assert keep(tmp_path, reordered) == folders[-1]


def change(folder: Path) -> None:
    (folder / "in" / "file.txt").write_text("resulT")


def remove(folder: Path) -> None:
    (folder / "in" / "file.txt").unlink()


def unlist(folder: Path) -> None:
    (folder / "SHA256SUMS").unlink()


def exchange(folder: Path) -> None:
    """Put the whole result of other inputs under this name."""
    other = keep(folder.parent / "elsewhere", {"weights": "other"}, text="other")
    shutil.rmtree(folder)
    shutil.move(other, folder)


def replace_by_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("no folder")


FAULTS = {
    change: "file.txt has changed",
    remove: "file.txt is missing",
    unlist: "no SHA256SUMS in it",
    exchange: "made_of.json is that of another folder",
    replace_by_file: "no SHA256SUMS in it",
}


@pytest.mark.parametrize("damage", FAULTS)
@pytest.mark.parametrize("kind", ["training", "backbone", "embeddings", "trial"])
def test_a_changed_result_is_refused_and_a_changed_cache_made_again(damage, kind, tmp_path):
    folder = keep(tmp_path, kind=kind)
    damage(folder)
    if kind in CACHES:
        assert keep(tmp_path, kind=kind) == folder
        assert (folder / "in" / "file.txt").read_text() == "result"
    else:
        with pytest.raises(KeptError, match=f"{FAULTS[damage]}; delete the folder"):
            keep(tmp_path, kind=kind)


def test_files_that_were_added_are_left_alone(tmp_path):
    folder = keep(tmp_path)
    (folder / "notes.txt").write_text("mine")
    assert keep(tmp_path, text="never made") == folder
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("together", [False, True])
def test_a_failure_leaves_nothing_but_the_state_which_goes_with_the_result(together, tmp_path):
    def make(work, fails=True):
        assert work.state.is_file() != fails  # the second time it is there
        work.state.write_text("half of it")
        (work.folder / "file").write_text("x")
        if fails:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept("training", MADE_OF, make, tmp_path, name="head", together=together)
    (state,) = tmp_path.iterdir()
    assert state.name.startswith("head-") and state.name.endswith(".state.pt")

    def finish(work):
        make(work, fails=False)

    folder = kept("training", MADE_OF, finish, tmp_path, name="head", together=together)
    assert list(tmp_path.iterdir()) == [folder]
    state.write_text("left by a process that was killed here")
    kept("training", MADE_OF, finish, tmp_path, name="head", together=together)
    assert list(tmp_path.iterdir()) == [folder]


KILLED = """
import os, signal, sys
from pathlib import Path
from runtime.store import kept

def make(work):
    (work.folder / "file").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

kept("training", {"a": 1}, make, Path(sys.argv[1]))
"""


@pytest.mark.skipif(os.name != "posix", reason="kills by a signal")
def test_what_a_killed_process_was_writing_is_swept_up(tmp_path):
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path], cwd=root)
    assert ended.returncode == -signal.SIGKILL
    assert [path.name.endswith(".tmp") for path in tmp_path.iterdir()] == [True]
    folder = keep(tmp_path, {"a": 1})
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("together", [False, True])
def test_of_two_commands_that_make_the_same_the_first_one_counts(together, tmp_path):
    def slow(work):
        fast = keep(tmp_path, {"a": 1}, text="of the fast one")
        inside = (fast / "in" / "file.txt").stat()
        slow.kept = fast, inside
        (work.folder / "file").write_text("of the slow one")

    folder = kept("training", {"a": 1}, slow, tmp_path, together=together)
    fast, inside = slow.kept
    assert folder == fast and (folder / "in" / "file.txt").stat() == inside
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.skipif(os.name != "posix", reason="makes links")
def test_a_link_that_leads_nowhere_is_replaced(tmp_path):
    folder = keep(tmp_path, kind="embeddings")
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path / "elsewhere")
    assert keep(tmp_path, kind="embeddings") == folder
    assert folder.is_dir() and not folder.is_symlink()
    assert list(tmp_path.iterdir()) == [folder]


def test_a_file_where_the_root_should_be_is_one_line(tmp_path):
    (tmp_path / "root").write_text("mine")
    with pytest.raises(DiskError, match=r"root.*a file is where a folder should be"):
        keep(tmp_path / "root")
    assert (tmp_path / "root").read_text() == "mine"


def both_kinds(root: Path, changed: Path) -> list:
    """Return what two processes see of results that one makes, that both make, and nested ones.

    The last is the refusal of a changed one.
    """
    made = []

    def alone(work):
        made.append("alone")
        keep(root, {"inner": 1})  # by this process only: the other one waits
        assert (rank(), world_size()) == (0, 1)
        (work.folder / "file").write_text("x")

    def jointly(work):
        made.append("jointly")
        keep(root, {"inner": 2})
        if is_main():
            (work.folder / "file").write_text("x")

    paths = [kept("trial", {"a": 1}, alone, root) for _ in range(2)]
    paths += [kept("trial", {"a": 2}, jointly, root, together=True) for _ in range(2)]
    barrier()
    with pytest.raises(KeptError) as refusal:
        keep(changed)
    files = [(path.name, (path / "file").read_text()) for path in paths]
    return [made, files, str(refusal.value)]


def test_two_processes_share_results_that_one_or_both_make_and_refuse_alike(tmp_path):
    change(keep(tmp_path / "changed"))
    out = tmp_path / "out"
    out.mkdir()
    (first, *files), (second, *same_files) = on_two_ranks(
        both_kinds, out, tmp_path / "root", tmp_path / "changed"
    )
    assert first == ["alone", "jointly"] and second == ["jointly"] and files == same_files
    assert "file.txt has changed" in files[1]
    assert len(list((tmp_path / "root").iterdir())) == 4
