"""How sharp should the contrastive softmax be? SimCSE, table D.1."""

from experiment.ablate.table import LESS, Expectation, Row, Table

WHY = "0.05 is the best of those tried: SimCSE, table D.1"

TABLE = Table(
    name="temperature",
    title="Temperature of the contrastive loss in supervised SimCSE",
    source="Gao et al. 2021, table D.1",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=(
        Row("0.001", {"temperature": 0.001}, 84.9, "sup"),
        Row("0.01", {"temperature": 0.01}, 85.4, "sup"),
        Row("0.05", {"temperature": 0.05}, 86.2, "sup"),
        Row("0.1", {"temperature": 0.1}, 82.0, "sup"),
        Row("1", {"temperature": 1.0}, 64.0, "sup"),
        # "N/A" in the paper: dot products, which no temperature divides.
        Row("dot product", {"similarity": "dot"}, 85.9, "sup"),
    ),
    expected=(
        Expectation("0.001", LESS, "0.05", WHY),
        Expectation("0.01", LESS, "0.05", WHY),
        Expectation("0.1", LESS, "0.05", WHY),
        Expectation("1", LESS, "0.05", "hardly any gradient from negatives: SimCSE, table D.1"),
        Expectation("1", LESS, "0.1", "the warmer, the worse: SimCSE, table D.1"),
        Expectation("dot product", LESS, "0.05", "cosines scale better: SimCSE, table D.1"),
    ),
    reading=(
        "Cosines lie between -1 and 1, so at temperature 1 even a perfect positive is only e^2 "
        "times as likely as the worst negative, and the loss cannot become small. A low "
        "temperature looks at the hardest negatives alone, which are sometimes no negatives. A dot "
        "product sets its own scale by the length of the vectors; the cosine that we score with "
        "does not see that length."
    ),
)
