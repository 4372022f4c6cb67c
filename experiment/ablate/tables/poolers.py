"""Which states become the embedding? SimCSE, table 6."""

from experiment.ablate.table import ALIKE, LESS, Expectation, Row, Table

# [CLS] without an MLP, by SimCSE's name for it.
POOLINGS = ("cls", "cls_before_pooler", "avg", "avg_top2", "avg_first_last")
# Unsupervised models drop the MLP after training, supervised ones keep it; table `mlp` has more.
PUBLISHED = {
    "unsup": {"cls": 82.5, "cls_before_pooler": 80.9, "avg_first_last": 81.2},
    "sup": {"cls": 86.2, "cls_before_pooler": 86.2, "avg_first_last": 86.1},
}
WHY = "supervised, the pooling hardly matters: SimCSE, table 6"

TABLE = Table(
    name="poolers",
    title="From token states to the embedding",
    source="Gao et al. 2021, table 6",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=tuple(
        Row(
            f"{pretrain} {pooling}",
            published=PUBLISHED[pretrain].get(pooling),
            pretrain=pretrain,
            settings={"pooling": pooling},
        )
        for pretrain in PUBLISHED
        for pooling in POOLINGS
    ),
    expected=(
        Expectation(
            *("unsup cls_before_pooler", LESS, "unsup cls"),
            "the MLP in training helps: SimCSE, table 6",
        ),
        Expectation(
            *("unsup avg_first_last", LESS, "unsup cls"),
            "[CLS] is better than averages: SimCSE, table 6",
        ),
        Expectation("sup cls_before_pooler", ALIKE, "sup cls", WHY),
        Expectation("sup avg_first_last", ALIKE, "sup cls", WHY),
    ),
    reading=(
        "BERT was pre-trained with [CLS] for another task, so untuned its average is much better. "
        "Contrastive tuning is free to make [CLS] an embedding. An encoder that was already tuned "
        "with an average, as mini was, starts far ahead with that average: what the table then "
        "shows is where each pooling started."
    ),
)
