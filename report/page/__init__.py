"""A finished run as one page, `report.html`: from the run folder and the labels, nothing else.

`sections` and `charts` say what is on it, and `write` puts that into the templates.
"""
