"""Read examples from text files: tasks and suites, their readers, downloads, and the leak audit.

Only plain text, the standard library and numpy: no tensors, no tokenizer. tables (files, lines,
fields) -> tasks, published, sentences, triplets (formats) -> locate (paths of files) -> suites.
overlap and trained_on find scored examples in the training data. bundled/ is the included data, and
synthetic/ its generator. A fault in a user's file raises a DataError that names the line.
"""
