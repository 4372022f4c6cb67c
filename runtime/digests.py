"""SHA-256 of files, of anything JSON can hold, and of lists of texts."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from runtime.files import open_plain


def file_digest(path: Path) -> str:
    """Return a file's SHA-256; OSError for what is none."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(content: Any) -> str:
    """Return the SHA-256 of anything JSON can hold, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def texts_digest(about: str, texts: Iterable[str]) -> str:
    """Return the SHA-256 of `about` and of the texts in order, each with its length."""
    found = hashlib.sha256(about.encode())
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        found.update(len(encoded).to_bytes(8, "little") + encoded)
    return found.hexdigest()
