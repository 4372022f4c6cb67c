"""An MLP over [CLS]: in training, in test, or not at all? SimCSE, table 6."""

from experiment.ablate.table import ALIKE, LESS, Expectation, Row, Table

# --mlp -> what is published of unsupervised and of supervised SimCSE.
PUBLISHED = {"always": (81.7, 86.2), "training": (82.5, 85.8), "never": (80.9, 86.2)}
OBJECTIVES = ("unsup", "sup")
WHY = "unsupervised, the MLP belongs into training only: SimCSE, table 6"

TABLE = Table(
    name="mlp",
    title="The MLP over [CLS]",
    source="Gao et al. 2021, table 6 (w/ MLP, w/ MLP (train), w/o MLP)",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=tuple(
        Row(f"{pretrain} {when}", {"mlp": when}, published[k], pretrain)
        for k, pretrain in enumerate(OBJECTIVES)
        for when, published in PUBLISHED.items()
    ),
    expected=(
        Expectation("unsup always", LESS, "unsup training", WHY),
        Expectation("unsup never", LESS, "unsup training", WHY),
        Expectation("sup never", ALIKE, "sup always", "hardly matters: SimCSE, table 6"),
        Expectation("sup training", ALIKE, "sup always", "hardly matters: SimCSE, table 6"),
    ),
    reading=(
        "The MLP is drawn at random. It takes up what the contrastive task wants of an embedding "
        "beyond its meaning, and unsupervised models are better without it afterwards."
    ),
)
