"""The suites of `python -m evaluation`: their sets, what is measured on them, their tables."""
