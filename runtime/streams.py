"""Standard output and error that never stop the work if closed, full, or of a limited encoding.

Files are more important than printed text. A command whose reader has ended, as in `| head -1`,
continues silently. Characters that the locale lacks are written as escapes, and so are control
characters on a terminal.
"""

import errno
import io
import os
import sys
import unicodedata
from collections.abc import Callable
from typing import Any

Say = Callable[[str], None]  # called with every line of output

# Joiners inside words and emoji; spaces other than " " (an ideographic one is category Zs).
HARMLESS = "\u200c\u200d"


def printable(text: str) -> str:
    """Return a text in one line, its control characters written as escapes.

    An escape sequence could clear the screen or set its title, a line end could forge a row of a
    table, and a bidirectional override could show words in another order than they have.
    """
    return harmless(text, kept="")


def harmless(text: str, kept: str = "\n\t") -> str:
    """Return a text of several lines, its control characters other than `kept` as escapes."""
    if text.isprintable():
        return text
    return "".join(char if char in kept or _is_harmless(char) else _escape(char) for char in text)


def _is_harmless(char: str) -> bool:
    return char.isprintable() or char in HARMLESS or unicodedata.category(char) == "Zs"


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


# The reader has ended; any other failure is reported at the end.
GONE = (errno.EPIPE, errno.EBADF)


class Lasting(io.TextIOWrapper):
    """A stream that discards text after a failed write, so the work continues.

    Attributes:
        fault: why text could not be written, unless the reader has ended.
        needs_reader: raise BrokenPipeError instead of continuing without a reader.
    """

    fault: OSError | None = None
    needs_reader = False

    def write(self, text: str) -> int:
        """Write a text, or discard it."""
        try:
            return super().write(text)
        except OSError as error:
            self._lose(error)
            return len(text)

    def flush(self) -> None:
        """Write out the buffer, or discard it."""
        try:
            super().flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        if error.errno not in GONE:
            self.fault = error
        # Buffered text and the output of C libraries and child processes are discarded too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
        if self.needs_reader and isinstance(error, BrokenPipeError):
            raise error


class Shown(Lasting):
    """A stream that writes control characters as escapes, for a terminal."""

    def write(self, text: str) -> int:
        """Write a text."""
        super().write(harmless(text))
        return len(text)


def ready_streams() -> None:
    """Make sys.stdout and sys.stderr safe; streams that other code has replaced are not changed.

    Must be called before any file is opened: a file could get the closed descriptor 1, and
    libraries would print into it.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:  # opens closed ones as null device
        os.set_inheritable(opened, True)
    os.close(opened)
    sys.stdout = _lasting(sys.stdout, sys.__stdout__, 1, Shown)
    # Progress bars move the cursor.
    sys.stderr = _lasting(sys.stderr, sys.__stderr__, 2, Lasting)


def _lasting(stream: Any, original: Any, number: int, kind: type[Lasting]) -> Any:
    if stream is None:  # it was closed when Python started
        return kind(open(number, "wb", closefd=False), "utf-8")
    if stream is not original or not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    # A new stream, not its buffer, which stores whether its descriptor can seek. The descriptor
    # may have been replaced by a pipe, which cannot.
    return kind(
        open(number, "wb", 0 if stream.write_through else -1, closefd=False),
        stream.encoding,
        "backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def need_reader() -> None:
    """From now on, raise BrokenPipeError if the reader has ended: the output is the only result."""
    if isinstance(sys.stdout, Lasting):
        sys.stdout.needs_reader = True


def fault_of_output() -> OSError | None:
    """Write out the buffers; return why output could not be written, None if it was."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return sys.stdout.fault if isinstance(sys.stdout, Lasting) else None
