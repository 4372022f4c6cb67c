"""The parts of a run: settings, opening of files, grid, cells.

run_multitask.py shows how the parts work together.
"""
