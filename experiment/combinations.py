"""Settings that do not combine, refused in one line each. Feeds: settings."""

from typing import TYPE_CHECKING

from runtime.errors import UserError

if TYPE_CHECKING:
    from experiment.settings import Settings

# What a remedy is defined for.
NEEDS = {"pcgrad": "round-robin", "replay": "sequential"}


def check_distill(settings: "Settings") -> None:
    """Check `--distill`.

    Raises:
        UserError: it cannot be done, or --distill-data without it.
    """
    if not settings.distill:
        if settings.distill_data is not None:
            raise UserError(
                f"--distill-data {settings.distill_data}: nothing reads it; add --distill"
            )
    elif not {"bi", "cross"} <= set(settings.encoder):
        raise UserError("--distill: one encoder learns from the other; add --encoder bi cross")
    elif not settings.distilled:
        told = " ".join(settings.task)
        raise UserError(f"--distill: --task {told} has no pairs to distill; add para or sts")
    elif "joint" in settings.tune:
        raise UserError("--distill: not with --tune joint; take --remedies distill, or two runs")


def check_joint(settings: "Settings") -> None:
    """Check `--tune joint`.

    Raises:
        UserError: it cannot be done, or settings of it without it.
    """
    remedies = [name for name in settings.remedies if name != "none"]
    if "joint" not in settings.tune:
        if remedies or settings.joint or settings.schedule != ("annealed",):
            raise UserError("--schedule and --remedies: nothing reads them; add --tune joint")
        return
    if len(settings.tasks) < 2:
        raise UserError(f"--tune joint: {settings.tasks[0]} is one task; give --task several")
    for name in settings.joint:
        remedy = name.partition("_")[0]
        if remedy not in remedies:
            raise UserError(
                f"--{name.replace('_', '-')}: nothing reads it; add --remedies {remedy}"
            )
    if "ranking" in remedies and "cross" in settings.encoder:
        raise UserError("--remedies ranking: a cross-encoder embeds no single text; --encoder bi")
    for remedy in set(remedies) & set(NEEDS):
        if settings.schedule != (NEEDS[remedy],):
            raise UserError(f"--remedies {remedy}: needs --schedule {NEEDS[remedy]}, and no other")
