"""Do contradictions as hard negatives help, and how much should they weigh? SimCSE, table 7."""

from experiment.ablate.table import ALIKE, LESS, Expectation, Row, Table

WHY = "the weight hardly matters: SimCSE, table 7"


def _row(label: str, weight: float, published: float | None = None) -> Row:
    return Row(label, {"hard_negative_weight": weight}, published, "sup")


TABLE = Table(
    name="hard-negative-weight",
    title="Weight of the own hard negative in supervised SimCSE",
    source="Gao et al. 2021, table 7",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=(
        # The others' hard negatives stay in the batch: table `supervised-data` drops all of them.
        _row("1e-6", 1e-6),
        _row("0.5", 0.5, 86.1),
        _row("1", 1.0, 86.2),
        _row("2", 2.0, 86.2),
        _row("10", 10.0),
        # What a program does that adds alpha itself to the logit, not log(alpha).
        _row("e (logit + 1)", 2.718281828459045),
    ),
    expected=(
        Expectation("0.5", ALIKE, "1", WHY),
        Expectation("2", ALIKE, "1", WHY),
        Expectation("1e-6", LESS, "1", "hard negatives help: SimCSE, table 7, N/A"),
    ),
    reading=(
        "Equation 8 weighs the own hard negative by alpha, which is the same as adding log(alpha) "
        "to its logit: 1 changes nothing, and 2 adds 0.69 where cosines divided by 0.05 spread "
        "over 40. SimCSE's program takes the logarithm's place with the number itself, so its "
        "--hard_negative_weight 1 is an alpha of e here, the last row. A weight of nearly nothing "
        "removes the own hard negative, but those of the other examples remain."
    ),
)
