"""One encoder for three tasks: what is learnt first is forgotten, and what helps.

The report's table 3; schedules and remedies are those of `--tune joint`.
"""

from typing import Any

from experiment.ablate.table import ALIKE, BEFORE, HEAD, LESS, MORE, Expectation, Row, Table
from heads.config import REPORT_ORDER

OWN, SEQUENTIAL = "own model", "sequential"
# Label -> schedule and remedies.
JOINT: dict[str, tuple[str, tuple[str, ...]]] = {
    SEQUENTIAL: ("sequential", ("none",)),
    "sequential, replay": ("sequential", ("replay",)),
    "proportional": ("proportional", ("none",)),
    "annealed": ("annealed", ("none",)),
    "round-robin": ("round-robin", ("none",)),
    "round-robin, pcgrad": ("round-robin", ("pcgrad",)),
}
# Accuracy of sst and para, Pearson's r of sts; one after the other in this order.
PUBLISHED: dict[str, dict[str, float]] = {
    OWN: {"sst": 0.528, "sts": 0.869, "para": 0.884},
    SEQUENTIAL: {"sst": 0.135, "sts": 0.404, "para": 0.884},
}
# The goal: what a remedy may lose against the task's own model.
LOST = 0.02
# Measured: a seed's three own models, and a sequential training with and without replay. All joint
# trainings take as many batches; the studies are not counted.
MINUTES_OWN, MINUTES_JOINT = 4.1, 2.6
NEAR = ("sequential, replay", "annealed")


def _row(task: str, how: str) -> Row:
    settings: dict[str, Any] = {"task": task, "encoder": "bi", "tune": "full"}
    if how in JOINT:
        schedule, remedies = JOINT[how]
        settings |= {"tune": "joint", "schedule": schedule, "remedies": remedies}
    published = PUBLISHED.get(how, {}).get(task)
    return Row(f"{task}: {how}", published=published, pretrain="none", settings=settings)


def _claim(task: str, how: str, relation: str, other: str, why: str) -> Expectation:
    about = (f"{task}: {how}", relation, f"{task}: {other}", why)
    return Expectation(*about, of=HEAD[0], within=LOST)


TABLE = Table(
    name="forgetting",
    title="One encoder for three tasks: what is forgotten, and what helps",
    source="the report, table 3",
    published_on="bert-base-uncased, CS224N's dev sets; accuracy, and Pearson's r of sts",
    rows=tuple(_row(task, how) for how in (OWN, *JOINT) for task in REPORT_ORDER),
    expected=(
        *(
            _claim(task, SEQUENTIAL, LESS, OWN, "forgotten while later tasks were learnt: table 3")
            for task in REPORT_ORDER[:-1]
        ),
        *(
            _claim(task, how, MORE, SEQUENTIAL, "earlier tasks go on being learnt, or are kept")
            for task in REPORT_ORDER[:-1]
            for how in list(JOINT)[1:]
        ),
        *(
            _claim(task, how, ALIKE, OWN, "our goal: one encoder as good as three")
            for how in NEAR
            for task in REPORT_ORDER
        ),
    ),
    reading=(
        "Sequential is the report's way: the tasks are learnt one after the other, sst, sts, para, "
        "and what counts is the encoder in the end. The column before is each task's score right "
        "after its own phase: the gap to score is what was forgotten. The head of an earlier task "
        "is never touched again, so what changed is the encoder under it: look at the drift. "
        "Forgetting is a matter of the order of the batches: schedules that mix the tasks never "
        "stop learning any, and replay gives a tenth of the batches to earlier tasks. What a "
        "mixed training still loses is not forgotten: three tasks share one encoder. Own "
        "models keep their best epoch on dev and joint ones their last, so both are "
        "scored on test where it has labels. In the table of transfer, heads on "
        "a frozen encoder show which task's tuning helps or harms another."
    ),
    columns=(*HEAD, BEFORE),
    held_out=True,
    studies=("transfer", "drift"),
    minutes=MINUTES_OWN + MINUTES_JOINT * len(JOINT),
)
