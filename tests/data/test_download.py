"""Downloads from a misbehaving server on 127.0.0.1: whole and right, or not there at all."""

import hashlib
import io
import socket
import tarfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import real_data
from huggingface_hub import constants
from kites import DATA, Handler, archive, kite_server, ranged

from data import download
from data.download import DownloadError, fault, fetch, main, unpack
from data.sources import DESCRIPTIONS, SOURCES, RemoteFile

HALF = len(DATA) // 2
SHA256 = hashlib.sha256(DATA).hexdigest()
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
HTML = b"\n<!DOCTYPE html><html><body>Please sign in</body></html>"
NEW = DATA.replace(b"kite", b"bird")


@pytest.fixture
def serve(monkeypatch):
    monkeypatch.setattr(download, "RETRY_PAUSE", 0)
    with kite_server() as start:
        yield start


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def refused(remote: RemoteFile, folder: Path) -> str:
    """Return the one-line error of a fetch that must leave no file at the final path."""
    with pytest.raises(DownloadError) as caught:
        fetch(remote, folder)
    assert not (folder / "kites.csv").exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_whole_file_arrives_and_is_not_fetched_twice(serve, tmp_path):
    remote, asked = serve(ranged, size=len(DATA), sha256=SHA256)
    for _ in range(2):
        path = fetch(remote, tmp_path / "new" / "folder")
        assert path.read_bytes() == DATA
    assert asked == [None] and names(path.parent) == ["kites.csv"]


def test_killed_as_a_file_gets_its_name_it_leaves_nothing_beside_it(serve, tmp_path, monkeypatch):
    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    remote, _ = serve(ranged)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(download, "to_disk", lambda path: path == tmp_path and killed())
        fetch(remote, tmp_path)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert names(tmp_path) == ["kites.csv"]


def test_two_at_once_fetch_one_after_the_other(serve, tmp_path, caplog):
    """The second must not append to the first one's part file, nor move it away."""
    arrived, go_on = threading.Event(), threading.Event()

    def behave(handler: Handler, offset: int) -> None:
        arrived.set()
        go_on.wait(10)
        ranged(handler, offset)

    remote, asked = serve(behave)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(fetch, remote, tmp_path)
        assert arrived.wait(10)
        second = pool.submit(fetch, remote, tmp_path)
        while "waiting" not in caplog.text and not second.done():
            time.sleep(0.01)
        go_on.set()
        assert first.result().read_bytes() == second.result().read_bytes() == DATA
    assert asked == [None]


# --- transfers that break off


@pytest.mark.parametrize(
    ("part", "behave", "asked_for"),
    [
        (b"", lambda handler, o: ranged(handler, o, limit=HALF - 7), [0, HALF - 7, 2 * HALF - 14]),
        (DATA[:HALF], ranged, [HALF]),
        (DATA, ranged, [len(DATA)]),  # whole, as the server says, and then verified
        (DATA + b"more", ranged, [len(DATA) + 4, 0]),
        (b"stale" * 100, lambda handler, offset: handler.reply(200, DATA), [500]),
        # A continuation at the wrong byte is not appended.
        (DATA[:HALF], lambda handler, o: ranged(handler, o and o + 1), [HALF, 0]),
    ],
)
def test_a_download_goes_on_where_it_broke_off_or_starts_over(
    part, behave, asked_for, serve, tmp_path
):
    if part:
        (tmp_path / "kites.csv.part").write_bytes(part)
    remote, asked = serve(behave, sha256=SHA256)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert asked == [f"bytes={byte}-" if byte else None for byte in asked_for]


def test_a_part_file_of_the_known_size_is_not_asked_for_again(serve, tmp_path):
    (tmp_path / "kites.csv.part").write_bytes(DATA)
    remote, asked = serve(ranged, size=len(DATA), sha256=SHA256)
    assert fetch(remote, tmp_path).read_bytes() == DATA and asked == []


def test_a_server_that_always_breaks_off_leaves_a_part_to_resume(serve, tmp_path):
    remote, asked = serve(lambda handler, offset: ranged(handler, offset, limit=10))
    message, attempts = refused(remote, tmp_path), download.ATTEMPTS
    assert f"broke off at {10 * attempts} of {len(DATA)} bytes ({attempts} attempts)" in message
    assert len(asked) == attempts
    assert (tmp_path / "kites.csv.part").read_bytes() == DATA[: 10 * attempts]


def test_a_silent_server_runs_into_the_timeout_and_none_at_all_is_said(
    serve, tmp_path, monkeypatch
):
    monkeypatch.setattr(download, "TIMEOUT", 0.05)
    monkeypatch.setattr(download, "ATTEMPTS", 1)
    remote, _ = serve(lambda handler, offset: time.sleep(0.3))
    assert "timed out" in refused(remote, tmp_path)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, never listening: connections are refused
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/kites.csv"
        message = refused(RemoteFile("kites.csv", url), tmp_path)
    assert "cannot be reached" in message and "check the network" in message


# --- answers that are not the file


@pytest.mark.parametrize(
    ("body", "headers", "known", "said"),
    [
        (DATA, {"Content_Length": HALF}, {"size": len(DATA)}, f"{len(DATA)} bytes, got {HALF}"),
        (DATA, {"Content_Length": None}, {}, "sends no length"),
        (b"x" * len(DATA), {}, {"size": len(DATA), "sha256": SHA256}, f"SHA-256 {SHA256}, got "),
        (LFS_POINTER, {}, {}, "Git LFS pointer"),
        (HTML, {}, {}, "HTML page"),
        (b"", {}, {}, "got 0"),
    ],
)
def test_what_is_not_the_published_file_is_refused_and_deleted(
    body, headers, known, said, serve, tmp_path
):
    remote, _ = serve(lambda handler, offset: handler.reply(200, body, **headers), **known)
    assert said in refused(remote, tmp_path)
    assert names(tmp_path) == []


def test_a_refusal_is_final_and_a_passing_error_is_tried_again(serve, tmp_path):
    (tmp_path / "kites.csv.part").write_bytes(DATA[:HALF])
    remote, asked = serve(lambda handler, offset: handler.reply(404))
    message = refused(remote, tmp_path)
    assert remote.url in message and "the server answers 404" in message and len(asked) == 1
    handlers = iter([lambda handler, offset: handler.reply(503), ranged])
    remote, asked = serve(lambda handler, offset: next(handlers)(handler, offset))
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert len(asked) == 3


def test_a_present_file_is_left_alone_unless_it_is_known_to_be_another(serve, tmp_path, caplog):
    path = tmp_path / "kites.csv"
    path.write_bytes(b"mine\n")
    remote, asked = serve(ranged)  # of unknown size and hash
    assert fetch(remote, tmp_path).read_bytes() == b"mine\n" and asked == []
    remote, _ = serve(lambda handler, offset: handler.reply(404), sha256=SHA256)
    with pytest.raises(DownloadError):
        fetch(remote, tmp_path)
    assert path.read_bytes() == b"mine\n"  # it survives a failed replacement
    path.write_bytes(LFS_POINTER)
    remote, _ = serve(ranged)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert "Git LFS pointer" in caplog.text


# --- the hub's files

COMMIT = "c" * 40
ABOUT = {"X_Repo_Commit": COMMIT, "ETag": f'"{SHA256}"', "Content_Length": len(DATA)}


@pytest.fixture
def on_hub(serve, tmp_path, monkeypatch):
    """Return `serve` for a file on the hub: the server is the hub, and its cache is a folder."""

    def start(behave, about=ABOUT, offline=False):
        remote, asked = serve(behave, about, hub="team/kites")
        address = remote.url.removesuffix("/kites.csv")
        for constant, value in {
            "HF_HUB_CACHE": str(tmp_path / "cache"),
            "HF_HUB_OFFLINE": offline,
            "ENDPOINT": address,
            "HUGGINGFACE_CO_URL_TEMPLATE": address + "/{repo_id}/resolve/{revision}/{filename}",
        }.items():
            monkeypatch.setattr(constants, constant, value)
        return remote, asked

    return start


def test_the_hub_says_which_commit_is_fetched_and_what_it_holds(on_hub, tmp_path):
    paths = []

    def behave(handler: Handler, offset: int) -> None:
        paths.append(handler.path)
        ranged(handler, offset, limit=HALF)

    remote, asked = on_hub(behave)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert asked == [None, f"bytes={HALF}-"]
    assert set(paths) == {f"/datasets/team/kites/resolve/{COMMIT}/kites.csv"}


def test_parts_of_two_versions_are_never_joined(on_hub, tmp_path):
    (tmp_path / "kites.csv.part").write_bytes(NEW[:HALF])
    remote, asked = on_hub(ranged)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert asked == [f"bytes={HALF}-", None] and names(tmp_path) == ["kites.csv"]
    (tmp_path / "kites.csv").unlink()
    remote, _ = on_hub(lambda handler, offset: ranged(handler, offset, NEW))
    assert f"expected SHA-256 {SHA256}, got " in refused(remote, tmp_path)


def test_a_file_in_the_hubs_cache_is_not_fetched_even_offline(on_hub, tmp_path):
    remote, asked = on_hub(ranged, offline=True)
    message = refused(remote, tmp_path)
    assert "cannot be reached" in message and "HF_HUB_OFFLINE" in message
    folder = tmp_path / "cache" / "datasets--team--kites"
    for name, content in {
        "refs/main": COMMIT.encode(),
        f"snapshots/{COMMIT}/kites.csv": DATA,
    }.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(content)
    assert fetch(remote, tmp_path / "out").read_bytes() == DATA
    assert asked == [] and names(tmp_path / "out") == ["kites.csv"]


def test_what_the_hub_does_not_have_is_refused_at_once(on_hub, tmp_path):
    remote, asked = on_hub(ranged, about={})
    assert "the server answers 404" in refused(remote, tmp_path) and asked == []


# --- archives

FILES = {"STS/deep/a.txt": b"a", "SICK/b.txt": b"b", "MR/c.txt": b"c"}


@pytest.fixture
def tar(tmp_path):
    """An archive of three folders, in a folder of its own."""
    path = tmp_path / "downloads" / "all.tar"
    path.parent.mkdir()
    path.write_bytes(archive(FILES))
    return path


def test_the_wanted_folders_are_unpacked_unless_they_are_there(tar):
    folder = tar.parent
    assert unpack(tar, ("STS", "SICK")) == [folder / "STS", folder / "SICK"]
    assert names(folder) == ["SICK/b.txt", "STS/deep/a.txt", "all.tar"]
    (folder / "STS" / "mark").touch()
    unpack(tar, ("STS", "MR"))
    wanted = ["MR/c.txt", "SICK/b.txt", "STS/deep/a.txt", "STS/mark", "all.tar"]
    assert names(folder) == wanted
    tar.write_bytes(b"no archive any more")
    assert unpack(tar, ("STS", "MR")) and unpack(tar, ()) == []  # nothing to do: it is not opened


def odd_archive(name, kind=tarfile.REGTYPE, link=""):
    """Return an archive of an entry that would be written outside the folder, or is a device."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, link
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as file:
        file.addfile(entry, io.BytesIO())
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not an archive", "cannot be unpacked"),
        (archive({"STS/x": bytes(5000)})[:600], "cannot be unpacked"),
        (archive({"STS/x": b"x"}), "no folder MR in it"),
        (odd_archive("STS/../../../evil.txt"), "cannot be unpacked"),
        (odd_archive("STS/evil", tarfile.SYMTYPE, "../../../../outside"), "cannot be unpacked"),
        (odd_archive("STS/evil", tarfile.CHRTYPE), "cannot be unpacked"),
    ],
)
def test_a_broken_or_evil_archive_leaves_nothing(tar, content, message):
    tar.write_bytes(content)
    with pytest.raises(DownloadError, match=message) as caught:
        unpack(tar, ("STS", "MR"))
    assert "\n" not in str(caught.value) and str(tar) in str(caught.value)
    assert [path.name for path in tar.parent.iterdir()] == ["all.tar"]
    assert [path.name for path in tar.parents[1].iterdir()] == ["downloads"]


@pytest.mark.parametrize(
    ("raised", "reported"),
    [(KeyboardInterrupt(), KeyboardInterrupt), (OSError(28, "No space left"), DownloadError)],
)
def test_an_unpacking_that_breaks_off_leaves_no_folder_that_looks_whole(
    tar, monkeypatch, raised, reported
):
    def breaks(*arguments):
        raise raised

    monkeypatch.setattr(download.os, "rename", breaks)
    with pytest.raises(reported, match="No space left" if reported is DownloadError else None):
        unpack(tar, ("STS",))
    assert [path.name for path in tar.parent.iterdir()] == ["all.tar"]


# --- the command, and the published files


def test_main_fetches_into_a_folder_of_the_data_sets_name(serve, tmp_path, monkeypatch, capsys):
    """An archive that data sets have in common is fetched once, and their folders are unpacked."""
    data = archive(FILES)
    remote, asked = serve(lambda handler, offset: ranged(handler, offset, data))
    for name, members in (("sts", ("STS", "SICK")), ("transfer", ("MR",)), ("hans", ())):
        monkeypatch.setitem(SOURCES, name, [replace(remote, members=members)])
    monkeypatch.chdir(tmp_path)
    assert main(["sts", "transfer", "hans"]) == main(["hans", "--out", "mine"]) == 0
    folder = tmp_path / "downloads" / "senteval"
    assert names(folder) == ["MR/c.txt", "SICK/b.txt", "STS/deep/a.txt", "kites.csv"]
    assert (tmp_path / "downloads" / "hans" / "kites.csv").read_bytes() == data
    assert (tmp_path / "mine" / "kites.csv").read_bytes() == data and len(asked) == 3
    output = capsys.readouterr()
    assert f"{folder / 'SICK'}\n" in output.out
    assert output.out.splitlines()[-1] == f"hans: 1 file(s) in {tmp_path / 'mine'}"
    assert output.err == ""  # no progress bar where stderr is not a terminal


def test_main_says_in_one_line_what_is_wrong(serve, tmp_path, monkeypatch, capsys):
    remote, _ = serve(lambda handler, offset: handler.reply(404))
    monkeypatch.setitem(SOURCES, "kites", [remote])
    known = "expected one of cs224n, wiki1m, nli"
    for names, said in ((["kites"], remote.url), (["kytes"], known), ([], known)):
        assert main([*names, "--out", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ") and said in error and error.count("\n") == 1


def test_an_interrupted_command_says_that_it_resumes_and_list_fetches_nothing(
    monkeypatch, tmp_path, capsys
):
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "fetch", interrupt)
    assert main(["nli", "--out", str(tmp_path)]) == 130
    assert "again to resume" in capsys.readouterr().err
    assert main(["--list"]) == 0
    output = capsys.readouterr().out
    assert all(remote.url in output for files in SOURCES.values() for remote in files)


def test_every_source_is_described_and_named_as_its_address_ends():
    assert DESCRIPTIONS.keys() == SOURCES.keys()
    assert [len(files) for files in SOURCES.values()] == [12, 1, 1, 1, 1, 1]
    for remote in (remote for files in SOURCES.values() for remote in files):
        assert remote.url.startswith("https://") and remote.url.endswith("/" + remote.name)
        assert (remote.size is None) == (remote.sha256 is None)


def test_known_sizes_and_hashes_are_those_of_the_published_files():
    folder = real_data("cs224n")
    known = [remote for remote in SOURCES["cs224n"] if remote.sha256]
    assert len(known) == 8
    assert all(fault(remote, folder / remote.name) is None for remote in known)
