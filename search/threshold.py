"""The smallest cosine of pairs that belong together, from pairs that were labelled by hand."""

import numpy as np

from data.labelled import read_labelled
from evaluation.threshold import find_threshold, reason
from runtime.streams import printable
from search.index import Index
from search.nearest import cosines
from search.options import ThresholdOptions


def print_threshold(options: ThresholdOptions) -> None:
    """Print the threshold of cosines that labelled pairs say, and the command that takes it.

    Raises:
        UserError: the index or the file cannot be used, or no threshold does what is asked for.
    """
    index = Index(options.index)
    pairs = read_labelled(options.file, options.columns, options.at)
    encoder = index.encoder(options.device, "auto")
    numbers: dict[str, int] = {}
    rows = np.array([[numbers.setdefault(t, len(numbers)) for t in pair.texts] for pair in pairs])
    # Every text once, as the index has it: (texts, H).
    vectors = encoder.encode_document(list(numbers), normalize_embeddings=True)
    scores = cosines(vectors, vectors, rows)  # (N,)
    found = find_threshold(pairs, scores, options.precision, str(options.file))
    print(found.table(reason(options.precision)))
    folder = printable(str(options.index))
    print(f"then: python -m search pairs {folder} --threshold {found.threshold:.4f}")
