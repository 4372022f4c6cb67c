"""Cells made by hand, for the tests of what is written and shown of them."""

from report.cell import Cell

METRICS = {"accuracy": None, "f1": None, "pearson": 0.5, "spearman": 0.25}


def cell(**changes) -> Cell:
    """Return a cell of a similarity task."""
    base = {
        "key": "k", "pretrain": "sup", "task": "sts", "reader": "bi", "tune": "frozen",
        "features": "concat", "backbone": "b", "data": "d", "seed": 1, "split": "dev", "n": 9,
        "seconds": 2.0, "sentences_per_second": 100.0, "metrics": METRICS,
        "overlap": {"sentences": 0.25, "pairs": 0.0, "metrics_on_rest": {"pearson": 0.4}},
    }  # fmt: skip
    return Cell(**{**base, **changes})


def para_cell(**changes) -> Cell:
    """Return a cell of a classification task."""
    base = {
        "task": "para", "pretrain": "none",
        "metrics": {"accuracy": 0.5, "f1": 0.25, "pearson": None, "spearman": None},
        "overlap": {"sentences": 0.0, "pairs": 0.0, "metrics_on_rest": {"accuracy": 0.5}},
    }  # fmt: skip
    return cell(**{**base, **changes})


def tagged(encoder, **errors) -> Cell:
    """Return a cell with an error by phenomenon, 30 rows each."""
    found = {tag.replace("_", " "): {"n": 30, "error": error} for tag, error in errors.items()}
    return cell(reader=encoder, phenomena=found)
