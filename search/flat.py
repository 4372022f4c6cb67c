"""Search with faiss's flat inner-product index, which keeps all vectors in memory.

Optional: `pip install faiss-cpu`. Feeds: the command line.
"""

from collections.abc import Sequence

import numpy as np

from runtime.errors import MachineError


class FaissIndex:
    """The vectors of an index in faiss."""

    def __init__(self, blocks: Sequence[np.ndarray]):
        """Copy the vectors, (n, H) float32 of each block.

        Raises:
            MachineError: faiss is not installed.
        """
        try:
            import faiss
        except ImportError:
            raise MachineError(
                "--faiss: faiss is not installed; pip install faiss-cpu, or leave out --faiss"
            ) from None
        self.blocks = blocks
        self.flat = faiss.IndexFlatIP(blocks[0].shape[1])
        for block in blocks:
            self.flat.add(np.ascontiguousarray(block))

    def top_k(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return cosines (Q, k) and rows (Q, k) as `nearest.top_k` does.

        faiss knows no order of equal texts: of those that tie for the last place, any may be in.
        """
        cosines, rows = self.flat.search(queries, min(k, self.flat.ntotal))
        order = np.lexsort((rows, -cosines), axis=1)
        return np.take_along_axis(cosines, order, 1), np.take_along_axis(rows, order, 1)
