"""Nearest texts by cosine: an index on disk, exact search, re-ranking, and pairs mined from it."""
