"""The suites of `python -m evaluation`: their sets, metrics and tables."""
