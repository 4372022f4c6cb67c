"""Is another view of a sentence better than dropout alone? SimCSE, table 1."""

from experiment.ablate.table import LESS, Expectation, Row, Table

WHY = "no discrete augmentation beats dropout: SimCSE, table 1"


def _rows(name: str, positive: str, published: tuple[float, ...]) -> tuple[Row, ...]:
    shares = zip((0.1, 0.2, 0.3), published, strict=True)
    return tuple(
        Row(f"{name} {share:.0%}", {"positive": positive, "positive_share": share}, score)
        for share, score in shares
    )


ROWS = (
    Row("none", published=82.5),
    *_rows("crop", "crop", (77.8, 71.4, 63.6)),
    *_rows("word deletion", "delete", (75.9, 72.2, 68.2)),
    Row("delete one word", {"positive": "delete-one"}, 75.9),
    Row("delete one word, no dropout", {"positive": "delete-one", "dropout": 0.0}, 74.2),
    Row("synonym", {"positive": "synonym"}, 77.4),
    Row("MLM 15%", {"positive": "mlm", "positive_share": 0.15}, 62.2),
    # In the paper's first version only.
    Row("crop 10% + MLM", {"positive": "crop+mlm", "positive_share": 0.1}),
)
TABLE = Table(
    name="augmentations",
    title="Discrete augmentations in unsupervised SimCSE",
    source="Gao et al. 2021, table 1",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=ROWS,
    expected=(
        *(Expectation(row.label, LESS, "none", WHY) for row in ROWS[1:]),
        Expectation("crop 30%", LESS, "crop 10%", "the more, the worse: SimCSE, table 1"),
        Expectation(
            *("word deletion 30%", LESS, "word deletion 10%"),
            "the more, the worse: SimCSE, table 1",
        ),
    ),
    reading=(
        "The second view is the sentence with words cut off, deleted or replaced, and dropout on "
        "top. Whatever is changed, the encoder is told that it does not matter; where a word "
        "matters, that is wrong. Dropout changes no word."
    ),
)
