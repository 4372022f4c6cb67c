"""How much dropout makes two views of one sentence? SimCSE, table 3 and figure 2."""

from experiment.ablate.table import LESS, MORE, Expectation, Row, Table

WHY = "the default is the best rate: SimCSE, table 3"
COLLAPSE = "equal views: alignment is lost in tuning; SimCSE, figure 2"

TABLE = Table(
    name="dropout",
    title="Dropout of the encoder in unsupervised SimCSE",
    source="Gao et al. 2021, table 3",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=(
        Row("0", {"dropout": 0.0}, 71.1),
        Row("0.01", {"dropout": 0.01}, 72.6),
        Row("0.05", {"dropout": 0.05}, 81.1),
        Row("0.1", {"dropout": 0.1}, 82.5),
        Row("0.15", {"dropout": 0.15}, 81.4),
        Row("0.2", {"dropout": 0.2}, 80.5),
        Row("0.5", {"dropout": 0.5}, 71.0),
        Row("fixed 0.1", {"dropout": 0.1, "fixed_mask": True}, 43.6),
    ),
    expected=(
        Expectation("0", LESS, "0.1", "without dropout both views are equal: SimCSE, table 3"),
        Expectation("fixed 0.1", LESS, "0.1", "one mask for both views: SimCSE, table 3"),
        Expectation("fixed 0.1", LESS, "0", "worse than no dropout at all: SimCSE, table 3"),
        Expectation("0.01", LESS, "0.1", WHY),
        Expectation("0.2", LESS, "0.1", WHY),
        Expectation("0.5", LESS, "0.1", WHY),
        Expectation("0", MORE, "0.1", COLLAPSE, of="alignment"),
        Expectation("fixed 0.1", MORE, "0.1", COLLAPSE, of="alignment"),
    ),
    reading=(
        "Unsupervised SimCSE has no other augmentation than dropout: both views are the same "
        "sentence, read under two masks. With no dropout, or with one mask for both, the positive "
        "pair is equal and its loss is small from the start; all that is left to learn is to push "
        "other sentences away, and pairs that mean the same drift apart with the rest. With much "
        "dropout the views say too little about the sentence."
    ),
    trajectory=True,
)
