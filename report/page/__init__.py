"""A finished run as one page, `report.html`: from the run folder and the labels, nothing else.

material reads -> sections (scores, where, curves, about) -> making puts them into the templates.
"""
