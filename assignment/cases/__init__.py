"""What the cases ask of a student's functions, and the inputs for it.

Each case is two functions. `draw_NAME` draws inputs, arrays and numbers by name, from a
`suites.Draw`; NAME takes them as a `driver.Given` and returns arrays by name, in the order in which
they are computed. The driver loads each file by its path, so the student's modules are imported
inside the functions: a broken module fails the cases that need it.
"""
