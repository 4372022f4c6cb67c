"""Text of other people on a terminal: what it says, and nothing that it could do there."""

import unicodedata
from collections.abc import Callable

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
