"""Does contrastive learning need large batches? SimCSE, appendix A, says: not here."""

from experiment.ablate.table import ALIKE, Expectation, Row, Table

WHY = "not sensitive to batch size with a rate to match: SimCSE, appendix A"
CHUNK = 4096  # tokens at a time, by gradient caching: a batch of any size fits


def _row(size: int) -> Row:
    # Adam's usual rule: the rate grows with the root of the batch size.
    rate = round((size / 64) ** 0.5, 2)
    return Row(str(size), {"batch_size": size, "chunk_tokens": CHUNK}, rate=rate)


TABLE = Table(
    name="batch-size",
    title="Batch size in unsupervised SimCSE, for the same number of sentences",
    source="Gao et al. 2021, appendix A (a remark on a grid search, no numbers)",
    published_on="bert-base-uncased, STS-B dev",
    rows=tuple(_row(size) for size in (32, 64, 128, 256, 512, 1024)),
    expected=tuple(
        Expectation(size, ALIKE, "64", WHY, within=0.02) for size in ("32", "128", "256", "512")
    ),
    reading=(
        "A batch of B sentences gives each anchor B - 1 negatives. All rows see the same number of "
        "sentences, so a batch twice as large takes half as many steps, at a rate larger by the "
        "root of 2. Where few steps are left, too few steps is what is measured and not too many "
        "negatives. Gradient caching makes the largest batch fit; its gradients are the same."
    ),
    longer=4,  # else 1024 would take two steps
)
