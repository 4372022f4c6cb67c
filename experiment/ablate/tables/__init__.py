"""All tables by name, one module each; a new one is a module with a TABLE and an entry here."""

from experiment.ablate.table import Table
from experiment.ablate.tables import (
    augmentations,
    batch_size,
    dropout,
    forgetting,
    hard_negative_weight,
    learning_rate,
    mlm_weight,
    mlp,
    next_sentence,
    poolers,
    report,
    supervised_data,
    symmetric,
    temperature,
)

MODULES = (
    *(dropout, augmentations, next_sentence, poolers, mlp, batch_size, temperature),
    *(hard_negative_weight, mlm_weight, learning_rate, symmetric, supervised_data, report),
    forgetting,
)
TABLES: dict[str, Table] = {module.TABLE.name: module.TABLE for module in MODULES}
