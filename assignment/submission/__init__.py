"""Files of predictions as courses collect them: opened, read and checked, and scored.

`opening` reads documents. `reader` reads their rows, compares these with the data and is the
command validate. The command score and `grade --gold` use it.
"""
