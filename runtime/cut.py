"""Counts texts that were cut to an encoder's maximum length, for the last note of a command."""

import hashlib
from collections import defaultdict

MOST = 100_000  # remembered texts of one length; a limit, so memory does not grow with a file

# {(most tokens, texts in an input): SHA-256 of each distinct input, its first 8 bytes}
Remembered = dict[tuple[int, int], set[bytes]]


class CutTexts:
    """The distinct texts, and pairs of texts, that were cut since the last note."""

    def __init__(self) -> None:
        self.remembered: Remembered = defaultdict(set)

    def add(self, texts: tuple[str, ...], max_length: int) -> None:
        """Count a text or pair that was cut at `max_length` tokens; repetitions count once."""
        seen = self.remembered[max_length, len(texts)]
        if len(seen) <= MOST:
            content = "\0".join(texts).encode("utf-8", "surrogatepass")
            seen.add(hashlib.sha256(content).digest()[:8])

    def take(self) -> Remembered:
        """Return the counts and reset them; another process adds them with `join`."""
        remembered, self.remembered = self.remembered, defaultdict(set)
        return dict(remembered)

    def join(self, remembered: Remembered) -> None:
        """Add the counts of another process."""
        for kind, seen in remembered.items():
            self.remembered[kind] |= seen

    def note(self) -> str:
        """Return a note of how many were cut at which length, "" for none; reset the counts."""
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
