"""Does an auxiliary masked-language-model loss help? SimCSE, table D.2."""

from experiment.ablate.table import LESS, Expectation, Row, Table

WHY = "a consistent drop in similarity: SimCSE, table D.2"

TABLE = Table(
    name="mlm-weight",
    title="Weight of the auxiliary MLM loss in supervised SimCSE",
    source="Gao et al. 2021, table D.2",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=(
        Row("0", {"mlm_weight": 0.0}, 86.2, "sup"),
        Row("0.01", {"mlm_weight": 0.01}, 85.7, "sup"),
        Row("0.1", {"mlm_weight": 0.1}, 85.7, "sup"),
        Row("1", {"mlm_weight": 1.0}, 85.1, "sup"),
    ),
    expected=tuple(Expectation(row, LESS, "0", WHY) for row in ("0.01", "0.1", "1")),
    reading=(
        "Masked words keep the states of single tokens useful. The paper finds that this helps "
        "tasks which train a classifier on the embeddings a little, and costs similarity a little; "
        "only the latter is measured here."
    ),
)
