"""The report that this project follows, as records: its tables 1 and 3, and what is forgotten."""

from experiment.ablate.table import BEFORE, HEAD, Row, Table, claims

DEV = "bert-base-uncased, CS224N's dev sets; accuracy, and Pearson's r of sts"
# Accuracy of sst and para, Pearson's r of sts; None where the report has no number.
FROZEN: dict[tuple[str, str], dict[str, float | None]] = {
    ("none", "bi"): {"sst": 0.467, "para": 0.771, "sts": 0.524},
    ("none", "cross"): {"para": 0.722, "sts": 0.561},
    ("unsup", "bi"): {"sst": 0.449, "para": 0.809, "sts": 0.696},
    ("unsup", "cross"): {"para": None, "sts": None},
    ("sup", "bi"): {"sst": 0.479, "para": 0.819, "sts": 0.715},
    ("sup", "cross"): {"para": None, "sts": None},
}
# The order of the tasks is the one in which they were learnt.
OWN = {"sst": 0.528, "sts": 0.869, "para": 0.884}
IN_TURN = {"sst": 0.135, "sts": 0.404, "para": 0.884}
CONCAT = "--features concat"
ALL_IN_TURN = "--task sst sts para --tune joint --schedule sequential"

REPORT = Table(
    name="report",
    title="The report’s tables 1 and 3",
    source="the report, tables 1 and 3",
    published_on=DEV,
    rows=(
        *(
            Row(
                f"{task}: {pretrain} {encoder}",
                published,
                f"--task {task} --encoder {encoder} {CONCAT}",
                pretrain,
            )
            for (pretrain, encoder), scores in FROZEN.items()
            for task, published in scores.items()
        ),
        # The puzzle: what a head on two embeddings can see.
        Row(
            "sts: none, linear on [u; v]",
            0.36,
            f"--task sts --encoder bi {CONCAT}",
            "none",
            linear=True,
        ),
        Row("sts: none, linear, interaction", None, "--task sts --encoder bi", "none", linear=True),
        Row("sts: none, MLP, interaction", None, "--task sts --encoder bi", "none"),
        # One text has no pair to join, unless its encoder is that of the pairs.
        *(
            Row(
                f"{task}: tuned, single",
                published,
                f"--task {task} --encoder {'bi' if task == 'sst' else 'cross'} "
                f"--tune full {CONCAT}",
                "none",
            )
            for task, published in OWN.items()
        ),
        *(
            Row(
                f"{task}: tuned, one after the other",
                published,
                f"{ALL_IN_TURN} --encoder cross {CONCAT}",
                "none",
            )
            for task, published in IN_TURN.items()
        ),
    ),
    expected=(
        *claims(
            "table 1",
            *(
                f"{task}: {how} bi > {task}: none bi"
                for task in FROZEN["none", "cross"]
                for how in ("unsup", "sup")
            ),
            "sts: sup bi > sts: unsup bi",
            "para: none cross < para: none bi",
            "sts: none cross > sts: none bi",
            of="score",
        ),
        *claims(
            "a linear map of [u; v] is f(u) + g(v): it cannot see how u and v interact",
            "sts: none, linear on [u; v] < sts: none bi",
            of="score",
        ),
        *claims(
            "forgotten while later tasks were learnt: table 3",
            "sst: tuned, one after the other < sst: tuned, single",
            "sts: tuned, one after the other < sts: tuned, single",
            of="score",
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
)


# One encoder for three tasks: what is learnt first is forgotten, and what helps. The report's
# table 3; schedules and remedies are those of `--tune joint`.
JOINT = {
    "sequential": "--schedule sequential",
    "sequential, replay": "--schedule sequential --remedies replay",
    "proportional": "--schedule proportional",
    "annealed": "--schedule annealed",
    "round-robin": "--schedule round-robin",
    "round-robin, pcgrad": "--schedule round-robin --remedies pcgrad",
}
LOST = 0.02  # the goal: what a remedy may lose against the task's own model

FORGETTING = Table(
    name="forgetting",
    title="One encoder for three tasks: what is forgotten, and what helps",
    source="the report, table 3",
    published_on=DEV,
    rows=(
        *(
            Row(f"{task}: own model", score, f"--task {task} --encoder bi --tune full", "none")
            for task, score in OWN.items()
        ),
        *(
            Row(
                f"{task}: {how}",
                IN_TURN[task] if how == "sequential" else None,
                f"--task sst sts para --encoder bi --tune joint {flags}",
                "none",
            )
            for how, flags in JOINT.items()
            for task in OWN
        ),
    ),
    expected=(
        *claims(
            "forgotten while later tasks were learnt: table 3",
            *(f"{task}: sequential < {task}: own model" for task in ("sst", "sts")),
            of="score",
        ),
        *claims(
            "earlier tasks go on being learnt, or are kept",
            *(
                f"{task}: {how} > {task}: sequential"
                for task in ("sst", "sts")
                for how in JOINT
                if how != "sequential"
            ),
            of="score",
        ),
        *claims(
            "our goal: one encoder as good as three",
            *(
                f"{task}: {how} ~ {task}: own model"
                for how in ("sequential, replay", "annealed")
                for task in OWN
            ),
            of="score",
            within=LOST,
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
)
