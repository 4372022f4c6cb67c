"""Text in, examples out: tasks and suites, their readers, downloads, and the leak audit.

Plain text, the standard library and numpy: no tensors, no tokenizer. tables (files, lines, fields)
-> tasks, published, sentences, triplets (formats) -> locate (where files are) -> suites;
overlap and trained_on see whether what is scored was trained on; bundled/ is data that ships, and
synthetic/ is how it was made. Whatever is broken in a user's file is a DataError that names the
line.
"""
