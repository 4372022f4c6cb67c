"""Files of texts to files of vectors: `python -m minbert.encode FILES --out DIR`."""

import os

# On a CPU, PyTorch and oneDNN each cache prepared products of the last 1,024 shapes. Nearly every
# batch has new shapes, so memory would grow by some 40 MB per thousand texts until then. They read
# these variables at their first product.
for _variable in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(_variable, "256")
