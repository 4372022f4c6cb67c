"""Downloads from a misbehaving server on 127.0.0.1: whole and right, or not there at all."""

import hashlib
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kites import DATA, Handler, kite_server, ranged

from data import download as transfer
from data.download import DownloadError, fetch
from data.sources import RemoteFile

HALF = len(DATA) // 2
SHA256 = hashlib.sha256(DATA).hexdigest()
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
HTML = b"\n<!DOCTYPE html><html><body>Please sign in</body></html>"


@pytest.fixture
def serve(monkeypatch):
    monkeypatch.setattr(transfer, "RETRY_PAUSE", 0)
    with kite_server() as start:
        yield start


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
    assert asked == [None]
    assert [file.name for file in path.parent.iterdir()] == ["kites.csv"]


@pytest.mark.parametrize("known", [{"size": len(DATA), "sha256": SHA256}, {}])
def test_killed_as_a_file_gets_its_name_it_leaves_nothing_beside_it(
    known, serve, tmp_path, monkeypatch
):
    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    remote, _ = serve(ranged, **known)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(transfer, "to_disk", lambda path: path == tmp_path and killed())
        fetch(remote, tmp_path)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert [file.name for file in tmp_path.iterdir()] == ["kites.csv"]


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


@pytest.mark.parametrize("known", [{}, {"size": len(DATA), "sha256": SHA256}])
def test_a_broken_transfer_continues_where_it_broke_off(serve, tmp_path, known):
    remote, asked = serve(lambda handler, offset: ranged(handler, offset, limit=HALF - 7), **known)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert asked == [None, f"bytes={HALF - 7}-", f"bytes={2 * (HALF - 7)}-"]


def test_a_second_run_resumes_from_the_part_file(serve, tmp_path):
    (tmp_path / "kites.csv.part").write_bytes(DATA[:HALF])
    remote, asked = serve(ranged, sha256=SHA256)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert asked == [f"bytes={HALF}-"]


def test_a_server_that_ignores_ranges_makes_it_start_over(serve, tmp_path):
    (tmp_path / "kites.csv.part").write_bytes(b"stale" * 100)
    remote, asked = serve(lambda handler, offset: handler.reply(200, DATA), sha256=SHA256)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert asked == ["bytes=500-"]


def test_a_part_file_that_is_whole_is_only_verified(serve, tmp_path):
    (tmp_path / "kites.csv.part").write_bytes(DATA)
    remote, asked = serve(ranged, sha256=SHA256)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert asked == [f"bytes={len(DATA)}-"]


def test_a_part_file_beyond_the_end_is_thrown_away(serve, tmp_path):
    (tmp_path / "kites.csv.part").write_bytes(DATA + b"more")
    remote, asked = serve(ranged, sha256=SHA256)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert asked == [f"bytes={len(DATA) + 4}-", None]


def test_a_continuation_at_the_wrong_byte_is_not_appended(serve, tmp_path):
    def behave(handler: Handler, offset: int) -> None:
        ranged(handler, offset and offset + 1)

    (tmp_path / "kites.csv.part").write_bytes(DATA[:HALF])
    remote, asked = serve(behave, sha256=SHA256)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert asked == [f"bytes={HALF}-", None]


NEW = DATA.replace(b"kite", b"bird")


def careless(handler: Handler, offset: int) -> None:
    """Answer for the newer file as a server does that does not know If-Range."""
    span = {"Content_Range": f"bytes {offset}-{len(NEW) - 1}/{len(NEW)}"} if offset else {}
    handler.reply(206 if offset else 200, NEW[offset:], ETag='"2"', **span)


@pytest.mark.parametrize("now", [lambda h, o: ranged(h, o, NEW, tag='"2"'), careless])
def test_parts_of_two_versions_are_never_joined(now, serve, tmp_path, monkeypatch):
    monkeypatch.setattr(transfer, "ATTEMPTS", 1)
    refused(serve(lambda handler, offset: ranged(handler, offset, limit=HALF))[0], tmp_path)
    assert (tmp_path / "kites.csv.part").read_bytes() == DATA[:HALF]
    monkeypatch.setattr(transfer, "ATTEMPTS", 2)
    remote, asked = serve(now)
    assert fetch(remote, tmp_path).read_bytes() == NEW
    assert f"bytes={HALF}-" in asked
    assert [path.name for path in tmp_path.iterdir()] == ["kites.csv"]


@pytest.mark.parametrize("tag", ['W/"1"', None])
def test_without_mark_and_hash_a_transfer_starts_anew(tag, serve, tmp_path):
    limits = iter([HALF, None])
    remote, asked = serve(lambda h, offset: ranged(h, offset, limit=next(limits), tag=tag))
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert asked == [None, None]


def test_a_server_that_always_breaks_off_leaves_a_part_to_resume(serve, tmp_path):
    def behave(handler: Handler, offset: int) -> None:
        ranged(handler, offset, limit=10)

    remote, asked = serve(behave)
    message = refused(remote, tmp_path)
    attempts = transfer.ATTEMPTS
    assert f"broke off at {10 * attempts} of {len(DATA)} bytes ({attempts} attempts)" in message
    assert len(asked) == attempts
    assert (tmp_path / "kites.csv.part").read_bytes() == DATA[: 10 * attempts]


def test_a_content_length_that_promises_too_much_is_no_whole_file(serve, tmp_path):
    def behave(handler: Handler, offset: int) -> None:
        handler.reply(200, DATA[:HALF], Content_Length=len(DATA))

    remote, _ = serve(behave)
    assert f"broke off at {HALF} of {len(DATA)} bytes" in refused(remote, tmp_path)


def test_a_content_length_that_promises_too_little_is_caught_by_the_known_size(serve, tmp_path):
    remote, _ = serve(
        lambda handler, offset: handler.reply(200, DATA, Content_Length=HALF), size=len(DATA)
    )
    assert f"expected {len(DATA)} bytes, got {HALF}" in refused(remote, tmp_path)
    assert not (tmp_path / "kites.csv.part").exists()


def test_a_chunked_answer_cut_short_is_no_whole_file(serve, tmp_path):
    def behave(handler: Handler, offset: int) -> None:
        handler.reply(200, b"400\r\nkites", Content_Length=None, Transfer_Encoding="chunked")

    remote, _ = serve(behave)
    assert "the transfer broke off (IncompleteRead" in refused(remote, tmp_path)


def test_without_any_known_length_nothing_is_taken_for_whole(serve, tmp_path):
    remote, _ = serve(lambda handler, offset: handler.reply(200, DATA, Content_Length=None))
    assert "tells no length" in refused(remote, tmp_path)


def test_garbage_of_the_right_length_is_deleted_and_both_hashes_told(serve, tmp_path):
    garbage = b"x" * len(DATA)
    remote, _ = serve(
        lambda handler, offset: handler.reply(200, garbage), size=len(DATA), sha256=SHA256
    )
    message = refused(remote, tmp_path)
    assert f"expected SHA-256 {SHA256}, got {hashlib.sha256(garbage).hexdigest()}" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "what"), [(LFS_POINTER, "Git LFS pointer"), (HTML, "HTML page"), (b"", "got 0")]
)
def test_stand_ins_for_a_file_of_unknown_hash_are_refused(serve, tmp_path, body, what):
    remote, _ = serve(lambda handler, offset: handler.reply(200, body))
    assert what in refused(remote, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [403, 404])
def test_a_refusal_is_final(serve, tmp_path, status):
    remote, asked = serve(lambda handler, offset: handler.reply(status))
    message = refused(remote, tmp_path)
    assert remote.url in message and f"the server answers {status}" in message
    assert len(asked) == 1


def test_a_passing_server_error_is_tried_again(serve, tmp_path):
    handlers = iter([lambda handler, offset: handler.reply(503), ranged])
    remote, asked = serve(lambda handler, offset: next(handlers)(handler, offset))
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert len(asked) == 2


def test_no_server_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setattr(transfer, "RETRY_PAUSE", 0)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, never listening: connections are refused
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/kites.csv"
        message = refused(RemoteFile("kites.csv", url), tmp_path)
    assert "cannot be reached" in message and "check the network" in message


def test_a_silent_server_runs_into_the_timeout(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(transfer, "TIMEOUT", 0.05)
    monkeypatch.setattr(transfer, "ATTEMPTS", 1)
    remote, _ = serve(lambda handler, offset: time.sleep(0.3))
    assert "timed out" in refused(remote, tmp_path)


def test_a_present_file_that_is_not_the_published_one_is_replaced_aloud(serve, tmp_path, caplog):
    (tmp_path / "kites.csv").write_bytes(LFS_POINTER)
    remote, _ = serve(ranged)
    assert fetch(remote, tmp_path).read_bytes() == DATA
    assert "Git LFS pointer" in caplog.text


def test_a_present_file_of_unknown_size_and_hash_is_left_alone(serve, tmp_path):
    (tmp_path / "kites.csv").write_bytes(b"mine\n")
    remote, asked = serve(ranged)
    assert fetch(remote, tmp_path).read_bytes() == b"mine\n"
    assert asked == []


def test_a_present_file_survives_a_failed_replacement(serve, tmp_path):
    (tmp_path / "kites.csv").write_bytes(b"mine\n")
    remote, _ = serve(lambda handler, offset: handler.reply(404), sha256=SHA256)
    with pytest.raises(DownloadError):
        fetch(remote, tmp_path)
    assert (tmp_path / "kites.csv").read_bytes() == b"mine\n"


def test_a_folder_that_cannot_be_made_is_one_clear_line(serve, tmp_path):
    remote, asked = serve(ranged)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match=r"not stored .*; choose another folder"):
        fetch(remote, tmp_path / "file")
    assert asked == []
