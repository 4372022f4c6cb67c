"""Archives: the folders that are wanted appear whole, and nothing outside is ever written."""

import io
import tarfile

import pytest
from kites import archive

from data import download as module
from data.download import DownloadError, unpack

FILES = {"STS/deep/a.txt": b"a", "SICK/b.txt": b"b", "MR/c.txt": b"c"}


@pytest.fixture
def tar(tmp_path):
    """An archive of three folders, in a folder of its own."""
    path = tmp_path / "downloads" / "all.tar"
    path.parent.mkdir()
    path.write_bytes(archive(FILES))
    return path


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_wanted_folders_are_unpacked_and_no_others(tar):
    folder = tar.parent
    assert unpack(tar, ("STS", "SICK")) == [folder / "STS", folder / "SICK"]
    assert names(folder) == ["SICK/b.txt", "STS/deep/a.txt", "all.tar"]
    assert unpack(tar, ()) == []


def test_a_folder_that_is_there_stays_as_it_is(tar):
    mark = tar.parent / "STS" / "mark"
    mark.parent.mkdir()
    mark.write_text("kept")
    unpack(tar, ("STS", "MR"))
    assert names(tar.parent) == ["MR/c.txt", "STS/mark", "all.tar"]
    tar.write_bytes(b"no archive any more")
    assert unpack(tar, ("STS", "MR"))  # nothing to do, so it is not opened


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not an archive", "cannot be unpacked"),
        (archive({"STS/x": bytes(5000)})[:600], "cannot be unpacked"),
        (archive({"STS/x": b"x"}), "no folder MR in it"),
    ],
)
def test_a_broken_archive_leaves_nothing(tar, content, message):
    tar.write_bytes(content)
    with pytest.raises(DownloadError, match=message) as caught:
        unpack(tar, ("STS", "MR"))
    assert "\n" not in str(caught.value) and str(tar) in str(caught.value)
    assert [path.name for path in tar.parent.iterdir()] == ["all.tar"]


@pytest.mark.parametrize("kind", ["upwards", "link", "device"])
def test_nothing_is_written_outside_the_folder(tar, kind):
    entry = tarfile.TarInfo("STS/../../../evil.txt" if kind == "upwards" else "STS/evil")
    if kind == "link":
        entry.type, entry.linkname = tarfile.SYMTYPE, "../../../../outside"
    if kind == "device":
        entry.type = tarfile.CHRTYPE
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as file:
        file.addfile(entry, io.BytesIO())
    tar.write_bytes(content.getvalue())
    with pytest.raises(DownloadError, match="cannot be unpacked"):
        unpack(tar, ("STS",))
    assert [path.name for path in tar.parent.iterdir()] == ["all.tar"]
    assert [path.name for path in tar.parents[1].iterdir()] == ["downloads"]


def test_an_interrupted_unpacking_leaves_no_folder_that_looks_whole(tar, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        unpack(tar, ("STS",))
    assert [path.name for path in tar.parent.iterdir()] == ["all.tar"]


def test_a_folder_that_cannot_be_written_is_told(tar, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "rename", full)
    with pytest.raises(DownloadError, match="No space left on device"):
        unpack(tar, ("STS",))
