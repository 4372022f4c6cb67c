"""A finished run as one page, `report.html`, made only from the run folder and the labels.

`sections` and `charts` make the content, and `write` fills the templates with it.
"""
