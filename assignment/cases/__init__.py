"""What the cases ask of a student's functions, a file per part.

The driver loads each file by its path, so they import the student's modules alone, inside the
functions: a broken module fails the cases that need it. A case takes the inputs that the function
of the same name in `assignment/inputs/` drew, a `driver.Given`, and returns arrays by name, in the
order in which they are computed.
"""
