"""Random inputs of the cases, a file per part; a function here has the name of its case."""
