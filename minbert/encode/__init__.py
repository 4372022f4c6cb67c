"""Files of texts to files of vectors: `python -m minbert.encode FILES --out DIR`."""
