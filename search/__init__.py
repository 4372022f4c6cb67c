"""Nearest texts by cosine: an index on disk, exact search, re-ranking, pairs and negatives."""
