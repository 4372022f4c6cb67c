"""Standard output and error of every command: what a locale or a terminal should not be given."""

import io
import os
import re
import sys
import unicodedata
from collections.abc import Callable

Say = Callable[[str], None]  # called with every line of output

# Joiners inside words and emoji; spaces other than " " (an ideographic one is category Zs).
HARMLESS = "\u200c\u200d"
# Half a character of UTF-16, which is no Unicode by itself; JSON can write one.
SURROGATE = re.compile("[\ud800-\udfff]")


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


def ready_streams() -> None:
    """Write characters that the locale lacks as escapes; let closed streams discard their text."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def flush_or_discard() -> None:
    """Write out the buffers; a stream that cannot be written discards its text from now on."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(null, stream.fileno())
    os.close(null)
