"""A misbehaving server on 127.0.0.1, and the file of kites it is asked for."""

import http.server
import io
import re
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from data.sources import RemoteFile

DATA = b"".join(b"%d\tkite number %d\n" % (n, n) for n in range(5_000))
Behave = Callable[["Handler", int], None]


def archive(files: dict[str, bytes]) -> bytes:
    """Return a tar archive of these files."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return content.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    """Note each request's Range and let the test's `behave(handler, offset)` answer it.

    Before, the hub is asked for the file's commit, size and hash, {header: value} of the server.
    """

    def do_HEAD(self) -> None:
        self.reply(200 if self.server.about else 404, **self.server.about)

    def do_GET(self) -> None:
        if self.path.startswith("/api/"):  # the hub's client asks for more than files
            return self.reply(404)
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        offset = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) if asked else 0
        return self.server.behave(self, offset)

    def reply(self, status: int, body: bytes = b"", **headers: object) -> None:
        self.send_response(status)
        headers = {"Content_Length": len(body)} | headers
        for name, value in headers.items():
            if value is not None:
                self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Keep the test output clean."""


def ranged(handler: Handler, offset: int, data: bytes = DATA, limit: int | None = None) -> None:
    """Answer as a good server does; with a limit, hang up after that many bytes."""
    if offset >= len(data):
        return handler.reply(416, Content_Range=f"bytes */{len(data)}")
    span = f"bytes {offset}-{len(data) - 1}/{len(data)}"
    status, extra = (206, {"Content_Range": span}) if offset else (200, {})
    body = data[offset:][:limit]
    return handler.reply(status, body, Content_Length=len(data) - offset, **extra)


@contextmanager
def kite_server() -> Iterator[Callable[..., tuple[RemoteFile, list[str | None]]]]:
    """Give a function that makes the server behave, and returns its file and what it was asked."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.about = [], {}
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

    def start(behave: Behave, about: dict[str, object] | None = None, **known: object):
        server.behave, server.about = behave, about or {}
        url = f"http://127.0.0.1:{server.server_port}/kites.csv"
        return RemoteFile("kites.csv", url, **known), server.asked

    try:
        yield start
    finally:
        server.shutdown()
        server.server_close()
