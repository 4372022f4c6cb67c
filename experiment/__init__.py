"""The parts of a run (settings, opening of files, grid, cells), and the tables of the pages.

run_multitask.py shows how the parts work together.
"""
