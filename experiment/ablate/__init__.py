"""The tables of the papers as recipes: `python -m experiment.ablate dropout temperature`.

tables -> recipes -> measuring -> judging -> telling, figure, page. A table is data, one file each
in `tables/`; all of them are measured, judged and shown by the same code.
"""
