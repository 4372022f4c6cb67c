"""The output of a run: its folder, tables, verdict and HTML report."""
