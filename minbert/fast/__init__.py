"""The model's functions made for a machine: the same numbers, up to rounding, in less time.

`accelerate` (in `switch`) puts these forms into a model that stands in its plain form; the plain
form, in `minbert.model` and `minbert.attention`, never imports them.
"""
