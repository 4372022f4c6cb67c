"""Texts that were longer than what an encoder reads: counted, and said once at a command's end."""

import hashlib
from collections import defaultdict

from runtime.commands import LAST_NOTES

MOST = 100_000  # texts of one length that are remembered, so that memory does not grow with a file

# {(most tokens, texts in an input): SHA-256 of each distinct input, its first 8 bytes}
Remembered = dict[tuple[int, int], set[bytes]]


class CutTexts:
    """The distinct texts, and pairs of texts, that were cut since the last note."""

    def __init__(self) -> None:
        self.remembered: Remembered = defaultdict(set)

    def add(self, texts: tuple[str, ...], max_length: int) -> None:
        """Count one text, or a pair, that was cut at `max_length` tokens; a repeated one once."""
        seen = self.remembered[max_length, len(texts)]
        if len(seen) <= MOST:
            content = "\0".join(texts).encode("utf-8", "surrogatepass")
            seen.add(hashlib.sha256(content).digest()[:8])

    def take(self) -> Remembered:
        """Return what was counted, and count from nothing; for other processes, see `join`."""
        remembered, self.remembered = self.remembered, defaultdict(set)
        return dict(remembered)

    def join(self, remembered: Remembered) -> None:
        """Add what another process has counted."""
        for kind, seen in remembered.items():
            self.remembered[kind] |= seen

    def note(self) -> str:
        """Return how many were cut at which length, "" for none, and count from nothing."""
        return "; ".join(
            _sentence(len(seen), "text" if texts == 1 else "pair", max_length)
            for (max_length, texts), seen in sorted(self.take().items())
        )


def _sentence(count: int, noun: str, max_length: int) -> str:
    subject = f"{count:,} {noun}s were" if count > 1 else f"1 {noun} was"
    if count > MOST:
        subject = f"more than {MOST:,} {noun}s were"
    return f"{subject} longer than {max_length} word pieces and cut there"


CUT = CutTexts()
LAST_NOTES.append(CUT.note)
