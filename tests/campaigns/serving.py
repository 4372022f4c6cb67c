"""A server of small files in a process of its own, which continues downloads as good ones do."""

import http.server
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from kites import DATA, Handler, archive, ranged

FILES = {
    "/kites.csv": DATA,
    "/unknown.csv": DATA[::-1],
    "/kites.tar": archive({"kites/a.csv": DATA, "kites/b.csv": DATA[:999]}),
}


@contextmanager
def server() -> Iterator[str]:
    """Serve until the end of the block; yield the address."""
    serving = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    serving.asked = []
    serving.behave = lambda handler, offset: ranged(handler, offset, FILES[handler.path])
    if not (child := os.fork()):
        serving.serve_forever()
    port = serving.server_port
    serving.socket.close()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
