"""What a run is made of: its settings, what it opens, its grid and cells; the papers' tables;
and every table of the pages again.

The story that joins them is read in run_multitask.py.
"""
