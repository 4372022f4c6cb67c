"""All tables by name, one module each; a new one is a module with a TABLE and an entry here."""

from experiment.ablate.table import Table
from experiment.ablate.tables import (
    batch_size,
    dropout,
    hard_negative_weight,
    learning_rate,
    mlm_weight,
    poolers,
    symmetric,
    temperature,
)

MODULES = (
    *(dropout, poolers, batch_size, temperature, hard_negative_weight),
    *(mlm_weight, learning_rate, symmetric),
)
TABLES: dict[str, Table] = {module.TABLE.name: module.TABLE for module in MODULES}
