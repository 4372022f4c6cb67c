"""Settings that do not combine, refused in one line each. Feeds: settings."""

from typing import TYPE_CHECKING

from runtime.errors import UserError

if TYPE_CHECKING:
    from experiment.settings import Settings

# What a remedy is defined for.
NEEDS = {"pcgrad": "round-robin", "replay": "sequential"}


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
    for remedy in set(remedies) & set(NEEDS):
        if settings.schedule != (NEEDS[remedy],):
            raise UserError(f"--remedies {remedy}: needs --schedule {NEEDS[remedy]}, and no other")
