"""Choose a cosine threshold for pairs of an index, from labelled pairs."""

import numpy as np

from data.labelled import read_labelled
from evaluation.threshold import find_threshold, reason
from runtime.streams import printable
from search.index import Index
from search.nearest import cosines
from search.options import ThresholdOptions


def print_threshold(options: ThresholdOptions) -> None:
    """Print the cosine threshold chosen on labelled pairs, and the command that uses it.

    Raises:
        UserError: the index or the file cannot be used, or no threshold has the precision.
    """
    index = Index(options.index)
    pairs = read_labelled(options.file, options.columns, options.at)
    encoder = index.encoder(options.device, "auto")
    numbers: dict[str, int] = {}
    rows = np.array([[numbers.setdefault(t, len(numbers)) for t in pair.texts] for pair in pairs])
    # Every text once, embedded as in the index: (texts, H).
    vectors = encoder.encode_document(list(numbers), normalize_embeddings=True)
    scores = cosines(vectors, vectors, rows)  # (N,)
    found = find_threshold(pairs, scores, options.precision, str(options.file))
    print(found.table(reason(options.precision)))
    folder = printable(str(options.index))
    print(f"then: python -m search pairs {folder} --threshold {found.threshold:.4f}")
