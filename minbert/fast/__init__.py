"""Fast versions of the model's functions: the same numbers, up to rounding, in less time.

`accelerate` (in `switch`) puts these forms into a model that is in its plain form. The plain form,
in `minbert.model` and `minbert.attention`, never imports them.
"""
