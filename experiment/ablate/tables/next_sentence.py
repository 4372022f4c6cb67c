"""Is the next sentence a good positive, and do two encoders help? SimCSE, table 2."""

from experiment.ablate.table import LESS, Expectation, Row, Table

# Name -> the positive, and what is published with one encoder and with two.
OBJECTIVES = {
    "next sentence": ("next", 67.1, 68.9),
    "next 3 sentences": ("next3", 67.4, 68.8),
    "delete one word": ("delete-one", 75.9, 73.1),
    "SimCSE": ("same", 82.5, 80.7),
}
ENCODERS = {"one encoder": "unsup", "two encoders": "dual"}
WHY = "predicting itself is better: SimCSE, table 2"

TABLE = Table(
    name="next-sentence",
    title="What is the positive, and are there one or two encoders?",
    source="Gao et al. 2021, table 2",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=tuple(
        Row(
            f"{name}, {encoders}",
            {"positive": positive},
            published[tuple(ENCODERS).index(encoders)],
            pretrain,
        )
        for name, (positive, *published) in OBJECTIVES.items()
        for encoders, pretrain in ENCODERS.items()
    ),
    expected=(
        *(
            Expectation(f"{name}, one encoder", LESS, "SimCSE, one encoder", WHY)
            for name in tuple(OBJECTIVES)[:-1]
        ),
        Expectation(
            *("SimCSE, two encoders", LESS, "SimCSE, one encoder"),
            "one encoder is better for SimCSE: table 2",
        ),
        Expectation(
            *("next sentence, one encoder", LESS, "next sentence, two encoders"),
            "two encoders are better for the next sentence: SimCSE, table 2",
        ),
    ),
    reading=(
        "The next sentence is about the same matter and does not mean the same. With two encoders "
        "one may learn to ask and the other to answer, which suits two different sentences; for "
        "two readings of the same one there is nothing to gain."
    ),
    needs=("documents",),
    trajectory=True,
)
