"""The recipes of the other objectives, in addition to simcse.config.PRESETS.

`paper` is the published recipe. `report` had no such runs and is the same. `quick` takes minutes on
two cores and small encoders: as in SimCSE's, ten times the paper's learning rate, and few steps.
"""

from dataclasses import replace

from simcse.config import PRESETS, UNSUP, SimCSEConfig

# Reimers and Gurevych 2019, section 3.1; the length and the dev check are those of their script.
SBERT = SimCSEConfig(
    batch_size=16,
    learning_rate=2e-5,
    warmup_ratio=0.1,
    max_length=128,
    eval_steps=1000,
    pooling="avg",
)
# Carlsson et al. 2021 and their published code: 16 pairs, two bags of 8. The learning rate of their
# RMSProp falls in steps from 1e-5 to 2e-6; here it is AdamW, with a linear fall from 1e-5 to 0.
CT = SimCSEConfig(batch_size=2, learning_rate=1e-5, max_length=75, eval_steps=500, pooling="avg")
# Zhang et al. 2020; they train on the sentences of NLI. Warm-up: their script.
ISBERT = SimCSEConfig(
    batch_size=32, learning_rate=1e-6, warmup_ratio=0.1, eval_steps=1000, pooling="avg"
)

# Minutes on two cores; the rate is ten times the dual encoder's, which is unsupervised SimCSE's.
DUAL_QUICK = replace(UNSUP, learning_rate=3e-4, warmup_ratio=0.1, max_steps=200, eval_steps=50)

_PAPER = {"dual": UNSUP, "ct": CT, "isbert": ISBERT, "sbert": SBERT}


def _quick(recipe: SimCSEConfig, batch_size: int = DUAL_QUICK.batch_size) -> SimCSEConfig:
    return replace(
        DUAL_QUICK,
        batch_size=batch_size,
        learning_rate=10 * recipe.learning_rate,
        pooling=recipe.pooling,
        mlp=recipe.mlp,
    )


# CT: 16 bags of 9, so a step has as many sentences as with the other objectives.
_QUICK = {
    "dual": DUAL_QUICK,
    "ct": _quick(CT, batch_size=16),
    "isbert": _quick(ISBERT),
    "sbert": _quick(SBERT),
}

# By preset, then by objective (the names of baselines.objectives.ALL_OBJECTIVES).
ALL_PRESETS: dict[str, dict[str, SimCSEConfig]] = {
    preset: recipes | (_QUICK if preset == "quick" else _PAPER)
    for preset, recipes in PRESETS.items()
}
