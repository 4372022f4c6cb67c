"""How fast may an encoder be tuned before it forgets? A grid that SimCSE searched, appendix A."""

from experiment.ablate.table import LESS, Expectation, Row, Table

WHY = "too fast or too slow for so few steps; our own, no published numbers"
TIMES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

TABLE = Table(
    name="learning-rate",
    title="Learning rate in unsupervised SimCSE, as a multiple of the recipe's",
    source="Gao et al. 2021, appendix A (the grid 1e-5, 3e-5, 5e-5, no numbers)",
    published_on="bert-base-uncased, STS-B dev",
    rows=tuple(Row(f"x {times:g}", rate=times) for times in TIMES),
    expected=(Expectation("x 0.03", LESS, "x 1", WHY), Expectation("x 10", LESS, "x 1", WHY)),
    reading=(
        "The rate and the number of steps go together: a small encoder tuned for a minute needs "
        "ten times the rate of bert-base tuned for an hour. The column of the last state shows "
        "what selection by a dev set hides."
    ),
)
