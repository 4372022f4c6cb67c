"""One direction, or both? SimCSE's loss beside SimCLR's NT-Xent."""

from experiment.ablate.table import ALIKE, Expectation, Row, Table

WHY = "both views are drawn alike; our own, no published numbers"

TABLE = Table(
    name="symmetric",
    title="SimCSE's loss beside its symmetric form",
    source="Chen et al. 2020 (SimCLR), equation 1; not in the SimCSE paper",
    published_on="",
    rows=(
        Row("unsup, one direction"),
        Row("unsup, symmetric", {"symmetric": True}),
        Row("sup, one direction", pretrain="sup"),
        Row("sup, symmetric", {"symmetric": True}, pretrain="sup"),
    ),
    expected=(
        Expectation("unsup, symmetric", ALIKE, "unsup, one direction", WHY),
        Expectation("sup, symmetric", ALIKE, "sup, one direction", WHY),
    ),
    reading=(
        "SimCSE asks each anchor for its positive among all positives. NT-Xent also asks each "
        "positive for its anchor, and takes the other anchors as further negatives."
    ),
)
