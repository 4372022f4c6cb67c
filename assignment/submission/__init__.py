"""Files of predictions as courses collect them: opened, read and checked, and scored.

opening reads documents, reader their rows and compares these with the data; the commands validate
and score, and `grade --gold`, stand on that.
"""
