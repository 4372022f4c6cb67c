"""The report that this project follows, as records: its tables 1 and 3, and what is forgotten."""

from typing import Any

from experiment.ablate.table import (
    ALIKE,
    BEFORE,
    HEAD,
    LESS,
    MORE,
    Expectation,
    Row,
    Table,
)
from heads.config import REPORT_ORDER

# Accuracy of para and sst, Pearson's r of sts: (pretrain, encoder) -> task -> published.
FROZEN: dict[tuple[str, str], dict[str, float | None]] = {
    ("none", "bi"): {"sst": 0.467, "para": 0.771, "sts": 0.524},
    ("none", "cross"): {"para": 0.722, "sts": 0.561},
    ("unsup", "bi"): {"sst": 0.449, "para": 0.809, "sts": 0.696},
    ("unsup", "cross"): {"para": None, "sts": None},
    ("sup", "bi"): {"sst": 0.479, "para": 0.819, "sts": 0.715},
    ("sup", "cross"): {"para": None, "sts": None},
}
# The order of the tasks is the one in which they were learnt.
TUNED: dict[str, dict[str, float | None]] = {
    "single": {"sst": 0.528, "sts": 0.869, "para": 0.884},
    "one after the other": {"sst": 0.135, "sts": 0.404, "para": 0.884},
}
SINGLE = {"tune": "full"}
IN_TURN = {"tune": "joint", "schedule": "sequential"}


def _row(label: str, task: str, published: float | None, pretrain: str, **settings: str) -> Row:
    where = {"task": task, "encoder": "bi", "tune": "frozen", "features": "concat"}
    return Row(label, published=published, pretrain=pretrain, settings=where | settings)


REPORT_ROWS = (
    *(
        _row(f"{task}: {pretrain} {encoder}", task, published, pretrain, encoder=encoder)
        for (pretrain, encoder), scores in FROZEN.items()
        for task, published in scores.items()
    ),
    # The puzzle: what a head on two embeddings can see.
    _row("sts: none, linear on [u; v]", "sts", 0.36, "none", head="linear"),
    _row(
        "sts: none, linear, interaction", "sts", None, "none", head="linear", features="interaction"
    ),
    _row("sts: none, MLP, interaction", "sts", None, "none", features="interaction"),
    *(
        _row(
            f"{task}: tuned, {how}",
            task,
            published,
            "none",
            # One text has no pair to join, unless its encoder is that of the pairs.
            encoder="bi" if (task, how) == ("sst", "single") else "cross",
            **(SINGLE if how == "single" else IN_TURN),
        )
        for how, scores in TUNED.items()
        for task, published in scores.items()
    ),
)

REPORT = Table(
    name="report",
    title="The report’s tables 1 and 3",
    source="the report, tables 1 and 3",
    published_on="bert-base-uncased, CS224N's dev sets; accuracy, and Pearson's r of sts",
    rows=REPORT_ROWS,
    expected=(
        *(
            Expectation(f"{task}: {tuned} bi", MORE, f"{task}: none bi", "table 1", of="score")
            for task in ("para", "sts")
            for tuned in ("unsup", "sup")
        ),
        Expectation("sts: sup bi", MORE, "sts: unsup bi", "table 1", of="score"),
        Expectation("para: none cross", LESS, "para: none bi", "table 1", of="score"),
        Expectation("sts: none cross", MORE, "sts: none bi", "table 1", of="score"),
        Expectation(
            "sts: none, linear on [u; v]",
            LESS,
            "sts: none bi",
            "a linear map of [u; v] is f(u) + g(v): it cannot see how u and v interact",
            of="score",
        ),
        *(
            Expectation(
                f"{task}: tuned, one after the other",
                LESS,
                f"{task}: tuned, single",
                "forgotten while later tasks were learnt: table 3",
                of="score",
            )
            for task in ("sst", "sts")
        ),
    ),
    reading=(
        "Heads on a frozen encoder read [u; v], two embeddings side by side, as the report's did. "
        "Its puzzle was one linear layer on them that reached a Pearson of 0.36, and it suspected "
        "a numerical fault. There is none: a linear map of [u; v] is f(u) + g(v), a score of each "
        "text by itself; that two texts are alike is a matter of both. A hidden layer can learn "
        "it from [u; v], and |u - v| and u * v show it to a linear layer too. A frozen "
        "cross-encoder reads pairs that the encoder never saw while it was trained."
    ),
    columns=HEAD,
    minutes=20.0,
)


# One encoder for three tasks: what is learnt first is forgotten, and what helps. The report's
# table 3; schedules and remedies are those of `--tune joint`.
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
NEAR = ("sequential, replay", "annealed")


def _joint_row(task: str, how: str) -> Row:
    settings: dict[str, Any] = {"task": task, "encoder": "bi", "tune": "full"}
    if how in JOINT:
        schedule, remedies = JOINT[how]
        settings |= {"tune": "joint", "schedule": schedule, "remedies": remedies}
    published = PUBLISHED.get(how, {}).get(task)
    return Row(f"{task}: {how}", published=published, pretrain="none", settings=settings)


def _claim(task: str, how: str, relation: str, other: str, why: str) -> Expectation:
    about = (f"{task}: {how}", relation, f"{task}: {other}", why)
    return Expectation(*about, of=HEAD[0], within=LOST)


FORGETTING = Table(
    name="forgetting",
    title="One encoder for three tasks: what is forgotten, and what helps",
    source="the report, table 3",
    published_on="bert-base-uncased, CS224N's dev sets; accuracy, and Pearson's r of sts",
    rows=tuple(_joint_row(task, how) for how in (OWN, *JOINT) for task in REPORT_ORDER),
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
        "is never touched again, so what changed is the encoder under it. "
        "Forgetting is a matter of the order of the batches: schedules that mix the tasks never "
        "stop learning any, and replay gives a tenth of the batches to earlier tasks. What a "
        "mixed training still loses is not forgotten: three tasks share one encoder. Own "
        "models keep their best epoch on dev and joint ones their last, so both are "
        "scored on test where it has labels."
    ),
    columns=(*HEAD, BEFORE),
    held_out=True,
    # Four for the tasks' own models, and nearly three for each joint training.
    minutes=20.0,
)
